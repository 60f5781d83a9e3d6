"""How a Transformer learns of order; one file an encoding, best read in this order.

| file            | where it acts | in a sentence |
|-----------------|---------------|---------------|
| `base.py`       | nowhere       | the three places where an encoding may act; by itself, no positions at all |
| `binary.py`     | embedding     | 001, 010, 011: every position has a code, but nothing tells near from far |
| `onehot.py`     | embedding     | a feature a position: nothing is confused, and few positions fit |
| `sinusoidal.py` | embedding     | hands of many clocks: a step is a turn |
| `learned.py`    | embedding     | a table of vectors, as long as training was |
| `rope.py`       | query and key | the clocks turn queries and keys themselves: a score knows the distance only |
| `yarn.py`       | query and key | RoPE stretched to texts longer than training's |
| `alibi.py`      | scores        | a score loses in proportion to the distance |
| `t5.py`         | scores        | a learned number for each bucket of distances |
| `grid.py`       | embedding     | a vector for each place of a picture, interpolated for other sizes |
| `custom.py`     | any           | a class of the user's own |

`pairs.py`, `relative.py` and `bounds.py` hold what several of them share.
"""

from prosector.positions.alibi import AlibiPosition, alibi_bias, alibi_slopes
from prosector.positions.base import Position
from prosector.positions.binary import BinaryPosition, binary_code
from prosector.positions.custom import load_parts
from prosector.positions.grid import GridPosition, places_of
from prosector.positions.learned import LearnedPosition
from prosector.positions.onehot import OneHotPosition, one_hot
from prosector.positions.pairs import Layout
from prosector.positions.rope import RotaryPosition, reorder_rows, rotate_half_split, rotate_interleaved
from prosector.positions.sinusoidal import SinusoidalPosition, angles, inverse_frequencies, sinusoid
from prosector.positions.t5 import T5Position, t5_bucket
from prosector.positions.yarn import YarnPosition, yarn_attention_factor, yarn_inverse_frequencies

__all__ = [
    "AlibiPosition",
    "BinaryPosition",
    "GridPosition",
    "Layout",
    "LearnedPosition",
    "OneHotPosition",
    "Position",
    "RotaryPosition",
    "SinusoidalPosition",
    "T5Position",
    "YarnPosition",
    "alibi_bias",
    "alibi_slopes",
    "angles",
    "binary_code",
    "inverse_frequencies",
    "load_parts",
    "one_hot",
    "places_of",
    "reorder_rows",
    "rotate_half_split",
    "rotate_interleaved",
    "sinusoid",
    "t5_bucket",
    "yarn_attention_factor",
    "yarn_inverse_frequencies",
]
