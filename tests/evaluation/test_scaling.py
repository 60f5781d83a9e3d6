"""The formulas of how costs grow: by hand, against PyTorch's own calls, and against the page that quotes them."""

from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from prosector.config.training import TrainingConfig
from prosector.config.transformer import TransformerConfig
from prosector.evaluation import scaling
from prosector.evaluation.cost import (
    Machine,
    cache_bytes,
    decoder_operations,
    encoder_operations,
    step_bytes,
    step_operations,
    training_bytes,
    training_operations,
    weights,
)
from prosector.training.loss import chunked_cross_entropy
from prosector.training.optimizer import build_optimizer

SMALL = TransformerConfig(tie="all", kernel="written-out")
BASE = TransformerConfig(tie="all", d_model=512, n_heads=8, d_ff=2048, encoder_layers=6, decoder_layers=6)
LARGE = TransformerConfig(
    tie="all",
    d_model=4096,
    n_heads=32,
    d_ff=16384,
    encoder_layers=24,
    decoder_layers=24,
    source_vocab=64000,
    target_vocab=64000,
)
DOCS = Path(__file__).parents[2] / "docs"


# --- what is moved ---------------------------------------------------------------------------------------------------


class Moved(TorchDispatchMode):
    """Bytes that calls read and write, but for matrix products, views, and making room."""

    LEFT_OUT = ("mm", "addmm", "bmm", "detach", "empty", "empty_like", "empty_strided", "zeros_like")
    bytes = 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        results = function(*arguments, **(options or {}))
        given, made = (
            [x for x in tree_flatten(values)[0] if isinstance(x, torch.Tensor)]
            for values in ((arguments, options), results)
        )
        rooms = {x.untyped_storage().data_ptr() for x in given}
        view = not function._schema.is_mutable and any(x.untyped_storage().data_ptr() in rooms for x in made)
        if not view and function._schema.name.split("::")[1] not in self.LEFT_OUT:
            self.bytes += sum(min(x.untyped_storage().nbytes(), x.nbytes) for x in given + made)
        return results


@pytest.mark.parametrize("rows, length", [(64, 28), (2, 512)])
def test_what_a_training_step_moves_is_what_its_calls_read_and_write(rows, length):
    model = SMALL.build().train()
    optimizer = build_optimizer(model, TrainingConfig())
    src, labels = torch.randint(4, 8000, (2, rows, length)).unbind()
    with Moved() as moved:
        chunked_cross_entropy(model.hidden(src, labels), model.output.weight, labels, 0.1).backward()
        optimizer.step()
    assert moved.bytes == pytest.approx(scaling.moved_bytes(SMALL, rows, length, length), rel=0.1)


def test_an_update_reads_a_weight_its_gradient_and_two_means_and_writes_all_but_the_gradient():
    model = SMALL.build().train()
    optimizer = build_optimizer(model, TrainingConfig())
    for weight in model.parameters():
        weight.grad = torch.ones_like(weight)
    with Moved() as moved:  # what is written in place it counts as read alone
        optimizer.step()
    read = moved.bytes / (4 * weights(SMALL).all)
    assert read == pytest.approx(4, rel=0.01)
    assert round(read) + 3 == scaling.UPDATE_MOVES


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_communication_by_hand():
    """d 4, one layer a side, 10 words in one table: 40 + 128 + 192 weights; 3 tokens; 4 processors."""
    config = TransformerConfig(
        source_vocab=10, target_vocab=10, d_model=4, n_heads=1, d_ff=8, encoder_layers=1, decoder_layers=1, tie="all"
    )
    assert scaling.all_reduce_bytes(100, 4) == 150
    assert scaling.data_parallel_bytes(config, 4) == 1.5 * 360 * 2
    assert scaling.tensor_parallel_bytes(config, 3, 4) == 2 * (2 + 3) * 1.5 * 3 * 4 * 2
    assert scaling.pipeline_bytes(config, 3) == 2 * 3 * 4 * 2
    assert scaling.bubble(stages=4, micro_batches=9) == 0.25
    assert scaling.pair_operations(config, 3, 2) == 12 * 4 * (9 + 2 * 5)


def test_at_the_length_of_equal_attention_pairs_cost_what_maps_cost():
    length = int(scaling.length_of_equal_attention(SMALL))
    assert encoder_operations(SMALL, length) == 2 * length * 2 * weights(SMALL).encoder


def test_at_the_length_of_equal_cache_a_step_reads_twice():
    length = scaling.length_of_equal_cache(BASE, rows=32)
    assert step_bytes(BASE, 0, length - 1, 32) == pytest.approx(2 * step_bytes(BASE, 0, -1, 32))


def test_a_beam_of_one_saves_nothing_and_an_empty_target_everything():
    assert scaling.beam_saving(1, 25, 25) == 1
    assert scaling.beam_saving(5, 25, 0) == 5
    assert scaling.beam_saving(5, 25, 25) == pytest.approx(5 / 3)


def test_training_time_is_products_and_memory_one_after_the_other():
    machine = Machine(operations=1e11, bytes=1e10)
    seconds = scaling.training_seconds(SMALL, machine, 8, 20, 20)
    operations = 8 * training_operations(SMALL, 20, 20)
    assert seconds == pytest.approx(operations / 1e11 + scaling.moved_bytes(SMALL, 8, 20, 20) / 1e10)
    slower = scaling.training_seconds(SMALL, machine, 8, 20, 20, attention=1e10)
    assert slower - seconds == pytest.approx(8 * scaling.pair_operations(SMALL, 20, 20) * 0.9e-10)


# --- the page --------------------------------------------------------------------------------------------------------


def quoted() -> dict[str, str]:
    """Every number that docs/scaling.md works out, as it stands there."""
    gpu, tokens = scaling.H100, 1_000_000
    found = {}
    for name, config in (("small", SMALL), ("base", BASE), ("large", LARGE)):
        n = 512 if config is LARGE else 28
        trained = training_operations(config, n, n) / n
        step = step_operations(config, 25, 25)
        found[f"{name}: weights, operations, a step's"] = (
            f"{weights(config).all / 1e6:,.1f} M | {trained / 1e9:.3g} G | {step / 1e6:,.1f} M | "
            f"{step_bytes(config, 25, 25, 1) / 1e6:,.1f} MB | {cache_bytes(config, 1, 0) / 1e3:,.0f} kB"
        )
    for name, config, number, length in (("small", SMALL, 3584, 28), ("large", LARGE, 8192, 512)):
        parts = training_bytes(config, number, length, a_number=2 if config is LARGE else 4)
        found[f"{name}: memory"] = " | ".join(f"{size / 1e9:,.3g} GB" for size in parts.values())
    forward = encoder_operations(LARGE, 512) + decoder_operations(LARGE, 512, 512)
    assert training_operations(LARGE, 512, 512) == 3 * forward
    products = training_operations(LARGE, 512, 512) * tokens / 512 / gpu.operations
    found |= {
        "products, 8": f"{products / 8:.2f} s",
        "products, 800": f"{1e3 * products / 800:.0f} ms",
        "tensor": f"{scaling.tensor_parallel_bytes(LARGE, tokens, 8) / gpu.near:.2f} s",
        "pipeline": f"{1e3 * scaling.pipeline_bytes(LARGE, tokens) / gpu.near:.0f} ms",
        "bubble": f"{100 * scaling.bubble(8, 32):.0f} %",
        "data, 100": f"{1e3 * scaling.data_parallel_bytes(LARGE, 100, shards=8) / gpu.far:.0f} ms",
        "tensor of a hundredth": f"{1e3 * scaling.tensor_parallel_bytes(LARGE, tokens // 100, 8) / gpu.near:.0f} ms",
        "base, data, 8": f"{1e6 * scaling.data_parallel_bytes(BASE, 8) / gpu.near:.0f} µs",
        "base, data, 800": f"{1e3 * scaling.data_parallel_bytes(BASE, 800) / gpu.far:.1f} ms",
        "ridge": f"{gpu.operations / gpu.bytes:.0f}",
        "equal attention": f"{scaling.length_of_equal_attention(SMALL):,.0f}",
        "equal attention, large": f"{scaling.length_of_equal_attention(LARGE):,.0f}",
        "equal cache, 1": f"{scaling.length_of_equal_cache(SMALL, 1):,.0f}",
        "equal cache, 32": f"{scaling.length_of_equal_cache(SMALL, 32):,.0f}",
        "beam, 25": f"{scaling.beam_saving(5, 25, 25):.2f}",
        "beam, 100": f"{scaling.beam_saving(5, 25, 100):.2f}",
        "logits": f"{100 * scaling.logits_share(SMALL, 28):.0f} %",
        "logits, large": f"{100 * scaling.logits_share(LARGE, 512):.1f} %",
        "rows, int8": f"{scaling.rows_of_equal_reading(SMALL, Machine(880e9, 30e9), 1):.0f}",
        "rows, float32": f"{scaling.rows_of_equal_reading(SMALL, Machine(200e9, 30e9), 4):.0f}",
    }
    return found


@pytest.mark.parametrize("page", ["scaling.md", "scaling.zh-CN.md"])
def test_every_number_of_the_page_is_what_the_formulas_give(page):
    text = (DOCS / page).read_text("utf-8")
    missing = {name: number for name, number in quoted().items() if number not in text}
    assert not missing
