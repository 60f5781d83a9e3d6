"""Watch a run: record any value that passes a tap, or put another in its place.

    with observe(model) as seen:
        model(src, tgt)
    seen["encoder.2.attention.weights"]          # [B, H, Lq, Lk]

    with observe(model, keep=()) as seen:
        seen.remove_head("decoder.1.cross", 0)
        model(src, tgt)

An address is the module's path and the value's name. Recording changes no bit of the result: what a
fused kernel never forms is computed again beside it, and `<attention>.recomputed` holds
the largest difference between the two. Only an edit of scores or weights switches to the
written-out kernel. What can be changed by name is in `edits.py`.

Memory is bounded: what is recorded holds `seen.bytes`, and never more than the limit. A run that would need
more ends with an error that says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase

from torch import Tensor, nn

from prosector.attention import Mask
from prosector.observe.edits import Edits
from prosector.tap import observer


class Seen(Edits):
    """What was seen of one model's runs, by address; in decoding, step after step.

    Attributes:
        bytes: memory that the recorded values hold; a tensor recorded twice, or a part of it, counts once and whole.
        limit: the most that they may hold.
    """

    def __init__(self, model: nn.Module, keep: Sequence[str], limit: int) -> None:
        super().__init__()
        self.model = model
        self.keep = tuple(keep)
        self.limit = limit
        self.bytes = 0
        self._paths = {id(module): path for path, module in model.named_modules()}
        self._values: dict[str, list[Tensor]] = {}
        self._held: set[int] = set()

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
        return address is not None and (self._kept(address) or self.is_edited(address))

    def edits(self, module: nn.Module, name: str) -> bool:
        """Whether a value is to be edited."""
        address = self.address(module, name)
        return address is not None and self.is_edited(address)

    def mask(self, module: nn.Module, mask: Mask | None) -> Mask | None:
        """The mask of an attention, or that which was put in its place."""
        address = self.address(module, "")
        return mask if address is None else self.mask_of(address, mask)

    def visit(self, module: nn.Module, name: str, value: Tensor) -> Tensor:
        """Edit a value, record it, and hand it on.

        Raises:
            ValueError: an edit changed the shape.
            MemoryError: the recorded values would grow beyond the limit.
        """
        address = self.address(module, name)
        if address is None:
            return value
        value = self.edited(address, value)
        if self._kept(address):
            self._record(address, value.detach())
        return value

    def _record(self, address: str, value: Tensor) -> None:
        storage = value.untyped_storage()
        if storage.data_ptr() not in self._held:
            if self.bytes + storage.nbytes() > self.limit:
                raise MemoryError(
                    f"{address} is more than the {self.limit / 2**20:,.1f} MiB that may be recorded, of which "
                    f"{self.bytes / 2**20:,.1f} are taken; keep fewer addresses, or raise observe's limit"
                )
            self._held.add(storage.data_ptr())
            self.bytes += storage.nbytes()
        self._values.setdefault(address, []).append(value)

    def _kept(self, address: str) -> bool:
        return any(fnmatchcase(address, pattern) for pattern in self.keep)


@contextmanager
def observe(model: nn.Module, keep: Sequence[str] = ("*",), limit: int = 2**30) -> Iterator[Seen]:
    """Observe a model's runs in this thread, for the length of the block.

    Args:
        keep: patterns of the addresses to record; all by default, `()` for none.
        limit: how many bytes of memory the recorded values may hold.

    Of two blocks inside each other the inner one observes.

    Raises:
        MemoryError: in the run, if the limit is reached; what was seen until then stays.
        KeyError: at the end of the block, if an edit met no value.
    """
    seen = Seen(model, keep, limit)
    token = observer.set(seen)
    try:
        yield seen
    finally:
        observer.reset(token)
    seen.require_met()
