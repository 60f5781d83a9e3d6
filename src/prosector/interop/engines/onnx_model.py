"""The encoder-decoder as three graphs of ONNX, written down from the model's own modules.

encoder.onnx   src [B, Ls], real [B, Ls]                          → memory [B, Ls, d]
first.onnx     token [B], memory, real                            → logits [B, V]; each layer's keys and values
next.onnx      token [B], real, each layer's keys and values      → logits [B, V]; the longer keys and values

`first` computes the memory's keys and values (`cross.0.key`, …) that `next` is given again and again, and those of
the first token (`self.0.key`, …), which each step makes longer by one. Batch and lengths may be any.

Shapes: B batch, L length, N = B · L, d features, H heads, V target vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from torch import nn

from prosector.attention import MultiHeadAttention
from prosector.blocks import DecoderStack, EncoderStack, TokenEmbedding
from prosector.blocks.norms import LayerNorm
from prosector.blocks.residual import PreNorm
from prosector.config.transformer import TransformerConfig
from prosector.interop.engines.onnx_graph import Graph
from prosector.interop.hugging_face.settings import require_expressible
from prosector.models.transformer import Transformer
from prosector.positions.sinusoidal import inverse_frequencies

KEPT = ("self", "cross")


def require_onnx(config: TransformerConfig) -> None:
    """Make sure that every field is written down here.

    Raises:
        ValueError: some are not; all are named, with what they can be.
    """
    allowed = {"kind": ("transformer",), "position.kind": ("sinusoidal", "learned", "none"), "norm": ("layer", "rms")}
    require_expressible("ONNX", config, allowed)


def names_of_kept(n_layers: int, kinds: tuple[str, ...] = KEPT) -> list[str]:
    """What is kept between steps, by name."""
    return [f"{kind}.{layer}.{what}" for kind in kinds for layer in range(n_layers) for what in ("key", "value")]


class Drawing:
    """A model's modules, each as the nodes that compute it; what a method takes and gives are names of values.

    Vectors lie one below the other, [N, d], so that a linear map is one node.
    """

    def __init__(self, graph: Graph, config: TransformerConfig) -> None:
        self.graph, self.config = graph, config
        self.heads_shape: dict[tuple[int, int], str] = {}

    # --- text in ---------------------------------------------------------------------------------------------------

    def embed(self, ids: str, embedding: TokenEmbedding, stack: EncoderStack | DecoderStack, positions: str) -> str:
        """[B, L] → [N, d]: table[ids] · √d, and positions."""
        g, d_model = self.graph, self.config.d_model
        x = g("Gather", g.weight(embedding.weight), ids)  # [B, L, d]
        if embedding.scale != 1:
            x = g("Mul", x, g.constant(embedding.scale, np.float32))
        x = self.add_positions(x, stack.position, positions)
        x = g("Reshape", x, g.constant([-1, d_model]))
        return x if stack.first_norm is None else self.norm(x, stack.first_norm)

    def add_positions(self, x: str, position: Any, positions: str) -> str:
        """The encoding of the places [L], on x [B, L, d]."""
        g, config = self.graph, self.config.position
        if config.kind == "none":
            return x
        if config.kind == "learned":
            return g("Add", x, g("Gather", g.weight(position.table.weight), positions))
        angles = g("Unsqueeze", g("Cast", positions, to=g.onnx.TensorProto.FLOAT), g.constant([-1]))  # [L, 1]
        frequencies = inverse_frequencies(self.config.d_model)
        angles = g("Mul", angles, g.constant(frequencies.numpy(), np.float32))  # [L, pairs]
        hands = [g("Sin", angles), g("Cos", angles)]
        if config.layout == "interleaved":  # type: ignore[union-attr]
            hands = [g("Unsqueeze", hand, g.constant([-1])) for hand in hands]  # [L, pairs, 1]
        table = g("Reshape", g("Concat", *hands, axis=-1), g.constant([-1, 2 * len(frequencies)]))
        if self.config.d_model % 2:
            table = g("Slice", table, g.constant([0]), g.constant([self.config.d_model]), g.constant([1]))
        return g("Add", x, table)

    # --- layers ----------------------------------------------------------------------------------------------------

    def residual(self, x: str, sublayer: Callable[[str], str], norm: nn.Module, how: nn.Module) -> str:
        """The path around a sublayer, with its norm before it or after the sum."""
        if isinstance(how, PreNorm):
            return self.graph("Add", x, sublayer(self.norm(x, norm)))
        return self.norm(self.graph("Add", x, sublayer(x)), norm)

    def norm(self, x: str, norm: Any) -> str:
        """LayerNorm or RMSNorm."""
        g, scale = self.graph, self.graph.weight(norm.weight)
        if isinstance(norm, LayerNorm):
            shift = [] if norm.bias is None else [g.weight(norm.bias)]
            return g("LayerNormalization", x, scale, *shift, axis=-1, epsilon=norm.eps)
        mean = g("ReduceMean", g("Mul", x, x), g.constant([-1]))
        size = g("Sqrt", g("Add", mean, g.constant(norm.eps, np.float32)))
        return g("Mul", g("Div", x, size), scale)

    def linear(self, x: str, linear: Any, out: str = "") -> str:
        """x Wᵀ + b."""
        bias = [] if linear.bias is None else [self.graph.weight(linear.bias)]
        return self.graph("Gemm", x, self.graph.weight(linear.weight), *bias, out=out, transB=1)

    def feed_forward(self, x: str, block: Any) -> str:
        """One of `blocks/feed_forward.py`."""
        g, name = self.graph, self.config.activation
        inner = self.linear(x, block.inner)
        if name in ("swiglu", "geglu"):
            opening = self.activation(self.linear(x, block.gate), "swish" if name == "swiglu" else "gelu-tanh")
            return self.linear(g("Mul", opening, inner), block.outer)
        return self.linear(self.activation(inner, name), block.outer)

    def activation(self, x: str, name: str) -> str:
        """f(x)."""
        match name:
            case "relu":
                return self.graph("Relu", x)
            case "swish":
                return self.graph("Mul", x, self.graph("Sigmoid", x))
            case _:
                return self.graph("Gelu", x, approximate="tanh" if name == "gelu-tanh" else "none")

    # --- attention -------------------------------------------------------------------------------------------------

    def split(self, x: str, n_heads: int, d_head: int, rows: str, out: str = "") -> str:
        """[N, H · d] → [B, H, L, d]; `rows` is B."""
        if (n_heads, d_head) not in self.heads_shape:
            after = self.graph.constant([-1, n_heads, d_head])
            self.heads_shape[n_heads, d_head] = self.graph("Concat", rows, after, axis=0)
        split = self.graph("Reshape", x, self.heads_shape[n_heads, d_head])
        return self.graph("Transpose", split, out=out, perm=[0, 2, 1, 3])

    def keys_values(self, x: str, attention: MultiHeadAttention, rows: str, out: str = "") -> list[str]:
        """The heads of keys and of values of x; `out` is what their names begin with, where they come out."""
        maps = (("key", attention.key, attention.d_head), ("value", attention.value, attention.d_value))
        return [
            self.split(self.linear(x, linear), attention.n_kv_heads, size, rows, out and f"{out}.{name}")
            for name, linear, size in maps
        ]

    def attend(
        self, x: str, kept: list[str], attention: MultiHeadAttention, rows: str, may_look: str | None = None
    ) -> str:
        """softmax(Q Kᵀ · scale) V, projected; `may_look` is [B, 1, 1, Lk]."""
        g = self.graph
        query = self.split(self.linear(x, attention.query), attention.n_heads, attention.d_head, rows)
        key, value = (self.share(each, attention) for each in kept)
        scale = attention.d_head**-0.5 if attention.scale is None else attention.scale
        scores = g("MatMul", query, g("Transpose", key, perm=[0, 1, 3, 2]))  # [B, H, Lq, Lk]
        scores = g("Mul", scores, g.constant(scale, np.float32))
        if may_look is not None:
            scores = g("Where", may_look, scores, g.constant(np.finfo(np.float32).min, np.float32))
        heads = g("MatMul", g("Softmax", scores, axis=-1), value)  # [B, H, Lq, d_v]
        merged = g("Transpose", heads, perm=[0, 2, 1, 3])
        merged = g("Reshape", merged, g.constant([-1, attention.n_heads * attention.d_value]))  # [N, H · d_v]
        return self.linear(merged, attention.output)

    def share(self, heads: str, attention: MultiHeadAttention) -> str:
        """Each head of keys or values once for every query head of its group."""
        times = attention.n_heads // attention.n_kv_heads
        if times == 1:
            return heads
        g = self.graph
        copies = g("Tile", g("Unsqueeze", heads, g.constant([2])), g.constant([1, 1, times, 1, 1]))
        return g("Reshape", copies, g.constant([0, attention.n_heads, -1, attention.d_head]))

    def may_look(self, real: str) -> str:
        """Which keys are no padding, [B, 1, 1, Lk]."""
        return self.graph("Unsqueeze", real, self.graph.constant([1, 2]))


# --- the three graphs --------------------------------------------------------------------------------------------


def encoder(model: Transformer, graph: Graph) -> None:
    """The encoder."""
    g, draw = graph, Drawing(graph, model.config)
    src = g.input("src", "INT64", ["B", "Ls"])
    may_look = draw.may_look(g.input("real", "BOOL", ["B", "Ls"]))
    rows = g("Shape", src, start=0, end=1)
    length = g("Squeeze", g("Shape", src, start=1, end=2))
    positions = g("Range", g.constant(0), length, g.constant(1))
    x = draw.embed(src, model.source_embedding, model.encoder, positions)
    for layer in model.encoder.layers:
        x = encoder_layer(draw, x, layer, rows, may_look)
    if model.encoder.final_norm is not None:
        x = draw.norm(x, model.encoder.final_norm)
    shape = g("Concat", rows, g.constant([-1, model.config.d_model]), axis=0)
    g("Reshape", x, shape, out="memory")
    g.output("memory", "FLOAT", ["B", "Ls", model.config.d_model])


def step(model: Transformer, graph: Graph, first: bool) -> None:
    """One step of the decoder: the first one, or one that has keys and values of those before."""
    g, config, draw = graph, model.config, Drawing(graph, model.config)
    token = g.input("token", "INT64", ["B"])
    memory = g.input("memory", "FLOAT", ["B", "Ls", config.d_model]) if first else ""
    memory = g("Reshape", memory, g.constant([-1, config.d_model])) if first else ""
    may_look = draw.may_look(g.input("real", "BOOL", ["B", "Ls"]))
    attention: Any = model.decoder.layers[0].self
    lengths = {"self": "Lt", "cross": "Ls"}
    shapes: dict[str, list[str | int]] = {
        name: ["B", attention.n_kv_heads, lengths[name.split(".")[0]], attention.d_head]
        for name in names_of_kept(config.decoder_layers)
    }
    if not first:
        for name, shape in shapes.items():
            g.input(name, "FLOAT", shape)

    rows = g("Shape", token, start=0, end=1)
    positions = g.constant([0]) if first else g("Shape", "self.0.key", start=2, end=3)
    ids = g("Unsqueeze", token, g.constant([1]))  # [B, 1]
    x = draw.embed(ids, model.target_embedding, model.decoder, positions)
    for number, layer in enumerate(model.decoder.layers):
        x = decoder_layer(draw, x, layer, number, rows, memory, may_look, first)
    if model.decoder.final_norm is not None:
        x = draw.norm(x, model.decoder.final_norm)
    if model.output_scale != 1:
        x = g("Mul", x, g.constant(model.output_scale, np.float32))
    draw.linear(x, model.output, out="logits")

    g.output("logits", "FLOAT", ["B", config.target_vocab])
    for name, shape in shapes.items():
        if first:
            g.output(name, "FLOAT", shape)
        elif name.startswith("self"):
            g.output(f"longer.{name}", "FLOAT", ["B", shape[1], "Lt + 1", shape[3]])


def encoder_layer(draw: Drawing, x: str, layer: Any, rows: str, may_look: str) -> str:
    """A layer of the encoder."""

    def look(y: str) -> str:
        return draw.attend(y, draw.keys_values(y, layer.attention, rows), layer.attention, rows, may_look)

    x = draw.residual(x, look, layer.norm1, layer.residual)
    return draw.residual(x, lambda y: draw.feed_forward(y, layer.feed_forward), layer.norm2, layer.residual)


def decoder_layer(
    draw: Drawing, x: str, layer: Any, number: int, rows: str, memory: str, may_look: str, first: bool
) -> str:
    """A layer of the decoder."""

    def look_back(y: str) -> str:
        kept = draw.keys_values(y, layer.self, rows, f"self.{number}" if first else "")
        if not first:
            names = (f"self.{number}.key", f"self.{number}.value")
            kept = [
                draw.graph("Concat", before, new, out=f"longer.{before}", axis=2)
                for before, new in zip(names, kept, strict=True)
            ]
        return draw.attend(y, kept, layer.self, rows)

    def look_across(y: str) -> str:
        across = f"cross.{number}"
        kept = draw.keys_values(memory, layer.cross, rows, across) if first else [f"{across}.key", f"{across}.value"]
        return draw.attend(y, kept, layer.cross, rows, may_look)

    x = draw.residual(x, look_back, layer.norm1, layer.residual)
    x = draw.residual(x, look_across, layer.norm2, layer.residual)
    return draw.residual(x, lambda y: draw.feed_forward(y, layer.feed_forward), layer.norm3, layer.residual)
