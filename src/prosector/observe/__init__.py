"""Record any intermediate value of a run, and change it; ask what can be read off it."""

from prosector.observe.gradients import gradient_times_input
from prosector.observe.observing import Seen, observe
from prosector.observe.probe import linear_probe

__all__ = ["Seen", "gradient_times_input", "linear_probe", "observe"]
