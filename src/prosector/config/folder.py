"""What the `config.json` of a model's folder holds: one class a family."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from prosector.config.base import Config
from prosector.config.bert import BertConfig
from prosector.config.data import Language
from prosector.config.gpt import GptConfig
from prosector.config.model import TranslatorConfig
from prosector.config.pictures import PictureModelConfig
from prosector.config.segmenting import SegmentingModelConfig

FORMAT = 1


class Folder(Config):
    """What every model's says."""

    format: Literal[1] = Field(1, description="the version of this layout")
    kind: str = Field(description="the architecture")


class TranslatorFolder(Folder):
    """A translator's."""

    kind: Literal["transformer", "rnn", "rnn-attention"] = Field("transformer", description="the architecture")
    source: Language = Field(description="the language it reads")
    target: Language = Field(description="the language it writes")
    source_eos: bool = Field(True, description="whether the source ends with <eos>")
    max_tokens: int = Field(128, description="the longest side, in tokens, that it was trained on")
    model: TranslatorConfig = Field(description="the model's config")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.kind != self.model.kind:
            raise ValueError(f"kind is {self.kind!r} and model.kind {self.model.kind!r}; they must be the same")
        return self


class WriterFolder(Folder):
    """That of a model that only writes."""

    kind: Literal["gpt"] = Field("gpt", description="the architecture")
    unit: Literal["line", "text"] = Field("line", description="what <eos> ends: a line, or a text of many lines")
    context: int = Field(128, gt=1, description="how many tokens it was trained to read at once")
    model: GptConfig = Field(description="the model's config")


class PictureFolder(Folder):
    """That of a model that says which class a picture is of."""

    kind: Literal["vit", "conv-transformer"] = Field(description="the architecture")
    classes: tuple[str, ...] = Field(min_length=2, description="the names of the classes")
    size: tuple[int, int] = Field(description="height and width of the pictures it was trained on")
    source: str = Field(description="the data set it was trained on")
    test: int = Field(ge=0, description="how many pictures of it were never seen")
    mean: float = Field(description="of the training pictures' values, 0 to 1")
    deviation: float = Field(gt=0, description="of the same")
    model: PictureModelConfig = Field(description="the model's config")


class ReaderFolder(Folder):
    """That of a model that reads."""

    kind: Literal["bert"] = Field("bert", description="the architecture")
    max_tokens: int = Field(128, description="the longest text, in tokens, that it was trained on")
    labels: tuple[str, ...] = Field((), description="the kinds of text that it can tell apart")
    model: BertConfig = Field(description="the model's config")


class SegmentingFolder(Folder):
    """That of a model that classes every place of a picture."""

    kind: Literal["unet", "attention-unet"] = Field(description="the architecture")
    classes: tuple[str, ...] = Field(min_length=2, description="the names of the classes, the background first")
    source: str = Field("", description="the data set it was trained on")
    mean: float = Field(description="of the training pictures' values, 0 to 1")
    deviation: float = Field(gt=0, description="of the same")
    threshold: float = Field(0.5, gt=0, lt=1, description="of two classes: from which probability on the second counts")
    model: SegmentingModelConfig = Field(description="the model's config")


FOLDERS: dict[str, type[Folder]] = {
    "transformer": TranslatorFolder,
    "rnn": TranslatorFolder,
    "rnn-attention": TranslatorFolder,
    "gpt": WriterFolder,
    "bert": ReaderFolder,
    "unet": SegmentingFolder,
    "attention-unet": SegmentingFolder,
    "vit": PictureFolder,
    "conv-transformer": PictureFolder,
}
