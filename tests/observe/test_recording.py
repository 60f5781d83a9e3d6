"""For every model, kernel and type a run that is recorded is the run that is not, to the bit; and all of it is seen."""

import ast
import threading
from pathlib import Path

import pytest
import torch
from tests.observe.models import KINDS, SRC, TGT, TRANSLATORS, WITH_KERNELS, run_whole, translator, unet, writer

import prosector
from prosector.decoding import beam_search, greedy
from prosector.observe import observe
from prosector.observe.observing import Seen
from prosector.tap import observer

CASES = [
    *((kind, {"kernel": kernel}) for kind in WITH_KERNELS for kernel in ("sdpa", "written-out", "flex")),
    *((kind, {"cell": cell}) for kind in ("rnn", "rnn-attention") for cell in ("lstm", "gru")),
    *((kind, {"norm": norm}) for kind in ("unet", "attention-unet") for norm in ("batch", "group", "none")),
]
every_case = pytest.mark.parametrize("kind, fields", CASES, ids=str)
every_type = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)


def prepared(kind, fields, dtype):
    """A model and its inputs."""
    make, inputs = KINDS[kind]
    return make(**fields).to(dtype), [each.to(dtype) if each.is_floating_point() else each for each in inputs]


@every_type
@every_case
def test_recording_changes_no_bit(kind, fields, dtype):
    model, inputs = prepared(kind, fields, dtype)
    with torch.no_grad():
        alone = run_whole(model, *inputs)
        with observe(model) as seen:
            recorded = run_whole(model, *inputs)
    assert alone.dtype == dtype
    assert torch.equal(alone, recorded)
    assert all(seen[address] < (1e-5 if dtype == torch.float32 else 0.1) for address in seen if "recomputed" in address)


@every_type
@pytest.mark.parametrize("kind, fields", [case for case in CASES if case[0] in TRANSLATORS])
def test_with_a_cache_and_in_beam_search_neither(kind, fields, dtype):
    model, (src, tgt) = prepared(kind, fields, dtype)

    def step_by_step():
        memory, cache = model.encode(src), model.new_cache()
        return [model.logits(model.decode(token[:, None], memory, src != 0, cache)) for token in tgt.unbind(1)]

    with torch.no_grad():
        alone, found = step_by_step(), beam_search(model, src, 5, beam=3, n_best=2)
        with observe(model) as seen:
            assert all(map(torch.equal, step_by_step(), alone))
            assert len(seen.steps("logits")) == 3
        with observe(model) as seen:
            assert beam_search(model, src, 5, beam=3, n_best=2) == found
    rows = [len(step) for step in seen.steps("logits")]
    assert rows[0] == 2  # a row for each source, and then as many as the beam
    assert max(rows) > 2


@pytest.mark.parametrize("kind", KINDS)
def test_two_threads_one_observing_never_mix(kind):
    model, inputs = prepared(kind, {}, torch.float32)
    with torch.no_grad():
        alone = run_whole(model, *inputs)
    started, other = threading.Barrier(2), []

    def run_unobserved():
        started.wait()
        with torch.no_grad():
            other.extend(run_whole(model, *inputs) for _ in range(3))

    thread = threading.Thread(target=run_unobserved)
    thread.start()
    embedding = "pictures" if kind in ("vit", "conv-transformer", "unet", "attention-unet") else "*embedding"
    with torch.no_grad(), observe(model) as seen:
        seen.edit(embedding, torch.zeros_like)
        started.wait()
        edited = [run_whole(model, *inputs) for _ in range(3)]
    thread.join()
    assert all(torch.equal(output, alone) for output in other)
    assert not any(torch.equal(output, alone) for output in edited)
    once = [address for address in seen if len(seen.steps(address)) == 3]
    assert once
    assert all(len(seen.steps(address)) % 3 == 0 for address in seen)  # none of the other thread's


class Noting(Seen):
    """Notes the class of the module and the name of every value that passes."""

    def __init__(self, model):
        super().__init__(model, (), 0)
        self.noted = set()

    def visit(self, module, name, value):
        self.noted |= {(of.__name__, name) for of in type(module).__mro__}
        return value

    def wants(self, module, name):
        return True


def taps_in_the_source():
    """Every `tap(self, "name", …)` of the packages that models are made of, as (class, name)."""
    for folder in ("attention", "blocks", "models"):
        for path in sorted((Path(prosector.__file__).parent / folder).glob("*.py")):
            for outer in ast.walk(ast.parse(path.read_text("utf-8"))):
                if not isinstance(outer, ast.ClassDef):
                    continue
                for node in ast.walk(outer):
                    if isinstance(node, ast.Call) and ast.unparse(node.func) == "tap":
                        name = node.args[1]
                        yield outer.name, name.value if isinstance(name, ast.Constant) else None, ast.unparse(name)


def test_every_tap_of_the_source_is_met_in_some_model():
    noted = set()
    variants = [
        (translator, {"norm": "rms", "activation": "swiglu"}),
        (writer, {"norm": "batch"}),
    ]
    for make, fields in [*((make, {}) for make, _ in KINDS.values()), *variants]:
        model = make(**fields)
        noting = Noting(model)
        token = observer.set(noting)
        try:
            with torch.no_grad():
                run_whole(model, *KINDS[model.config.kind][1])
        finally:
            observer.reset(token)
        noted |= noting.noted
    names = {name for _, name in noted}
    taps = list(taps_in_the_source())
    assert len(taps) > 40
    for of, name, source in taps:
        met = {each for each_class, each in noted if each_class == of}
        assert name in met if name is not None else met, f"{of} taps {source}, and no model shows it"
    assert {"0.input_gate", "1.backward.cell", "0.reset_gate", "raise0", "key_positions"} - names == {"0.reset_gate"}


# --- memory ------------------------------------------------------------------------------------------------------


def held(seen):
    """What all recorded values hold, each piece of memory once."""
    storages = {}
    for address in seen:
        for value in seen.steps(address):
            storages[value.untyped_storage().data_ptr()] = value.untyped_storage().nbytes()
    return sum(storages.values())


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_recorded_holds_what_is_said(kind):
    model, inputs = prepared(kind, {}, torch.float32)
    with torch.no_grad(), observe(model) as seen:
        run_whole(model, *inputs)
    assert seen.bytes == held(seen) > 0


def test_in_decoding_too_where_keys_are_parts_of_a_larger_room():
    model = translator()
    with torch.no_grad(), observe(model, keep=["*.self.key"]) as seen:
        greedy(model, SRC, 12)
    assert seen.bytes == held(seen)
    assert held(seen) > max(value.nbytes for value in seen.steps("decoder.0.self.key"))


@pytest.mark.parametrize("limit", [0, 1000, 20_000])
def test_a_run_never_holds_more_than_the_limit_and_says_so(limit):
    model = unet()
    says = pytest.raises(MemoryError, match=r"is more than the 0\.\d MiB that may be recorded.*keep fewer addresses")
    with torch.no_grad(), observe(model, limit=limit) as seen, says:
        run_whole(model, *KINDS["unet"][1])
    assert held(seen) <= limit


def test_what_was_seen_before_the_limit_stays():
    model = translator()
    with torch.no_grad(), observe(model, limit=8_000) as seen, pytest.raises(MemoryError, match="encoder"):
        model(SRC, TGT)
    assert seen["source_embedding"].shape == (2, 4, 16)
