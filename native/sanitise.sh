#!/usr/bin/env bash
# Translate with a core that watches every read and write of memory: native/sanitise.sh LINES.txt [N]
# Needs g++ with libasan. Nothing that is installed changes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../.venv/bin/python
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$built" "$here" -C install.strip=false \
    -C cmake.build-type=Debug -C cmake.define.CMAKE_CXX_FLAGS="-O1 -fsanitize=address,undefined -fno-sanitize-recover=all"
preload="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so) $(g++ -print-file-name=libstdc++.so)"
# Python's own allocations at its start are no leaks of the core's.
LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$built "$python" -P "$here/sanitise.py" "$@"
