#!/usr/bin/env bash
# A Python with JoeyNMT, for `prosector bench --joeynmt FOLDER/bin/python`: it and the versions of what it needs would not
# fit beside our own packages. It imports importlib_metadata, and does not say so to pip.
set -euo pipefail
if [ $# -ne 1 ]; then echo "usage: benchmarks/joeynmt.sh FOLDER (made by this; 1.6 GB)" >&2; exit 2; fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
"${PYTHON:-python3}" -m venv "$1"
"$1/bin/python" -m pip install --disable-pip-version-check -q "$(grep '^torch==' "$here/constraints.txt")" joeynmt==2.3.0 importlib_metadata==10.2.0
"$1/bin/python" -c 'import joeynmt.model, joeynmt.search'
echo "Ready: prosector bench --joeynmt $1/bin/python"
