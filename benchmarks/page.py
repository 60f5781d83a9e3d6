"""The page of `prosector explain` in a browser: from a sentence to the screen, and from an input to the next frame.

    .venv/bin/python benchmarks/page.py [--rounds 40] [--first 10] [--browser /usr/bin/chromium]

The aims: a sentence of 12 tokens is on the screen within a second after the model is loaded; each kind of interaction
shows its effect within 100 ms, at the median and at the 95th percentile; and a sentence of 128 tokens, with all heads,
is still usable: the same, measured. Inputs are the browser's own events (a mouse that moves, a button that is clicked),
and time runs from the event's own stamp until the first frame is painted in which what was asked for stands on the
page; answers of the server included, where it is asked. It takes some three minutes on two free cores.

Writes results/logs/page.json and results/page.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from shutil import which
from threading import Thread
from typing import Any

import torch
from playwright.sync_api import Browser, Page, sync_playwright

from prosector.bench.machine import described
from prosector.decoding import load
from prosector.explain.explainer import Explainer
from prosector.explain.options import RunOptions
from prosector.explain.server import PageServer

ROOT = Path(__file__).parents[1]
STORY = "我们昨天下午在公园里看到了一只很小的狗，它一直跟着我们走到了家门口。妹妹说她想养它，可是爸爸不同意。"
LONG = 128  # tokens, more than the model was trained on: what counts here is how much there is to show

# Runs in the page: from an event's own stamp to the frame in which something is true.
CLOCK = """(types) => {
  window.clock = { ready: () => true, found: null };
  const painted = (then) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = then;
    channel.port2.postMessage(0);
  };
  const look = (event) => {
    if (!window.clock.armed) return;
    window.clock.armed = false;
    const start = event.timeStamp;
    const frame = () => window.clock.ready()
      ? painted(() => { window.clock.found = performance.now() - start; })
      : requestAnimationFrame(frame);
    requestAnimationFrame(frame);
  };
  for (const type of types) addEventListener(type, look, { capture: true });
}"""


# The page's policy evaluates no text, so that this waits by itself.
FOUND = """() => new Promise((done) => {
  const look = () => (window.clock.found === null ? setTimeout(look, 5) : done(window.clock.found));
  look();
})"""


@dataclass(frozen=True)
class Kind:
    """A kind of interaction: where it happens, what is done in round n, and when its effect is there."""

    name: str
    at: str
    act: Callable[[Page, int], None]
    ready: str = "() => true"  # in the page; the next frame by default
    event: str = "click"
    most: int = 1000  # rounds; a run of the model takes its time
    only_short: bool = False


def nth(selector: str) -> Callable[[Page, int], None]:
    """Click each of some elements in turn."""
    return lambda page, n: page.locator(selector).nth(n % page.locator(selector).count()).click()


def cell(label: str, moves: bool = False) -> Callable[[Page, int], None]:
    """Click, or point at, another cell of a table each time."""

    def act(page: Page, n: int) -> None:
        grid = page.get_by_role("grid", name=label).first
        grid.scroll_into_view_if_needed()
        box = grid.bounding_box() or {"x": 0, "y": 0, "width": 1, "height": 1}
        x = box["x"] + box["width"] * (0.05 + 0.9 * ((n * 0.37) % 1))
        y = box["y"] + box["height"] * (0.05 + 0.9 * ((n * 0.61) % 1))
        page.mouse.move(x, y) if moves else page.mouse.click(x, y)

    return act


def what_if(page: Page, n: int) -> None:
    """Run once without positions, once with them."""
    page.locator(".switches input[type=checkbox]").nth(1).set_checked(n % 2 == 0, force=True)
    page.evaluate("clock.armed = true; clock.found = null")  # the box was an input too
    page.locator(".controls button.primary").click()


OPENED = (
    "() => { const cell = /cell=([^&]+)/.exec(location.hash)?.[1]; const [address] = (cell ?? '').split(',');"
    " return document.querySelector('.inspector .value')?.dataset.address === address"
    " && cell !== clock.before && (clock.before = cell, true); }"
)
RESULT = "a what-if, its result"
RUN = (
    "() => { const busy = document.querySelector('.controls button.primary').disabled; const was = clock.ran;"
    " clock.ran = was || busy; return was && !busy && (clock.ran = false, true); }"
)
KINDS = (
    Kind("another view", "#/machine", nth("nav a")),
    Kind("a part of the machine", "#/machine", nth(".box rect")),
    Kind("another head", "#/attention", nth(".small")),
    Kind("pointing at a cell", "#/attention?at=decoder.2.cross", cell("softmax", moves=True), event="mousemove"),
    Kind(
        "pointing at a token's lines",
        "#/attention?at=decoder.2.cross",
        lambda page, n: page.locator(".looks .end").nth(n % page.locator(".looks .end").count()).hover(force=True),
        event="mousemove",
    ),
    Kind("a cell's arithmetic, on the page", "#/attention?at=decoder.2.cross", cell("softmax"), OPENED),
    Kind("a cell's arithmetic, of the server", "#/machine?at=encoder.0.feed_forward", cell("encoder.0."), OPENED),
    Kind("a step of writing", "#/writing", nth(".steps button")),
    Kind("a node of the beam", "#/writing", nth(".leaf")),
    Kind("a what-if, asked", "#/whatif", what_if, most=6),
    Kind(RESULT, "#/whatif", what_if, RUN, most=6, only_short=True),
    Kind("a step of the tour", "#/machine?tour=1", nth(".tour-card footer button:not(.quiet):enabled >> nth=-1")),
    Kind("the other language", "#/attention", nth(".settings button >> nth=0")),
    Kind("the other theme", "#/attention", nth(".settings button >> nth=1")),
)


def timed(page: Page, kind: Kind, rounds: int) -> list[float]:
    """Milliseconds of each round, after two that do not count."""
    page.goto(page.url.split("#")[0] + kind.at)
    page.reload()
    page.wait_for_selector("#content h2")
    page.evaluate(CLOCK, [kind.event])
    page.evaluate(f"clock.ready = {kind.ready}")
    found = []
    for n in range(min(rounds, kind.most) + 2):
        if kind.at.endswith("tour=1") and n % 12 == 11:  # its end: begin again
            page.evaluate("location.hash = '#/machine?tour=1'")
            page.wait_for_timeout(200)
        page.evaluate("clock.armed = true; clock.found = null")
        kind.act(page, n)
        found.append(page.evaluate(FOUND))
    return found[2:]


def sentence_of(translator: Any, n_tokens: int) -> str:
    """A text of exactly so many tokens, <eos> counted."""
    text = STORY * (1 + n_tokens // 10)
    for length in range(1, len(text)):
        if len(translator.ids(text[:length])) == n_tokens:
            return text[:length]
    raise ValueError(f"no beginning has {n_tokens} tokens")


@contextmanager
def served(explainer: Explainer, text: str) -> Iterator[PageServer]:
    """The page of a text on this machine."""
    with PageServer(explainer, RunOptions(text=text)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def first_screen(browser: Browser, translator: Any, text: str) -> float:
    """Seconds from a loaded model to a drawn page: the search, every value recorded, the page served and painted."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    start = time.perf_counter()
    with served(Explainer("zh-en", translator), text) as server:
        page.goto(server.url)
        page.wait_for_selector("#content .box")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        seconds = time.perf_counter() - start
    page.close()
    return seconds


def measured(
    browser: Browser, translator: Any, text: str, first: int, rounds: int, kinds: tuple[Kind, ...] = KINDS
) -> dict[str, Any]:
    """A sentence: how soon it is there, and each kind of interaction."""
    screens = [first_screen(browser, translator, text) for _ in range(first)]
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-US")
    context.set_default_timeout(300_000)
    with served(Explainer("zh-en", translator), text) as server:
        page = context.new_page()
        page.goto(server.url)
        times = {}
        for kind in kinds:
            times[kind.name] = timed(page, kind, rounds)
            print(f"  {kind.name}: {spread(times[kind.name])[0]:.0f} ms", flush=True)
        size = len(json.dumps(server.first).encode())
    context.close()
    return {"text": text, "tokens": len(translator.ids(text)), "bytes": size, "screens": screens, "kinds": times}


def spread(times: list[float]) -> tuple[float, float]:
    """The median and the 95th percentile."""
    return statistics.median(times), statistics.quantiles(times, n=20, method="inclusive")[-1]


SAID = ("rounds", "aim_ms", "browser", "date", "commit")
HEAD = """# The page, in the browser

`.venv/bin/python benchmarks/page.py --rounds {rounds} --first {first}`; {processor}, {cores} cores; PyTorch {torch},
one thread; {browser}, without a screen; {date}; commit `{commit}`.

`prosector explain` with `zh-en`, a beam of 4, a window of 1440 × 900. Time runs from the browser's own stamp of the
input to the first frame in which its effect is painted, what the server is asked for included.

## From a sentence to the screen

The model is loaded; then: search, every value recorded, the page served, read and drawn. The first of all runs also
measures all encodings of positions, which is done once.

| tokens | first run, s | median of the others, s | slowest of them, s | document, MB |
|---|---|---|---|---|"""
MIDDLE = """
The aim is one second for 12 tokens. {long} are more than this model was trained on; they show how much the page bears.

## From an input to the next frame

{rounds} times each, in milliseconds: median · 95th percentile. The aim is {aim_ms} ms; what is above it is in bold.
A what-if is asked, and the page says that it runs; its result is a whole search by the model, which has no such aim.

| interaction | {short} tokens | {long} tokens, all heads |
|---|---|---|"""


def cell_of(times: list[float] | None, aim: float, has_aim: bool) -> str:
    """The median and the 95th percentile, in bold above the aim."""
    if times is None:
        return "–"
    middle, high = spread(times)
    return f"{middle:.0f} · " + (f"**{high:.0f}**" if has_aim and high >= aim else f"{high:.0f}")


def report(found: dict[str, Any]) -> str:
    """The page of results."""
    short, long = found["short"], found["long"]
    machine = found["machine"] | {"torch": found["machine"]["versions"]["torch"]}
    lines = [HEAD.format(first=len(short["screens"]), **machine, **{key: found[key] for key in SAID})]
    for each in (short, long):
        others = each["screens"][1:] or each["screens"]
        cells = (each["screens"][0], statistics.median(others), max(others), each["bytes"] / 1e6)
        lines.append(f"| {each['tokens']} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    lines.append(MIDDLE.format(short=short["tokens"], long=long["tokens"], **{key: found[key] for key in SAID}))
    for name in short["kinds"]:
        cells = [cell_of(each["kinds"].get(name), found["aim_ms"], name != RESULT) for each in (short, long)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=40, help="of each interaction")
    parser.add_argument("--first", type=int, default=10, help="times that the page is opened")
    parser.add_argument("--browser", default=which("chromium") or which("google-chrome"), help="its program")
    parser.add_argument("--out", type=Path, default=ROOT / "results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    translator = load("zh-en")
    translator.config = translator.config.model_copy(update={"max_tokens": LONG})
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = {"machine": described(), "rounds": options.rounds, "aim_ms": 100}
    found |= {"date": date.today().isoformat(), "commit": commit.stdout.strip()}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.browser, args=["--no-sandbox"])
        found["browser"] = f"Chromium {browser.version}"
        for name, n_tokens in (("short", 12), ("long", LONG)):
            print(f"{n_tokens} tokens", flush=True)
            text = sentence_of(translator, n_tokens)
            kinds = KINDS if name == "short" else tuple(kind for kind in KINDS if not kind.only_short)
            found[name] = measured(browser, translator, text, options.first, options.rounds, kinds)
        browser.close()
    (options.out / "logs").mkdir(parents=True, exist_ok=True)
    (options.out / "logs/page.json").write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", "utf-8")
    (options.out / "page.md").write_text(report(found), "utf-8")
    print(report(found))


if __name__ == "__main__":
    main()
