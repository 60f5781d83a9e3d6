"""Translators of a few thousand numbers in folders, and texts that their vocabularies spell."""

import random

from tests.helpers import TINY, tiny

from prosector.config.folder import TranslatorFolder
from prosector.decoding.folder import write_model
from prosector.text.characters import CharacterTokenizer

READS, WRITES = "我你他喜欢看见猫狗鱼鸟的书了吗是", "abcdefghijklmno"
SENTENCES = {
    "zh-en": [
        "我喜欢深度学习。",
        "今天的天气怎么样？",
        "她昨天买了两本书。",
        "请把门关上。",
        "哈哈哈哈，你真有意思！",
        "我们明天早上八点出发。",
        "这条河很长，水也很清。",
        "他不知道该说什么。",
        "你能帮我一个忙吗？",
        "图书馆在学校的后面。",
        "孩子们在公园里放风筝。",
        "虽然下雨了，但是我们还是去了。",
    ],
    "en-zh": [
        "I like deep learning.",
        "What is the weather like today?",
        "She bought two books yesterday.",
        "Please close the door.",
        "Ha ha ha ha, you are funny!",
        "We leave at eight tomorrow morning.",
        "This river is long, and its water is clear.",
        "He did not know what to say.",
        "Can you do me a favour?",
        "The library is behind the school.",
        "The children are flying kites in the park.",
        "It rained, but we went there all the same.",
    ],
}


def written(folder, **changes):
    """The folder of a random translator, and its parts."""
    model = tiny(**changes).float()
    source = CharacterTokenizer(READS + "猪羊牛马"[: TINY["source_vocab"] - 4 - len(READS)])
    target = CharacterTokenizer(WRITES)
    if model.config.tie == "all":
        source = target
    config = TranslatorFolder(source="zh", target="en", max_tokens=12, model=model.config)
    write_model(folder, config, model, (source, target), "Random.\n")
    return model, source, target


def texts(tokenizer, lengths=(1, 5, 12, 3, 7, 7, 2)):
    """A random text of each length."""
    chance = random.Random(1)
    letters = [tokenizer.piece(id) for id in range(4, tokenizer.vocab_size)]
    return ["".join(chance.choices(letters, k=length)) for length in lengths]
