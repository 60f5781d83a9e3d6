"""The blocks that models are built from."""

from prosector.blocks.conv_attention import ConvAttention
from prosector.blocks.convolution import DoubleConvolution
from prosector.blocks.decoder_layer import DecoderLayer
from prosector.blocks.embedding import PAD, TokenEmbedding, output_table, real_tokens
from prosector.blocks.encoder_layer import EncoderLayer
from prosector.blocks.feed_forward import FeedForward, GeGLU, SwiGLU
from prosector.blocks.norms import BatchNorm, LayerNorm, RMSNorm
from prosector.blocks.recurrent import Recurrent, RecurrentCache
from prosector.blocks.residual import PostNorm, PreNorm
from prosector.blocks.stack import CausalStack, DecoderStack, EncoderStack

__all__ = [
    "PAD",
    "BatchNorm",
    "CausalStack",
    "ConvAttention",
    "DecoderLayer",
    "DecoderStack",
    "DoubleConvolution",
    "EncoderLayer",
    "EncoderStack",
    "FeedForward",
    "GeGLU",
    "LayerNorm",
    "PostNorm",
    "PreNorm",
    "RMSNorm",
    "Recurrent",
    "RecurrentCache",
    "SwiGLU",
    "TokenEmbedding",
    "output_table",
    "real_tokens",
]
