"""What the demo does and says, stop by stop."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prosector.cli import trial
from prosector.cli.console import console, quoted
from prosector.cli.display import reporter
from prosector.cli.train import find_recipe
from prosector.config.run import RunConfig, read_run
from prosector.data.corpus import Pair
from prosector.data.hsk import read_hsk, split, write_tsv
from prosector.decoding.translator import Translator, find_model, installed_models, load
from prosector.evaluation.evaluate import evaluate
from prosector.training import run as training

if TYPE_CHECKING:
    from rich.table import Table

SENTENCES = {
    "zh-en": ["我喜欢深度学习。", "人山人海。", "明天会下雨吗？", "这家饭馆的菜又便宜又好吃。"],
    "en-zh": ["How are you?", "I like deep learning.", "Where is the station?", "She has been waiting for an hour."],
}
SHOWN = 6  # unseen sentences that are shown side by side


class Tour:
    """The stops of the demo, and what one leaves for the next."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder, self.seconds = folder, seconds
        self.out = console(sys.stdout)
        self.began = time.monotonic()
        self.shipped = [name for name in SENTENCES if name in {model.name for model in installed_models()}]

    def run(self) -> None:
        """All stops."""
        self.translate()
        self.prepare_data()
        self.train()
        self.head_start()
        self.draw()
        self.go_on()

    def say(self, text: str = "", style: str | None = None) -> None:
        self.out.print(text, style=style, markup=False)
        sys.stdout.flush()

    def heading(self, text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
        self.say(f"\n{text}  ({minutes}:{seconds:02})", "bold")

    # The stops

    def translate(self) -> None:
        """Both ways, with the shipped models."""
        self.heading("1. Translating with the shipped models")
        if not self.shipped:
            self.say("No shipped model is installed here, so this stop is left out.")
        for name in self.shipped:
            for source, target in zip(SENTENCES[name], load(name).translate(SENTENCES[name]), strict=True):
                self.say(f"  {source}  →  {target}")

    def prepare_data(self) -> None:
        """Graded sentences, in three parts that share none."""
        self.heading("2. Training a small translator from scratch")
        parts = split(read_hsk())
        for name, sentences in parts._asdict().items():
            write_tsv(self.folder / f"{name}.tsv", sentences)
        self.test = [Pair(sentence.chinese, sentence.english) for sentence in parts.test]
        self.say(
            f"  {len(parts.train):,} graded sentences to learn from, {len(parts.dev)} to choose on, and {len(parts.test)} that it\n"
            f"  never sees. (HSK sentences from the PyPI package hsk-sentences-audio 1.0.0, CC-BY-SA 4.0.)"
        )

    def recipe(self, preset: str) -> RunConfig:
        """A preset, on the tour's sentences."""
        files = [f'data.{part} = [{{path = "{self.folder.absolute() / part}.tsv"}}]' for part in ("train", "dev")]
        return read_run(find_recipe(preset), files)

    def train(self) -> None:
        """From random weights to a translator of sorts."""
        start = trial.start_of(self.recipe("demo"), None)
        trial.write_untrained(start, self.folder / "untrained")
        before = Translator.load(self.folder / "untrained")
        self.samples = self.test[:SHOWN]
        sources = [pair.source for pair in self.samples]
        self.untrained = before.translate(sources, beam=1, max_length=12)
        self.say(f"  Before training, its weights are random, and so is what it writes for {sources[0]}\n  {self.untrained[0]}")
        config = trial.fitted(start, self.seconds, self.folder / "rehearsal")
        self.say(f"  {config.training.steps:,} steps fit into {self.seconds:.0f} seconds on this machine, as it is now.\n")
        with reporter() as told:
            training.train(config, self.folder / "small", told)
        self.heading("3. What it has learned")
        small = Translator.load(self.folder / "small")
        after = self.judge("The small translator", small)
        self.say()
        for pair, first, last in zip(self.samples, self.untrained, after, strict=False):
            self.say(f"  {pair.source}   (“{pair.target}”)")
            self.say(f"    before  {first}", "dim")
            self.say(f"    after   {last}")
        self.say(f"\n  {len(self.test)} sentences it never saw; {config.training.steps:,} steps on few sentences teach its grammar, not a language.")
