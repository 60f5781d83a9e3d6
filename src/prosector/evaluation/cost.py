"""What an encoder-decoder Transformer costs: weights, operations and bytes, as formulas of its config.

An operation is an addition or a multiplication, so that a matrix product of [m, k] and [k, n] has 2 m k n. Norms,
activations and softmax are left out: they are a few per cent. Training costs three forward passes: one forward, and
two backward, one for what goes in and one for the weights (Kaplan et al. 2020, section 2.1).
"""

from __future__ import annotations

from typing import NamedTuple

from prosector.config.transformer import TransformerConfig

GATED = ("swiglu", "geglu")


class Widths(NamedTuple):
    """Features: of a token, of all queries, of all keys, inside a feed-forward network; and its number of maps."""

    d: int
    q: int
    kv: int
    ff: int
    maps: int


def widths(config: TransformerConfig) -> Widths:
    """What the formulas need of a config."""
    d_head = config.d_head or config.d_model // config.n_heads
    kv_heads = config.n_kv_heads or config.n_heads
    maps = 3 if config.activation in GATED else 2
    return Widths(config.d_model, config.n_heads * d_head, kv_heads * d_head, config.d_ff, maps)


# --- weights -----------------------------------------------------------------------------------------------------


class Weights(NamedTuple):
    """How many there are: in the tables, in the encoder's maps, in the decoder's, and in the output's table.

    Biases, norms and what positions learn are left out: they are less than a per cent.
    """

    tables: int
    encoder: int
    decoder: int
    output: int

    @property
    def all(self) -> int:
        """All of them; an output that is the target's table is counted once."""
        return self.tables + self.encoder + self.decoder


def weights(config: TransformerConfig) -> Weights:
    """attention = d (2 q + 2 kv), feed-forward = maps · d · ff; a decoder's layer has two attentions."""
    d, q, kv, ff, maps = widths(config)
    attention, feed_forward = 2 * d * (q + kv), maps * d * ff
    source, target = config.source_vocab * d, config.target_vocab * d
    tables = {"none": source + 2 * target, "target": source + target, "all": source}[config.tie]
    return Weights(
        tables,
        config.encoder_layers * (attention + feed_forward),
        config.decoder_layers * (2 * attention + feed_forward),
        target,
    )


# --- operations --------------------------------------------------------------------------------------------------


def encoder_operations(config: TransformerConfig, source: int) -> int:
    """Of reading a source of so many tokens: 2 · weights a token, and 4 q for each pair of tokens and layer."""
    q = widths(config).q
    return source * 2 * weights(config).encoder + config.encoder_layers * 4 * q * source * source


def decoder_operations(config: TransformerConfig, source: int, target: int) -> int:
    """Of a whole target at once, as in training; the causal half that is thrown away is computed too.

    2 · weights a token, where keys and values of the source cost as many tokens as it has; 4 q for each pair.
    """
    d, q, kv, _, _ = widths(config)
    layers = config.decoder_layers
    of_source = layers * 2 * d * kv  # weights of cross-attention's keys and values
    maps = 2 * target * (weights(config).decoder - of_source) + 2 * source * of_source
    pairs = layers * 4 * q * target * (target + source)
    return maps + pairs + 2 * target * weights(config).output


def training_operations(config: TransformerConfig, source: int, target: int) -> int:
    """Of one pair, forward and backward."""
    return 3 * (encoder_operations(config, source) + decoder_operations(config, source, target))


def step_operations(config: TransformerConfig, source: int, written: int) -> int:
    """Of one more token with a cache, after so many."""
    d, q, kv, _, _ = widths(config)
    layers = config.decoder_layers
    maps = 2 * (weights(config).decoder - layers * 2 * d * kv + weights(config).output)
    return maps + layers * 4 * q * (written + 1 + source)


# --- bytes -------------------------------------------------------------------------------------------------------


def cache_bytes(config: TransformerConfig, source: int, written: int, a_number: float = 4) -> float:
    """Of a target being written: keys and values of its tokens and of its source's, in each layer."""
    return config.decoder_layers * 2 * widths(config).kv * (source + written) * a_number


def step_bytes(
    config: TransformerConfig, source: int, written: int, rows: int, a_weight: float = 1, a_number: float = 4
) -> float:
    """What one step of so many rows has to read: every weight of the decoder once, and each row's cache."""
    d, _, kv, _, _ = widths(config)
    own = weights(config).decoder - config.decoder_layers * 2 * d * kv + weights(config).output
    return own * a_weight + rows * cache_bytes(config, source, written + 1, a_number)


def table_bytes(config: TransformerConfig, tokens: int, length: int, a_number: float = 4) -> float:
    """Of all attention's weights, heads · length a token and attention: kept, where they are written out."""
    return a_number * tokens * config.n_heads * length * (config.encoder_layers + 2 * config.decoder_layers)


def training_bytes(config: TransformerConfig, tokens: int, length: int, a_number: float = 4) -> dict[str, float]:
    """What a training step keeps, by part, for so many source and as many target tokens, in sentences of a length.

    Weights, gradients and AdamW's two moments are float32. For the way back a sublayer keeps what goes into its norm
    and into its maps, and a byte a feature of what was dropped; attention, written out, also queries, keys and values
    (repeated where heads share them), its weights and the heads; the logits are never kept, since the loss is computed
    in pieces.
    """
    d, q, _, ff, _ = widths(config)
    activated = 1 if config.activation == "relu" else 4 if config.activation in GATED else 2  # what its way back needs
    inner = activated * ff
    attention, feed_forward = 2 * d + 4 * q, 2 * d + inner
    numbers = config.encoder_layers * (attention + feed_forward)
    numbers += config.decoder_layers * (2 * attention + feed_forward)
    dropped = d * (2 * config.encoder_layers + 3 * config.decoder_layers) if config.dropout else 0
    return {
        "weights": 4.0 * weights(config).all,
        "gradients": 4.0 * weights(config).all,
        "moments": 8.0 * weights(config).all,
        "activations": tokens * (a_number * numbers + dropped) + table_bytes(config, tokens, length, a_number),
    }


# --- time --------------------------------------------------------------------------------------------------------


class Machine(NamedTuple):
    """What a machine can do at most: operations a second, and bytes of memory read in a second."""

    operations: float
    bytes: float


def step_seconds(config: TransformerConfig, machine: Machine, source: int, written: int, rows: int) -> float:
    """The least time of a step: what takes longer, computing or reading (Williams et al. 2009, the roofline)."""
    computing = rows * step_operations(config, source, written) / machine.operations
    reading = step_bytes(config, source, written, rows) / machine.bytes
    return max(computing, reading)
