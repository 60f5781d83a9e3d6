"""Small models of all nine kinds, whose every part says something, and a run of each that was seen whole."""

import pytest
import torch

from prosector.config.bert import BertConfig
from prosector.config.conv_transformer import ConvTransformerConfig, StageConfig
from prosector.config.gpt import GptConfig
from prosector.config.recurrent import RnnAttentionConfig, RnnConfig
from prosector.config.transformer import TransformerConfig
from prosector.config.unet import AttentionUNetConfig, UNetConfig
from prosector.config.vit import ViTConfig
from prosector.observe import observe

SIZES = {"d_model": 16, "n_heads": 2, "d_ff": 32}
VOCABULARIES = {"source_vocab": 12, "target_vocab": 13}
SRC = torch.tensor([[5, 6, 7, 3], [8, 9, 3, 0]])
TGT = torch.tensor([[2, 4, 5], [2, 6, 7]])
PICTURES = torch.randn(2, 1, 8, 12, generator=torch.Generator().manual_seed(0))


def stirred(model):
    """No bias at 0 and no scale at 1, no statistics of a norm at 0 or 1."""
    torch.manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight), alpha=0.2)
        for name, statistic in model.named_buffers():
            if "running_" in name:
                statistic.add_(0.2 * torch.rand_like(statistic))
    return model.eval()


def translator(**fields):
    """A translator."""
    layers = {"encoder_layers": 2, "decoder_layers": 3}
    return stirred(TransformerConfig(**SIZES | VOCABULARIES | layers | fields).build())


def writer(**fields):
    """A GPT."""
    return stirred(GptConfig(**SIZES | {"vocab": 13, "layers": 2} | fields).build())


def reader(**fields):
    """A BERT."""
    return stirred(BertConfig(**SIZES | {"vocab": 13, "layers": 2} | fields).build())


def recurrent(**fields):
    """A translator of two recurrent networks."""
    return stirred(RnnConfig(**VOCABULARIES | {"d_model": 6, "d_hidden": 5} | fields).build())


def recurrent_with_attention(**fields):
    """One with additive attention."""
    sizes = {"d_model": 6, "d_hidden": 5, "d_attention": 7, "encoder_layers": 2, "decoder_layers": 2}
    return stirred(RnnAttentionConfig(**VOCABULARIES | sizes | fields).build())


def vit(**fields):
    """A ViT for pictures of 8 x 12."""
    sizes = {"picture": (8, 12), "patch": (4, 4), "layers": 2, "n_classes": 3}
    return stirred(ViTConfig(**SIZES | sizes | fields).build())


def conv_transformer(**fields):
    """A ConvTransformer of two stages."""
    stages = (StageConfig(d_model=8, layers=1), StageConfig(d_model=16, n_heads=2, layers=2))
    return stirred(ConvTransformerConfig(**{"stages": stages, "d_ff": 2, "n_classes": 3} | fields).build())


def unet(**fields):
    """A U-Net."""
    return stirred(UNetConfig(**{"channels": 4, "depth": 2, "n_classes": 3} | fields).build())


def attention_unet(**fields):
    """A U-Net with gates."""
    return stirred(AttentionUNetConfig(**{"channels": 4, "depth": 2, "n_classes": 3} | fields).build())


# Every kind of model, and what each is run on.
KINDS = {
    "transformer": (translator, (SRC, TGT)),
    "gpt": (writer, (TGT,)),
    "bert": (reader, (SRC, torch.tensor([[0, 0, 1, 1]] * 2))),
    "vit": (vit, (PICTURES,)),
    "conv-transformer": (conv_transformer, (PICTURES,)),
    "rnn": (recurrent, (SRC, TGT)),
    "rnn-attention": (recurrent_with_attention, (SRC, TGT)),
    "unet": (unet, (PICTURES,)),
    "attention-unet": (attention_unet, (PICTURES,)),
}
WITH_KERNELS = ("transformer", "gpt", "bert", "vit", "conv-transformer")  # those with dot-product attention
TRANSLATORS = ("transformer", "rnn", "rnn-attention")


def inputs_of(model):
    """What a model of its kind is run on."""
    return KINDS[model.config.kind][1]


def run_whole(model, *inputs):
    """Everything that a model of its kind does with an input, and what came out."""
    if model.config.kind == "bert":
        hidden = model.hidden(*inputs)
        return torch.cat([model.fill(hidden).flatten(1), model.classify(hidden)], dim=1)
    return model(*inputs)


def watched(model):
    """A run that was seen whole."""
    with torch.no_grad(), observe(model) as seen:
        run_whole(model, *inputs_of(model))
    return seen


KERNELS = ["sdpa", "written-out", "flex"]
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


def same(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=2e-5)


def step_by_step(model, src=SRC, tgt=TGT):
    """The same with a cache, a token at a time."""
    memory, cache = model.encode(src), model.new_cache()
    hidden = [model.decode(token[:, None], memory, model.real(src), cache) for token in tgt.unbind(1)]
    return model.logits(torch.cat(hidden, dim=1))
