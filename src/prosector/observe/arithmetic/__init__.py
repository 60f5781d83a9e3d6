"""Every number of a recorded run as the calculation that made it.

`explain.py` finds which one; `attention.py` and `layers.py` write it out, line by line (`lines.py`), from what was
recorded (`run.py`).
"""

from prosector.observe.arithmetic.explain import Explanation, explain_value

__all__ = ["Explanation", "explain_value"]
