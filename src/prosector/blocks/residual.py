"""Where the norm stands around a sublayer: after the sum (2017) or before the sublayer.

post-norm   norm(x + dropout(sublayer(x)))      Vaswani et al. 2017; wants a long warm-up
pre-norm    x + dropout(sublayer(norm(x)))      Xiong et al. 2020; a clear path for the gradient
"""

from collections.abc import Callable

from jaxtyping import Bool, Float
from torch import Tensor, nn

from prosector.attention.dropout import Dropout

Sublayer = Callable[[Tensor], Tensor]
Real = Bool[Tensor, "B L"] | None


class PostNorm(nn.Module):
    """norm(x + dropout(sublayer(x)))"""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "B L d"], sublayer: Sublayer, norm: nn.Module, real: Real) -> Tensor:
        return norm(self.dropout.onto(x, sublayer(x)), real)


class PreNorm(nn.Module):
    """x + dropout(sublayer(norm(x)))"""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)

    def forward(self, x: Float[Tensor, "B L d"], sublayer: Sublayer, norm: nn.Module, real: Real) -> Tensor:
        return self.dropout.onto(x, sublayer(norm(x, real)))
