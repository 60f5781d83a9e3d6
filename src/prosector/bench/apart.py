"""A contender in a process of its own, as whoever trains has it: nobody else's memory lies among its own.

    python -m prosector.bench.apart < order        one line of JSON: how fast it was

A process is made for one turn: it warms up, is timed, and ends. All at once would not fit into memory, and whoever
waits for long may find its memory taken back when its turn comes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from prosector.bench.rounds import Work, turn
from prosector.bench.trainers import CONTENDERS, LEARNING_RATE, sentences, stepping, untrained
from prosector.config.training import TrainingConfig
from prosector.config.transformer import TransformerConfig
from prosector.training.optimizer import build_optimizer
from prosector.training.precision import Precision

WARM_UP = 3  # steps at least: in the first ones memory is fetched from the system


class Order(NamedTuple):
    """What a process shall do.

    Attributes:
        who: of CONTENDERS.
        precision: of the products.
        config: of the model, as JSON.
        pairs: of a step.
        threads: for its operations.
        seconds: how long it is timed at least, and warms up before.
    """

    who: str
    precision: Precision
    config: str
    pairs: int
    threads: int
    seconds: float


class Turn(NamedTuple):
    """How it went: units a second, the loss before the first step, and whose weights it began with."""

    rate: float
    loss: float
    weights: str


def warmed(work: Work, seconds: float) -> float:
    """Units a second, after as long a warm-up."""
    for _ in range(WARM_UP):
        work()
    turn(work, seconds)
    return turn(work, seconds)


def done(order: Order) -> Turn:
    """An order, in this process."""
    torch.set_num_threads(order.threads)
    config = TransformerConfig.model_validate_json(order.config)
    given = sentences(order.pairs, config.target_vocab)
    one = CONTENDERS[order.who](config, given)
    loss = untrained(one, order.precision)
    optimizer = build_optimizer(one.model, TrainingConfig(learning_rate=LEARNING_RATE))
    return Turn(warmed(stepping(one, optimizer, order.precision, given.n_tokens), order.seconds), loss, one.weights)


def ask(order: Order, environment: Mapping[str, str]) -> Turn:
    """An order, in a process of its own.

    Args:
        order: what it shall do.
        environment: what is set for it besides what is set here.

    Raises:
        RuntimeError: the process failed; its last words are told.
    """
    command = [sys.executable, "-P", "-m", "prosector.bench.apart"]
    told = subprocess.run(
        command,
        input=json.dumps(order),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    if told.returncode:
        last = (told.stderr.strip().splitlines() or [f"without a word ({told.returncode})"])[-1]
        raise RuntimeError(f"{order.who}, {order.precision}: its process ended: {last}")
    return Turn(*json.loads(told.stdout.splitlines()[-1]))


def main() -> None:
    fields: list[Any] = json.load(sys.stdin)
    print(json.dumps(done(Order(*fields))))


if __name__ == "__main__":
    main()
