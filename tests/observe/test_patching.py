"""Another run's values in place of this one's, and what must follow."""

import pytest
import torch
from tests.observe.models import (
    KINDS,
    SRC,
    TGT,
    TRANSLATORS,
    every_kernel,
    run_whole,
    same,
    step_by_step,
    translator,
)

from prosector.decoding import beam_search
from prosector.observe import observe

MEMORY = {"transformer": "encoder", "rnn": "state", "rnn-attention": "memory"}
OTHER_SRC = torch.tensor([[9, 4, 10, 3], [7, 5, 3, 0]])


def both_runs(model, run):
    """The run on the other source, and what comes of it."""
    with torch.no_grad(), observe(model) as other:
        wanted = run(model, OTHER_SRC)
    return other, wanted


@pytest.mark.parametrize("way", ["in one piece", "with a cache", "in beam search"])
@pytest.mark.parametrize("kind", TRANSLATORS)
def test_with_another_runs_memory_comes_what_came_of_it(kind, way):
    run = {
        "in one piece": lambda model, src: model(src, TGT),
        "with a cache": step_by_step,
        "in beam search": lambda model, src: [one.ids for [one] in beam_search(model, src, 6)],
    }[way]
    model = KINDS[kind][0]()
    other, wanted = both_runs(model, run)
    with torch.no_grad(), observe(model, keep=()) as seen:
        seen.patch(MEMORY[kind], other)
        found = run(model, SRC)
    assert found == wanted if way == "in beam search" else torch.equal(found, wanted)


@every_kernel
def test_one_head_of_some_queries_is_the_others_and_the_rest_stays(kernel):
    model = translator(kernel=kernel)
    other, _ = both_runs(model, lambda model, src: model(src, TGT))
    with torch.no_grad(), observe(model) as plain:
        model(SRC, TGT)
    with torch.no_grad(), observe(model) as seen:
        seen.patch("decoder.0.cross.weights", other, rows=[2], heads=[1])
        model(SRC, TGT)
    patched = seen["decoder.0.cross.weights"]
    assert torch.equal(patched[:, 1, 2], other["decoder.0.cross.weights"][:, 1, 2])
    assert torch.equal(patched[:, 0], plain["decoder.0.cross.weights"][:, 0])
    assert torch.equal(patched[:, 1, :2], plain["decoder.0.cross.weights"][:, 1, :2])
    same(seen["decoder.0.cross.heads"], patched @ seen["decoder.0.cross.value"])


def test_patching_all_rows_one_by_one_is_patching_all():
    model = translator()
    other, wanted = both_runs(model, lambda model, src: model(src, TGT))
    with torch.no_grad(), observe(model, keep=()) as seen:
        for row in range(4):
            seen.patch("encoder", other, rows=[row])
        assert torch.equal(model(SRC, TGT), wanted)


def test_a_run_patched_with_itself_is_itself():
    for kind, (make, inputs) in KINDS.items():
        model = make()
        with torch.no_grad(), observe(model, keep=[pattern := "*[!s]"]) as other:  # no scores, weights, positions
            wanted = run_whole(model, *inputs)
        with torch.no_grad(), observe(model, keep=()) as seen:
            seen.patch(pattern, other)
            assert torch.equal(run_whole(model, *inputs), wanted), kind


@pytest.mark.parametrize(
    ("address", "where", "error", "says"),
    [
        ("encoder", {"rows": [4]}, IndexError, "encoder has rows 0 to 3"),
        ("encoder", {"heads": [0]}, ValueError, r"encoder is \[2, 4, 16\] and has no heads"),
        ("decoder", {}, ValueError, r"decoder is \[2, 2, 16\] here and \[2, 3, 16\] in the other run"),
        ("target_embedding", {}, IndexError, "has 1 steps at target_embedding, and this is number 2"),
        ("logits", {}, KeyError, "nothing was seen at 'logits'"),
    ],
)
def test_what_does_not_fit_is_named(address, where, error, says):
    model = translator()
    with torch.no_grad(), observe(model, keep=["encoder", "decoder", "target_embedding"]) as other:
        model(SRC, TGT)

    def run_with_a_mistake():
        with torch.no_grad(), observe(model) as seen:
            seen.patch(address, other, **where)
            if address == "target_embedding":
                model(SRC, TGT)
            model(SRC, TGT[:, :2] if address == "decoder" else TGT)

    with pytest.raises(error, match=says):
        run_with_a_mistake()
