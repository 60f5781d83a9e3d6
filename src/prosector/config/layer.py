"""What a layer is made of: the fields that every Transformer of the family shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from prosector.config.base import Config
from prosector.config.position import PositionConfig, SinusoidalPositionConfig

if TYPE_CHECKING:
    from torch import nn

    from prosector.attention import MultiHeadAttention
    from prosector.blocks import DecoderLayer, EncoderLayer
    from prosector.positions import Position

Activation = Literal["relu", "gelu", "gelu-tanh", "swish", "swiglu", "geglu"]


class LayerConfig(Config):
    """Attention, feed-forward, residual path and norm of one layer, and where positions come in."""

    d_model: int = Field(256, gt=0, description="features of a token on its way through the model")
    n_heads: int = Field(4, gt=0, description="attention heads of a layer")
    n_kv_heads: int | None = Field(None, gt=0, description="heads of keys and values; as many as n_heads if not given")
    d_head: int | None = Field(None, gt=0, description="features of a head; d_model / n_heads if not given")
    d_ff: int = Field(1024, gt=0, description="features inside the feed-forward network")
    activation: Activation = Field("relu", description="what is inside it")
    norm: Literal["layer", "rms", "batch"] = Field("layer", description="the kind of normalisation")
    norm_eps: float | None = Field(None, gt=0, description="ε inside its root; if not given, 1e-5, or 1e-6 of rms")
    norm_placement: Literal["pre", "post"] = Field("pre", description="before a sublayer, or after the sum as in 2017")
    final_norm: bool | None = Field(None, description="a norm after the last layer; if not given, with pre-norm only")
    bias: bool = Field(True, description="whether linear maps add a bias")
    qkv_bias: bool | None = Field(None, description="whether those of queries, keys, values do; if not given, as bias")
    attention_scale: float | None = Field(
        None, gt=0, description="what scores are multiplied by; 1/√d_head if not given, and 1 in T5"
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="share of values dropped after embeddings and sublayers")
    attention_dropout: float = Field(0.0, ge=0, lt=1, description="share of attention weights dropped")
    kernel: Literal["sdpa", "written-out", "blockwise", "flex"] = Field("sdpa", description="how attention is computed")
    position: PositionConfig = Field(SinusoidalPositionConfig(), description="the position encoding")

    @model_validator(mode="after")
    def _heads_fit(self) -> LayerConfig:
        if self.d_head is None and self.d_model % self.n_heads:
            raise ValueError(
                f"d_model={self.d_model} does not divide into n_heads={self.n_heads}; change one, or give d_head"
            )
        if self.n_kv_heads is not None and self.n_heads % self.n_kv_heads:
            raise ValueError(f"n_heads={self.n_heads} is not a multiple of n_kv_heads={self.n_kv_heads}")
        return self

    def build_attention(self) -> MultiHeadAttention:
        """One attention of a layer."""
        from prosector.attention import KERNELS, MultiHeadAttention

        return MultiHeadAttention(
            self.d_model,
            self.n_heads,
            n_kv_heads=self.n_kv_heads,
            d_head=self.d_head,
            bias=self.bias,
            qkv_bias=self.qkv_bias,
            dropout=self.attention_dropout,
            kernel=KERNELS[self.kernel],
            scale=self.attention_scale,
        )

    def build_feed_forward(self) -> nn.Module:
        """The feed-forward network of a layer."""
        from prosector.blocks import FeedForward, GeGLU, SwiGLU

        gated = {"swiglu": SwiGLU, "geglu": GeGLU}
        if self.activation in gated:
            return gated[self.activation](self.d_model, self.d_ff, bias=self.bias)
        return FeedForward(self.d_model, self.d_ff, self.activation, bias=self.bias)

    def build_norm(self) -> nn.Module:
        """One norm."""
        from prosector.blocks import BatchNorm, LayerNorm, RMSNorm

        eps: dict[str, Any] = {} if self.norm_eps is None else {"eps": self.norm_eps}
        return {"layer": LayerNorm, "rms": RMSNorm, "batch": BatchNorm}[self.norm](self.d_model, **eps)

    def build_final_norm(self) -> nn.Module | None:
        """The norm after the last layer, if there is one."""
        wanted = self.norm_placement == "pre" if self.final_norm is None else self.final_norm
        return self.build_norm() if wanted else None

    def build_residual(self) -> nn.Module:
        """The residual path around a sublayer."""
        from prosector.blocks import PostNorm, PreNorm

        return PreNorm(self.dropout) if self.norm_placement == "pre" else PostNorm(self.dropout)

    def build_position(self, bidirectional: bool) -> Position:
        """The position encoding of one stack."""
        d_head = self.d_head or self.d_model // self.n_heads
        return self.position.build(
            d_model=self.d_model, n_heads=self.n_heads, d_head=d_head, bidirectional=bidirectional
        )

    def build_encoder_layer(self) -> EncoderLayer:
        """One layer of an encoder."""
        from prosector.blocks import EncoderLayer

        return EncoderLayer(
            self.build_attention(),
            self.build_feed_forward(),
            self.build_residual(),
            self.build_norm(),
            self.build_norm(),
        )

    def build_decoder_layer(self) -> DecoderLayer:
        """One layer of a decoder that looks at a memory."""
        from prosector.blocks import DecoderLayer

        return DecoderLayer(
            self.build_attention(),
            self.build_attention(),
            self.build_feed_forward(),
            self.build_residual(),
            self.build_norm(),
            self.build_norm(),
            self.build_norm(),
        )
