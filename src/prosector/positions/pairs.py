"""Where the two members of a pair of features lie: next to each other, or half a vector apart.

Sinusoids fill features in pairs (a sine and a cosine of the same angle), and RoPE turns
features in pairs. Which features form a pair is a matter of layout, and code bases differ:

    interleaved   (0, 1) (2, 3) …           the papers; GPT-J
    half-split    (0, d/2) (1, d/2 + 1) …   Marian, GPT-NeoX, Llama as Hugging Face keeps it

Both are the same encoding with its features in another order, so weights learned with one
are wrong under the other until their rows are put in order (`rope.reorder_rows`).
"""

from typing import Literal, TypeVar, get_args

Layout = Literal["interleaved", "half-split"]

Choice = TypeVar("Choice")


def for_layout(layout: Layout, *, interleaved: Choice, half_split: Choice) -> Choice:
    """The one of two that fits the layout, chosen once so that no forward pass has to ask.

    Raises:
        ValueError: there is no such layout.
    """
    choices = {"interleaved": interleaved, "half-split": half_split}
    if layout not in choices:
        raise ValueError(f"unknown layout {layout!r}; it is one of {', '.join(get_args(Layout))}")
    return choices[layout]
