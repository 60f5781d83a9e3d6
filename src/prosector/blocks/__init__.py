"""The blocks that models are built from."""

from prosector.blocks.decoder_layer import DecoderLayer
from prosector.blocks.embedding import TokenEmbedding
from prosector.blocks.encoder_layer import EncoderLayer
from prosector.blocks.feed_forward import FeedForward, SwiGLU
from prosector.blocks.norms import BatchNorm, LayerNorm, RMSNorm
from prosector.blocks.residual import PostNorm, PreNorm
from prosector.blocks.stack import DecoderStack, EncoderStack

__all__ = [
    "BatchNorm",
    "DecoderLayer",
    "DecoderStack",
    "EncoderLayer",
    "EncoderStack",
    "FeedForward",
    "LayerNorm",
    "PostNorm",
    "PreNorm",
    "RMSNorm",
    "SwiGLU",
    "TokenEmbedding",
]
