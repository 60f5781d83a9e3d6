#!/usr/bin/env bash
# Whether the core finds the same everywhere: native/arm64.sh LINES.txt [N [MODEL]]
#
# The program of check/ is made for this machine and for 64-bit ARM, which qemu plays, and both translate the first N lines (50) by
# MODEL (zh-en): greedily, with a beam, by chance. The portable kernels must find the same on both, word for word and log p
# to a millionth, and so must the core that Python has here. Every other kind that runs here must compute the portable one's numbers to
# the last digits. PYTHON is another Python than the project's.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-$here/../.venv/bin/python}
[ $# -ge 1 ] || { sed -n '2s/^# *//p' "$0" >&2 && exit 2; }
for tool in cmake g++ aarch64-linux-gnu-g++ qemu-aarch64; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: there is no $tool here (Debian, Ubuntu: apt install cmake g++ g++-aarch64-linux-gnu qemu-user)"
        exit
    fi
done
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT

make_check() { # FOLDER OPTIONS...
    cmake -S "$here" -B "$built/$1" -DPROSECTOR_CHECK=ON -DCMAKE_BUILD_TYPE=Release "${@:2}" && cmake --build "$built/$1"
}
make_check here >"$built/log" 2>&1 || { cat "$built/log" >&2 && exit 1; }
make_check arm64 -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ \
    -DCMAKE_EXE_LINKER_FLAGS=-static >"$built/log" 2>&1 || { cat "$built/log" >&2 && exit 1; }
check=$built/here/check arm64="qemu-aarch64 $built/arm64/check" case=$built/case

"$check" halves
echo "arm64: $($arm64 halves)"
PYTHONPATH=$here/../src "$python" -P "$here/check/case.py" "$1" "${2:-50}" "$case" "${3:-zh-en}"
"$check" translate "$case" >"$case.here"
$arm64 translate "$case" 2 >"$case.arm64"
"$python" -P "$here/check/same.py" "$case.here" "$case.found" "this machine and Python's core"
"$python" -P "$here/check/same.py" "$case.here" "$case.arm64" "this machine and arm64" portable
for kernels in $(cut -f 1 "$case.here" | sort -u); do
    [ "$kernels" = portable ] || "$check" compare "$case" "$kernels" portable
done
