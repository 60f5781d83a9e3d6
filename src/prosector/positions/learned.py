"""Positions as a table of vectors, learned like the words' own: what BERT and GPT-2 do.

Nothing about order is built in, so the model finds what suits the data; and nothing is
known of a position that training never reached, so the table's end is a hard one.
"""

from jaxtyping import Float, Int
from torch import Tensor, nn

from prosector.positions.base import Position
from prosector.positions.bounds import require_within


class LearnedPosition(Position):
    """Adds to each embedding the row of a learned table: x + table[position].

    Args:
        d_model: features of an embedding.
        max_length: rows of the table; positions 0 … max_length − 1 exist.

    Raises:
        ValueError: max_length is less than 1.

    Source: Gehring et al. 2017, "Convolutional Sequence to Sequence Learning", section 3.1; rows drawn
    from a normal distribution with deviation 0.02, as in BERT and GPT-2.
    """

    def __init__(self, d_model: int, max_length: int = 512) -> None:
        super().__init__()
        if max_length < 1:
            raise ValueError(f"max_length is {max_length}; a table of positions needs at least one row")
        self.max_length = max_length
        self.table = nn.Embedding(max_length, d_model)  # weight [max_length, d_model]
        nn.init.normal_(self.table.weight, std=0.02)

    def embed(self, x: Float[Tensor, "B L d"], positions: Int[Tensor, "*B L"]) -> Float[Tensor, "B L d"]:
        """x + table[positions].

        Raises:
            ValueError: a position is not in the table.
        """
        require_within(
            positions,
            self.max_length,
            f"the learned table has max_length = {self.max_length} rows; "
            f"shorten the text, or train with a larger max_length",
        )
        return x + self.table(positions).to(x.dtype)
