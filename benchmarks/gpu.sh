#!/usr/bin/env bash
# What a machine with a GPU is to show, in under ten minutes: kernels equal the arithmetic there, a training run repeats
# itself, a model writes what it writes on the CPU, and how fast a step is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-.venv/bin/python}
"$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' || { echo "PyTorch sees no GPU here" >&2; exit 2; }
"$python" benchmarks/gpu_check.py "$@"
