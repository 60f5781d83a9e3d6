"""Watch a run: record any value that passes a tap, or put another in its place.

    with observe(model) as seen:
        model(src, tgt)
    seen["encoder.2.attention.weights"]          # [B, H, Lq, Lk]

    with observe(model, keep=()) as seen:
        seen.edit("decoder.*.cross.weights", lambda weights: weights.roll(1, dims=1))
        model(src, tgt)

An address is the module's path and the value's name. Recording changes no bit of the result: what a
fused kernel never forms is computed again beside it, and `<attention>.recomputed` holds
the largest difference between the two. Only an edit of scores or weights switches to the
written-out kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase

from torch import Tensor, nn

from prosector.tap import observer

Edit = Callable[[Tensor], Tensor]


class Seen:
    """What was seen of one model's runs, by address; in decoding, step after step."""

    def __init__(self, model: nn.Module, keep: Sequence[str], limit: int) -> None:
        self.model = model
        self.keep = tuple(keep)
        self.limit = limit
        self.bytes = 0
        self._paths = {id(module): path for path, module in model.named_modules()}
        self._values: dict[str, list[Tensor]] = {}
        self._edits: list[tuple[str, Edit]] = []
        self._met: set[str] = set()

    def edit(self, pattern: str, change: Edit) -> None:
        """Let `change` stand in for every value whose address fits the pattern (`*` is anything)."""
        self._edits.append((pattern, change))

    def __getitem__(self, address: str) -> Tensor:
        """The value last seen at an address.

        Raises:
            KeyError: nothing was seen there; the nearest addresses are named.
        """
        return self.steps(address)[-1]

    def steps(self, address: str) -> list[Tensor]:
        """All values seen at an address, in order.

        Raises:
            KeyError: nothing was seen there; addresses with the same ending are named.
        """
        if address not in self._values:
            ending = address.rsplit(".", 1)[-1]
            alike = [known for known in self._values if known.rsplit(".", 1)[-1] == ending] or list(self._values)
            raise KeyError(f"nothing was seen at {address!r}; seen were {', '.join(alike[:6]) or 'no values at all'}")
        return self._values[address]

    def __contains__(self, address: str) -> bool:
        return address in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    # What taps ask of an observer

    def address(self, module: nn.Module, name: str) -> str | None:
        """A tap's address, if its module is the observed model's."""
        path = self._paths.get(id(module))
        return None if path is None else ".".join(filter(None, (path, name)))

    def wants(self, module: nn.Module, name: str) -> bool:
        """Whether a value is to be recorded or edited."""
        address = self.address(module, name)
        return address is not None and (self._kept(address) or self.edits(module, name))

    def edits(self, module: nn.Module, name: str) -> bool:
        """Whether a value is to be edited."""
        address = self.address(module, name)
        return address is not None and any(fnmatchcase(address, pattern) for pattern, _ in self._edits)

    def visit(self, module: nn.Module, name: str, value: Tensor) -> Tensor:
        """Edit a value, record it, and hand it on.

        Raises:
            ValueError: an edit changed the shape.
            MemoryError: the recorded values grew beyond the limit.
        """
        address = self.address(module, name)
        if address is None:
            return value
        for pattern, change in self._edits:
            if fnmatchcase(address, pattern):
                self._met.add(pattern)
                changed = change(value.clone())  # an edit in place must not reach what was recorded before
                if changed.shape != value.shape:
                    raise ValueError(f"the edit of {address} returned {list(changed.shape)} for {list(value.shape)}")
                value = changed
        if self._kept(address):
            self.bytes += value.numel() * value.element_size()
            if self.bytes > self.limit:
                raise MemoryError(
                    f"over {self.limit / 2**20:,.0f} MiB were recorded; keep fewer addresses, or raise observe's limit"
                )
            self._values.setdefault(address, []).append(value.detach())
        return value

    def require_met(self) -> None:
        """Every edit has met a value.

        Raises:
            KeyError: one has not, so that what came out is not what was asked for.
        """
        missed = [pattern for pattern, _ in self._edits if pattern not in self._met]
        if missed:
            raise KeyError(
                f"nothing passed at {missed[0]!r}, so it edited nothing; `for address in seen` lists addresses"
            )

    def _kept(self, address: str) -> bool:
        return any(fnmatchcase(address, pattern) for pattern in self.keep)


@contextmanager
def observe(model: nn.Module, keep: Sequence[str] = ("*",), limit: int = 2**30) -> Iterator[Seen]:
    """Observe a model's runs in this thread, for the length of the block.

    Args:
        keep: patterns of the addresses to record; all by default, `()` for none.
        limit: how many bytes may be recorded.

    Raises:
        KeyError: at the end of the block, if an edit met no value.
    """
    seen = Seen(model, keep, limit)
    token = observer.set(seen)
    try:
        yield seen
    finally:
        observer.reset(token)
    seen.require_met()
