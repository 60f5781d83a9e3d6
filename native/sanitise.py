"""What `sanitise.sh` runs: lines of Chinese translated by every kind of kernels, greedily, with a beam, by chance.

python sanitise.py LINES.txt [N [KERNELS...]]
"""

import sys
import time
from pathlib import Path

import prosector_native

from prosector.config.decoding import DecodingConfig
from prosector.decoding.installed import find_model
from prosector.decoding.native import NativeTranslator

WAYS = {
    "greedy": DecodingConfig(beam=1),
    "beam 4": DecodingConfig(beam=4, n_best=4),
    "by chance": DecodingConfig(seed=1, top_k=50, top_p=0.9),
}


def main() -> None:
    file, n = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    lines = file.read_text("utf-8").splitlines()[:n]
    for kernels in sys.argv[3:] or prosector_native.kernels():
        translator = NativeTranslator.load(find_model("zh-en"), kernels)
        for name, how in WAYS.items():
            began = time.perf_counter()
            found = translator.translate(lines, how)
            seconds = time.perf_counter() - began
            print(f"{kernels}, {name}: {len(found):,} lines, {seconds:.0f} s, no fault", flush=True)


if __name__ == "__main__":
    main()
