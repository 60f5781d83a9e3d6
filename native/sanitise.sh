#!/usr/bin/env bash
# Translate with a core that is watched:
#
#   native/sanitise.sh [address] LINES.txt [N [KERNELS...]]   every read and write of memory, and what C++ leaves undefined
#   native/sanitise.sh thread LINES.txt [N [KERNELS...]]      what two threads do at once
#
# The first N lines (2,000, of threads 300), greedily, with a beam and by chance, by each kind of kernels that runs here or by those named.
# Needs g++ with libasan or libtsan. Nothing that is installed changes. PYTHON is another Python than the project's.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-$here/../.venv/bin/python}
watched=address
case ${1:-} in address | thread) watched=$1 && shift ;; esac
[ $# -ge 1 ] || { sed -n '3,5s/^# *//p' "$0" >&2 && exit 2; }
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT

if [ "$watched" = thread ]; then
    # Without Python, whose own threads nobody watched: the stand-alone program of check/.
    cmake -S "$here" -B "$built/check" -DPROSECTOR_CHECK=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS="-O1 -fsanitize=thread" >/dev/null
    cmake --build "$built/check" >/dev/null
    PYTHONPATH=$here/../src "$python" -P "$here/check/case.py" "$1" "${2:-300}" "$built/case"
    shift $(($# < 2 ? $# : 2))
    TSAN_OPTIONS=halt_on_error=1 "$built/check/check" translate "$built/case" 2 "$@" | cut -f 1,2 | sort | uniq -c |
        while read -r lines kernels way; do echo "$kernels, $way: $lines lines by 2 threads, no fault"; done
    exit
fi
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$built" "$here" -C install.strip=false \
    -C cmake.build-type=Debug -C cmake.define.CMAKE_CXX_FLAGS="-O1 -fsanitize=address,undefined -fno-sanitize-recover=all" \
    -C build-dir="$built/build"
preload="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libubsan.so) $(g++ -print-file-name=libstdc++.so)"
# Python's own allocations at its start are no leaks of the core's.
LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$built:$here/../src "$python" -P "$here/sanitise.py" "$@"
