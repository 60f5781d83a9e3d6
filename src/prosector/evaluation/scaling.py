"""How the costs of `cost.py` grow: time from a machine's ceilings, many processors, and where a trick stops helping.

Times are the least there can be: operations at the rate of matrix products, bytes at the rate of memory, one after the
other, as a CPU and an eager GPU do them. Bytes of communication are those that each processor sends.

Shapes of formulas: n processors, W weights, d features of a token.
"""

from __future__ import annotations

from typing import NamedTuple

from prosector.config.transformer import TransformerConfig
from prosector.evaluation.cost import Machine, step_operations, training_bytes, training_operations, weights, widths

# How often numbers are read or written outside of matrix products, counted in PyTorch's own calls; a test counts again.
MOVES = 10  # a number that is kept for the way back, on both ways, with all that lies between it and the next
LOSS_MOVES = 15  # a logit in `chunked_cross_entropy`
UPDATE_MOVES = 7  # a weight in fused AdamW: it, its gradient and both means are read, and all but the gradient written


class Processor(NamedTuple):
    """One of many: operations and bytes of memory a second, bytes of memory, bytes a second sent near and far."""

    operations: float
    bytes: float
    memory: float
    near: float
    far: float


# NVIDIA, H100 SXM data sheet: bf16 without sparsity, HBM3, NVLink one way; and DGX H100: 400 Gb/s of network for each.
H100 = Processor(operations=989e12, bytes=3.35e12, memory=80e9, near=450e9, far=50e9)


# --- one machine -----------------------------------------------------------------------------------------------------


def moved_bytes(config: TransformerConfig, rows: int, source: int, target: int) -> float:
    """What a training step on so many pairs moves besides its matrix products: activations, logits, the update."""
    tokens, length = rows * (source + target) // 2, max(source, target)
    kept = training_bytes(config, tokens, length)
    logits = 4.0 * rows * target * config.target_vocab
    return MOVES * kept["activations"] + LOSS_MOVES * logits + UPDATE_MOVES * kept["weights"]


def pair_operations(config: TransformerConfig, source: int, target: int) -> int:
    """Those of a training step's operations that are attention's scores and sums: 3 · 4 q for each pair of tokens."""
    pairs = config.encoder_layers * source * source + config.decoder_layers * target * (target + source)
    return 3 * 4 * widths(config).q * pairs


def training_seconds(
    config: TransformerConfig, machine: Machine, rows: int, source: int, target: int, attention: float | None = None
) -> float:
    """maps / rate of products + pairs / rate of attention's + moved bytes / rate of memory.

    Args:
        attention: operations a second in products as small as a head's; those of the machine by default.
    """
    pairs = rows * pair_operations(config, source, target)
    maps = rows * training_operations(config, source, target) - pairs
    seconds = maps / machine.operations + pairs / (attention or machine.operations)
    return seconds + moved_bytes(config, rows, source, target) / machine.bytes


# --- many processors -------------------------------------------------------------------------------------------------


def all_reduce_bytes(size: float, n: int) -> float:
    """2 (n − 1) / n · size: each processor sends its share n − 1 times to be summed and n − 1 times to be spread."""
    return 2 * (n - 1) / n * size


def data_parallel_bytes(config: TransformerConfig, n: int, shards: int = 1, a_number: float = 2) -> float:
    """The gradients of a step, summed over n copies of the model, each copy lying on so many processors."""
    return all_reduce_bytes(weights(config).all / shards * a_number, n)


def tensor_parallel_bytes(config: TransformerConfig, tokens: int, n: int, a_number: float = 2) -> float:
    """Each sublayer's output, summed over n on the way there and its input's gradient on the way back.

    2 sublayers of an encoder's layer, 3 of a decoder's (Shoeybi et al. 2019, "Megatron-LM", section 3).
    """
    sublayers = 2 * config.encoder_layers + 3 * config.decoder_layers
    return 2 * sublayers * all_reduce_bytes(tokens * config.d_model * a_number, n)


def pipeline_bytes(config: TransformerConfig, tokens: int, a_number: float = 2) -> float:
    """What crosses one cut between layers: the tokens' vectors there, their gradients back."""
    return 2.0 * tokens * config.d_model * a_number


def bubble(stages: int, micro_batches: int) -> float:
    """The share of time in which a pipeline's stages wait, (p − 1) / (m + p − 1) (Huang et al. 2019, "GPipe")."""
    return (stages - 1) / (micro_batches + stages - 1)


# --- where a trick stops helping -------------------------------------------------------------------------------------


def length_of_equal_attention(config: TransformerConfig) -> float:
    """The length at which an encoder's attention costs as many operations as its maps: W / (2 q · layers)."""
    return weights(config).encoder / (2 * widths(config).q * config.encoder_layers)


def rows_of_equal_reading(config: TransformerConfig, machine: Machine, a_weight: float, written: int = 0) -> float:
    """How many rows a decoding step needs until its products take as long as reading the weights: there int8's and
    batching's gain by less reading ends."""
    matrices = step_operations(config, 0, written) / 2
    return a_weight * matrices / machine.bytes * machine.operations / (2 * matrices)


def length_of_equal_cache(config: TransformerConfig, rows: int, a_weight: float = 1, a_number: float = 4) -> float:
    """The length (source and written) at which a step reads as much of its rows' cache as of the weights."""
    d, _, kv, _, _ = widths(config)
    own = weights(config).decoder - config.decoder_layers * 2 * d * kv + weights(config).output
    return own * a_weight / (rows * config.decoder_layers * 2 * kv * a_number)


def beam_saving(beam: int, source: int, written: int) -> float:
    """How many times less of the cache is read when a beam shares its source's keys and values."""
    return beam * (source + written) / (source + beam * written)


def logits_share(config: TransformerConfig, length: int) -> float:
    """What the logits and their gradient, 2 · 4 V bytes a target token, would be of all activations, were they kept."""
    activations = training_bytes(config, 1, length)["activations"]
    return 8 * config.target_vocab / activations
