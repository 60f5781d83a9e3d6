"""What the demo does and says, stop by stop."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from prosector.cli import trial
from prosector.cli.attention import Looks, look
from prosector.cli.console import console, program, quoted
from prosector.cli.display import reporter
from prosector.cli.figure import draw_attention, has_han
from prosector.cli.train import find_recipe
from prosector.config.decoding import DecodingConfig
from prosector.config.run import RunConfig, read_run
from prosector.data.corpus import Pair
from prosector.data.hsk import read_hsk, split, write_tsv
from prosector.decoding import Translator, installed_models, load
from prosector.evaluation.evaluate import evaluate
from prosector.explain.fonts import font_for
from prosector.training.run import train
from prosector.training.work import Start, Work

SENTENCES = {
    "zh-en": ["我喜欢深度学习。", "人山人海。", "明天会下雨吗？", "这家饭馆的菜又便宜又好吃。"],
    "en-zh": ["How are you?", "I like deep learning.", "Where is the station?", "She has been waiting for an hour."],
}
SHOWN = 6  # unseen sentences that are shown side by side
GREEDY = DecodingConfig(beam=1)


class Tour:
    """The stops of the demo, and what one leaves for the next."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder, self.seconds = folder, seconds
        self.out = console(sys.stdout)
        self.began = time.monotonic()
        self.shipped = {name: folder for name, folder in installed_models().items() if name in SENTENCES}

    def run(self) -> None:
        """All stops."""
        self.translate()
        test = self.prepare_data()
        small = self.from_scratch(test)
        best = self.head_start(test) or small
        self.draw(best, SENTENCES["zh-en"][0] if best is not small else test[0].source)
        self.go_on(best)

    def translate(self) -> None:
        """Both ways, with the shipped models."""
        self.heading("1. Translating with the shipped models")
        if not self.shipped:
            self.say("  No shipped model is installed here; this stop is left out.")
        for name, folder in self.shipped.items():
            for source, target in zip(SENTENCES[name], load(folder).translate(SENTENCES[name]), strict=True):
                self.say(f"  {source}  →  {target}")

    def prepare_data(self) -> list[Pair]:
        """Graded sentences in three files that share none; the test's are given back."""
        self.heading("2. Training a small translator from scratch")
        parts = split(read_hsk())
        for name, sentences in parts._asdict().items():
            write_tsv(self.folder / f"{name}.tsv", sentences)
        self.say(
            f"  {len(parts.train):,} graded sentences to learn from, {len(parts.dev)} to choose on, "
            f"{len(parts.test)} that it never sees.\n"
            "  (From the PyPI package hsk-sentences-audio 1.0.0, CC-BY-SA 4.0.)"
        )
        return [Pair(sentence.chinese, sentence.english) for sentence in parts.test]

    def from_scratch(self, test: list[Pair]) -> Path:
        """From random weights to a translator of sorts."""
        work, start = trial.begun(self.recipe("demo"), None)
        trial.write_untrained(work, start, self.folder / "untrained")
        shown = [pair.source for pair in test[:SHOWN]]
        before = load(self.folder / "untrained").translate(shown, GREEDY, max_length=8)
        self.say(f"\n  Before it has learned anything, it writes for {shown[0]}\n  {before[0]}\n")
        self.fit("demo", work, start, self.seconds, self.folder / "small")

        self.heading("3. What it has learned")
        after = self.judge("small, from scratch", load(self.folder / "small"), test)
        for pair, first, last in zip(test, before, after[:SHOWN], strict=False):
            self.compare(pair, {"before": first, "after": last})
        self.say(
            "\n  A few thousand sentences and minutes teach how English sounds and the commonest words, not a language."
        )
        return self.folder / "small"

    def head_start(self, test: list[Pair]) -> Path | None:
        """The same sentences, for a model that has learned from many more before."""
        if "zh-en" not in self.shipped:
            return None
        self.heading("4. What a head start is worth: fine-tuning the shipped model")
        before = self.judge("shipped zh-en", load("zh-en"), test)
        self.say()
        work, start = trial.begun(self.recipe("fine-tune"), self.shipped["zh-en"])
        self.fit("fine-tune", work, start, self.seconds * 0.25, self.folder / "fine-tuned", self.shipped["zh-en"])
        self.say()
        after = self.judge("fine-tuned", load(self.folder / "fine-tuned"), test)
        for pair, first, last in zip(test, before, after[:SHOWN], strict=False):
            self.compare(pair, {"shipped": first, "tuned": last})
        self.say(
            "\n  What the head start is worth is the distance to the small one above. In fairness: the shipped\n"
            "  model has met these sentences among the many it learned from, so that tuning can add little;\n"
            "  your sentences will be new to it."
        )
        return self.folder / "fine-tuned"

    def draw(self, model: Path, source: str) -> None:
        """Where the last layer of the decoder looks in the source."""
        self.heading("5. What its attention looks at")
        looks = look(load(model), source)
        self.say(f"  {source}  →  {looks.translation}")
        path, font = self.folder / "attention.png", font_for("".join(looks.read + looks.written))
        draw_attention(
            path, looks.weights, looks.written, looks.read, "Cross-attention, last layer of the decoder", font
        )
        for line in table(looks):
            self.say(f"    {line}")
        self.say(f"  The same for each head, as a picture: {path}")
        if font is None and has_han(looks.read):
            places = "  ".join(f"{number} {word}" for number, word in enumerate(looks.read, start=1))
            self.say(f"  No font here has Chinese, so in it the source's words have numbers: {places}")

    def go_on(self, model: Path) -> None:
        """What to try next."""
        self.heading("To go on")
        call, data = f"  {program()}", quoted(self.folder / "train.tsv")
        self.say(
            f"{call} translate --model {quoted(model)} 你今天好吗？\n"
            f"{call} train demo --data {data} --set model.position=rope --out runs/rope\n"
            f"{call} train fine-tune --from zh-en --data your-pairs.tsv --out runs/yours\n"
            f"{call} --help"
        )

    # What the stops need

    def say(self, text: str = "", style: str | None = None) -> None:
        self.out.print(text, style=style, markup=False)
        sys.stdout.flush()

    def heading(self, text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
        self.say(f"\n{text}  [{minutes}:{seconds:02}]", "bold")

    def recipe(self, preset: str) -> RunConfig:
        """A preset, on the tour's sentences."""
        files = [f'data.{part} = [{{path = "{(self.folder / part).absolute()}.tsv"}}]' for part in ("train", "dev")]
        run = read_run(find_recipe(preset), files)
        if not isinstance(run, RunConfig):
            raise ValueError(f"the recipe {preset} trains no translator")
        return run

    def fit(self, preset: str, work: Work, start: Start, seconds: float, out: Path, model: Path | None = None) -> None:
        """Train as long as that."""
        config = trial.fitted(work, start, seconds)
        self.say(f"  {config.training.steps:,} steps fit into {seconds:.0f} seconds on this machine as it is now.")
        with reporter() as told:
            train(config, out, told, start_from=model)

    def compare(self, pair: Pair, translations: dict[str, str]) -> None:
        """A sentence, its reference, and what was written for it."""
        self.say(f"\n  {pair.source}  (“{pair.target}”)")
        for name, translation in translations.items():
            self.say(f"    {name:<8}{translation}")

    def judge(self, name: str, translator: Translator, test: list[Pair]) -> list[str]:
        """Say how good a translator is on the test sentences, and return what it writes for them."""
        result = evaluate(translator, test, GREEDY)
        self.say(
            f"  {name:<22}BLEU {result.bleu:5.1f}   chrF {result.chrf:5.1f}   on the {len(test)} test sentences, greedy"
        )
        return result.translations


def table(looks: Looks) -> list[str]:
    """For each word written the two words of the source that it looked at most, the heads' mean."""
    lines = []
    for word, weights in zip(looks.written, looks.weights.mean(dim=0), strict=True):
        most = weights.argsort(descending=True)[:2].tolist()
        lines.append(f"{word:<14} looks at " + ", ".join(f"{looks.read[i]} {weights[i]:.2f}" for i in most))
    return lines
