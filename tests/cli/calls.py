"""The command line as a user calls it, and what it is called with: sentences of our own, and a tiny recipe."""

import itertools
import signal
import subprocess
import sys
from typing import NamedTuple

PEOPLE = {"我": "I", "你": "you", "我们": "we", "你们": "you all", "他们": "they"}
VERBS = {"喜欢": "like", "看见": "see"}
THINGS = {"猫": "cats", "狗": "dogs", "鱼": "fish", "鸟": "birds"}
PAIRS = [
    (f"{who_en} {does_en} {what_en}.", f"{who}{does}{what}。")
    for (who, who_en), (does, does_en), (what, what_en) in itertools.product(
        PEOPLE.items(), VERBS.items(), THINGS.items()
    )
]

RECIPE = """
description = "As small as can be, for tests."

[model]
d_model = 32
n_heads = 2
d_ff = 64
encoder_layers = 1
decoder_layers = 1

[tokenizer]
kind = "characters"
vocab_size = 100

[data]
batch_tokens = 256

[training]
steps = 40
learning_rate = 5e-3
warmup = 5
average = 2
save_every = 10
validate_every = 20
threads = 1
"""


class Result(NamedTuple):
    """What a command left."""

    code: int
    out: str
    err: str


def start(*arguments, **options):
    """Begin a command in a process of its own."""
    command = [sys.executable, "-m", "prosector.cli.main", *map(str, arguments)]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    # A shell's background jobs ignore Ctrl-C, and so would what they start: the command begins as on a terminal.
    return subprocess.Popen(command, text=True, preexec_fn=listen_to_ctrl_c, **(pipes | options))


def listen_to_ctrl_c():
    """Give SIGINT its default meaning."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
