"""The ids that stand for no piece of text. Ours are 0 to 3 in every vocabulary; an imported model keeps its own.

Its rows could be put in our order instead. Then its ids would be nobody's else's, a vocabulary without padding would
need a row that it never learned, and one whose begin and end are one id (GPT-2) could not be put in order at all.
"""

from __future__ import annotations

from pydantic import Field

from prosector.config.base import Config


class SpecialIds(Config):
    """Which id means what; None is none."""

    pad: int | None = Field(0, ge=0, description="fills up shorter rows of a batch")
    unk: int | None = Field(1, ge=0, description="stands for what the vocabulary does not know")
    sos: int | None = Field(2, ge=0, description="what a text that is written, or read, begins with")
    eos: int | None = Field(3, ge=0, description="what it ends with")
    mask: int | None = Field(None, ge=0, description="stands for a gap; not needed if it has a row of its own")
    also_eos: tuple[int, ...] = Field((), description="further ids that end a text")
    never: tuple[int, ...] = Field((), description="further ids that no one writes")

    def require_ours(self, what: str) -> None:
        """Make sure that these are ours, for what knows no others.

        Raises:
            ValueError: they are an imported model's own.
        """
        if self != SpecialIds():
            raise ValueError(
                f"{what} an imported model is not possible: its ids for padding, begin and end are its own, and only "
                "<pad> 0, <unk> 1, <sos> 2, <eos> 3 are known there"
            )

    @property
    def ends(self) -> list[int]:
        """The ids that end a text."""
        return [id for id in (self.eos, *self.also_eos) if id is not None]

    @property
    def unwritten(self) -> list[int]:
        """The ids that no one writes; where the begin is the end too, it is written."""
        given = (self.pad, self.unk, self.sos, *self.never)
        return [id for id in dict.fromkeys(given) if id is not None and id not in self.ends]


def first_id(special: SpecialIds) -> int:
    """What a target begins with: the begin's id, or the end's where there is none.

    Raises:
        ValueError: there is neither.
    """
    for id in (special.sos, special.eos):
        if id is not None:
            return id
    raise ValueError("the model names no id that a text begins or ends with: special.sos and special.eos are missing")
