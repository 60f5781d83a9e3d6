"""A text that goes on: from a beginning, token by token, as a stream.

    p(next | what is written) → temperature, top-k, top-p → draw one → and again

The model was trained on so many tokens at once. When the text has grown beyond that, its later half is read anew and
writing goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from prosector.config.folder import WriterFolder
from prosector.config.model import n_positions
from prosector.config.special import first_id
from prosector.decoding.folder import read_writer
from prosector.decoding.from_folder import FromFolder
from prosector.decoding.sampling import at_temperature, draw, generator_of, keep_top_k, keep_top_p
from prosector.models.gpt import Gpt
from prosector.text import Tokenizer


class TextWriter(FromFolder):
    """A model that writes, with its tokenizer.

    >>> writer = prosector.load("gpt")
    >>> writer.write("Once upon a time", max_tokens=50)
    >>> for text in writer.stream("Once upon a time", n_lines=3):
    ...     print(text, end="")
    """

    read_folder = staticmethod(read_writer)

    def __init__(self, config: WriterFolder, model: Gpt, tokenizer: Tokenizer) -> None:
        self.config, self.model, self.tokenizer = config, model.eval(), tokenizer
        self.special = config.model.special

    def write(self, beginning: str, **options: float | int | None) -> str:
        """What follows a beginning, to the end of the line or what `options`, those of `stream`, say otherwise."""
        return "".join(self.stream(beginning, **options)).rstrip("\n")  # type: ignore[arg-type]

    def stream(
        self,
        beginning: str,
        *,
        max_tokens: int = 200,
        n_lines: int = 1,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
    ) -> Iterator[str]:
        """What follows a beginning, bit by bit; a line's end is a line break.

        Args:
            beginning: any text, one or more lines, or none.
            max_tokens: after so many it stops, wherever it is.
            n_lines: after so many lines' ends it stops.
            temperature: below 1 sharper, above 1 flatter; 0 takes the likeliest always.
            top_k: draw among the so many likeliest tokens.
            top_p: draw among the likeliest tokens that together have this probability.
            seed: a beginning and a seed give the same again.
        """
        chance = torch.rand(max_tokens, generator=generator_of(seed, beginning), dtype=torch.float64)
        ids = self.read(beginning)
        line = self.tokenizer.encode(self.unit_of(beginning))  # what stands in it, and what comes to it
        shown, n_ended = self.tokenizer.decode(line), 0
        for scores, number in zip(self.scores(ids), range(max_tokens), strict=False):
            token = pick(scores, temperature, top_k, top_p, chance[number])
            ids.append(token)
            if token in self.special.ends and self.config.unit == "text":
                return
            if token in self.special.ends:
                yield self.tokenizer.decode(line)[len(shown) :] + "\n"
                line, shown, n_ended = [], "", n_ended + 1
                if n_ended == n_lines:
                    return
                continue
            line.append(token)
            text = self.tokenizer.decode(line)
            if not text.endswith("\ufffd"):  # the rest of a character's bytes is still to come
                new, shown = text[len(shown) :], text
                yield new
                n_ended += new.count("\n") if self.config.unit == "text" else 0
                if n_ended >= n_lines:
                    return

    def unit_of(self, beginning: str) -> str:
        """The part of a beginning that is still being written: its last line, or all of it."""
        return beginning if self.config.unit == "text" else beginning.split("\n")[-1]

    def read(self, beginning: str) -> list[int]:
        """The ids of a beginning, and what stands before it.

        Of lines, the end of all but the last is read too, and an end stands before the first. A text has its begin
        before it, if the model knows one; of nothing, something has to be read: a begin or an end.
        """
        if self.config.unit == "text":
            ids = self.tokenizer.encode(beginning)
            return [first_id(self.special), *ids] if self.special.sos is not None or not ids else ids
        end = self.special.ends[0]
        lines = [self.tokenizer.encode(line) for line in beginning.split("\n")]
        return [id for line in lines for id in [end, *line]]

    @torch.inference_mode()
    def scores(self, ids: list[int]) -> Iterator[Tensor]:
        """log p of every token that may follow, again and again; `ids` grows by one in between."""
        device = next(self.model.parameters()).device
        longest = min(self.config.context, n_positions(self.config.model))
        cache, done = self.model.new_cache(), max(0, len(ids) - longest)
        while True:
            if len(cache) + len(ids) - done > longest:
                cache, done = self.model.new_cache(), len(ids) - max(1, longest // 2)
            new = torch.tensor([ids[done:]], device=device)
            logits = self.model.logits(self.model.hidden(new, cache)[:, -1])
            done = len(ids)
            logits[:, self.special.unwritten] = -torch.inf
            logits[:, self.tokenizer.vocab_size :] = -torch.inf  # spare rows of an imported model
            yield logits.float().log_softmax(dim=-1)


def pick(log_p: Tensor, temperature: float, top_k: int | None, top_p: float | None, chance: Tensor) -> int:
    """The next token: the likeliest at temperature 0, else drawn."""
    if temperature == 0:
        return int(log_p.argmax(dim=-1))
    kept = at_temperature(log_p.double(), temperature)
    if top_k is not None:
        kept = keep_top_k(kept, top_k)
    if top_p is not None:
        kept = keep_top_p(kept, top_p)
    return int(draw(kept, chance[None]))
