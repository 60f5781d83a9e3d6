"""Record any intermediate value of a run, and change it."""

from prosector.observe.observing import Seen, observe

__all__ = ["Seen", "observe"]
