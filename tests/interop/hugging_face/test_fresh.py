"""What was saved here is read in a process that never saw `transformers`, and gives the same logits."""

import json
import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file
from tests.interop.hugging_face.theirs import READERS, TRANSLATORS, VIT, WRITERS, near, rows, saved

READ = """
import json, sys, torch
from safetensors.torch import save_file
from prosector.interop.hugging_face import from_hugging_face
folder, names = sys.argv[1], json.loads(sys.argv[2])
found = {}
with torch.no_grad():
    for number, name in enumerate(names):
        model = from_hugging_face(f"{folder}/{number}")
        ids = torch.tensor(json.loads(sys.argv[3]))
        pictures = torch.linspace(0, 1, 16 * 16 * 3).view(1, 3, 16, 16)
        given = {"vit": (pictures,), "transformer": (ids, ids)}.get(model.config.kind, (ids,))
        found[name] = model(*given).contiguous()
save_file(found, f"{folder}/found.safetensors")
sys.exit("transformers was imported" if "transformers" in sys.modules else 0)
"""


@pytest.mark.slow
def test_a_fresh_process_without_their_library_gives_the_same_logits(tmp_path):
    ids = rows((9, 9))[0]
    models = {name: make for name, make in (WRITERS | TRANSLATORS | READERS | VIT).items() if "grey" not in name}
    models = {name: make for name, make in models.items() if name not in ("labels", "no head")}  # they fill no gaps
    ids = ids.clamp(max=29)  # Marian's second vocabulary is smaller
    wanted = {}
    for number, (name, make) in enumerate(models.items()):
        theirs = saved(make, tmp_path / str(number))
        pictures = torch.linspace(0, 1, 16 * 16 * 3).view(1, 3, 16, 16)
        with torch.no_grad():
            if name in TRANSLATORS:
                out = theirs(input_ids=ids, decoder_input_ids=ids)
            else:
                out = theirs(pictures if name in VIT else ids)
        wanted[name] = out.prediction_logits if "prediction_logits" in out else out.logits
    arguments = [str(tmp_path), json.dumps(list(models)), json.dumps(ids.tolist())]
    run = subprocess.run([sys.executable, "-c", READ, *arguments], capture_output=True, text=True, env=os.environ)
    assert run.returncode == 0, run.stderr
    found = load_file(tmp_path / "found.safetensors")
    assert found.keys() == wanted.keys()
    assert [name for name in wanted if not near(found[name], wanted[name])] == []
