"""What the tests of attention share."""

import pytest
from torch.nn.attention import flex_attention


@pytest.fixture(autouse=True, scope="module")
def _flex_untraced():
    """FlexAttention without the second that it takes to trace new shapes; the arithmetic is the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
        yield
