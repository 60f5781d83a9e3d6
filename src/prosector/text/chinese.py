"""What Chinese text needs before it is tokenised: its script told, its sentences found, one way to write it."""

import re
from functools import cache
from typing import Any, Literal

# Inside a [...]: the ideographs of Unicode, their extensions and compatibility forms, and 々〇.
HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"

_HAN_CHARACTER = re.compile(f"[{HAN}]")
_OTHER_WORD = re.compile(rf"[^\W\d_{HAN}]+")
_CHINESE_SIGN = re.compile("[，。！？；：、（）「」『』《》]")


def script_of(text: str) -> Literal["zh", "en"]:
    """`zh` where at least a third of the words are Chinese, `en` otherwise.

    A Chinese word has about one and a half characters. So "我用 Python 写程序" is Chinese, and
    "The word 你好 means hello" is not. Without any words, Chinese punctuation decides.
    """
    chinese = len(_HAN_CHARACTER.findall(text)) / 1.5
    other = len(_OTHER_WORD.findall(text))
    if chinese + other == 0:
        return "zh" if _CHINESE_SIGN.search(text) else "en"
    return "zh" if chinese / (chinese + other) >= 1 / 3 else "en"


def simplify(text: str) -> str:
    """Traditional Chinese in simplified characters, by OpenCC: 深度學習 becomes 深度学习.

    Words, not only characters, decide (乾燥 becomes 干燥, 乾隆 stays); punctuation stays as it is.

    Raises:
        ImportError: OpenCC is not installed.
    """
    return _opencc().convert(text)


@cache
def _opencc() -> Any:
    try:
        import opencc
    except ImportError as error:
        raise ImportError("simplifying Chinese needs OpenCC: pip install 'prosector[formats]'") from error
    return opencc.OpenCC("t2s")
