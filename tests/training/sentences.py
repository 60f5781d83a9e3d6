"""A toy language of our own: who does what to whom, in Chinese and in English."""

from itertools import product

from prosector.data.corpus import Pair

PEOPLE = {"我": "I", "他们": "they", "老师们": "the teachers", "孩子们": "the children"}
VERBS = {"喜欢": "like", "看见": "see", "认识": "know", "帮助": "help"}
THINGS = {"猫": "the cat", "狗": "the dog", "医生": "the doctor", "鸟": "the bird"}

PAIRS = [
    Pair(f"{who}{does}{whom}。", f"{PEOPLE[who]} {VERBS[does]} {THINGS[whom]}.")
    for who, does, whom in product(PEOPLE, VERBS, THINGS)
]
TRAIN = [pair for number, pair in enumerate(PAIRS) if number % 8]
DEV = [pair for number, pair in enumerate(PAIRS) if number % 8 == 0]


def write_table(path, pairs):
    """The pairs as a table of English and Chinese."""
    path.write_text("".join(f"{pair.target}\t{pair.source}\n" for pair in pairs), encoding="utf-8")
    return path
