"""Whole folders of theirs, with tokenizers that were learned from a few sentences here."""

import io
import json
import warnings

import sentencepiece
import torch
from tests.interop.hugging_face import theirs
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

TEXTS = ["The cat sat on the mat.", "我喜欢深度学习。", "A dog and a cat read a book.", "I like deep learning, do you?"]


def byte_level(specials, add_begin=None):
    """A tokenizer of pieces of bytes, as GPT-2's; with a begin before each text, as Llama 3's, if one is named."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    if add_begin is not None:
        pair = (add_begin, tokenizer.token_to_id(add_begin))
        tokenizer.post_processor = processors.TemplateProcessing(single=f"{add_begin} $A", special_tokens=[pair])
    return tokenizer


def word_pieces():
    """A tokenizer of pieces of words, as BERT's."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(
        TEXTS, trainers.WordPieceTrainer(vocab_size=80, special_tokens=specials, show_progress=False)
    )
    pairs = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=pairs)
    return tokenizer


def gpt2(folder):
    """A GPT-2: one id is begin and end; the embedding has seven spare rows."""
    fast = PreTrainedTokenizerFast(tokenizer_object=byte_level(["<|endoftext|>"]), eos_token="<|endoftext|>")
    fast.save_pretrained(folder)
    sizes = theirs.GPT2 | {"vocab_size": len(fast) + 7, "bos_token_id": 0, "eos_token_id": 0}
    return theirs.saved(lambda: theirs.GPT2LMHeadModel(theirs.GPT2Config(**sizes)), folder), fast


def llama(folder):
    """A Llama: its tokenizer puts a begin before each text, and an instruction's end is a second end."""
    specials = ["<|begin|>", "<|end|>", "<|turn|>"]
    fast = PreTrainedTokenizerFast(
        tokenizer_object=byte_level(specials, "<|begin|>"), bos_token="<|begin|>", eos_token="<|end|>"
    )
    fast.save_pretrained(folder)
    sizes = theirs.SIZES | {"vocab_size": len(fast), "bos_token_id": 0, "eos_token_id": [1, 2]}
    return theirs.saved(lambda: theirs.LlamaForCausalLM(theirs.LlamaConfig(**sizes)), folder), fast


def bert(folder, cls=None, **options):
    """A BERT that fills gaps, or another."""
    names = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
    fast = PreTrainedTokenizerFast(tokenizer_object=word_pieces(), pad_token="[PAD]", **names)
    fast.save_pretrained(folder)
    sizes = theirs.BERT | {"vocab_size": len(fast), "pad_token_id": 0} | options
    make = cls or theirs.BertForMaskedLM
    return theirs.saved(lambda: make(theirs.BertConfig(**sizes)), folder), fast


def marian(folder, separate=False):
    """A Marian with its SentencePiece pair, one table for both or one each, and their tokenizer."""
    from transformers.models.marian import MarianTokenizer

    folder.mkdir(exist_ok=True)
    tables = [{"</s>": 0, "<unk>": 1, "<pad>": 2}] * 2
    if separate:
        tables = [dict(table) for table in tables]
    for role, texts, table in zip(("source", "target"), (TEXTS, TEXTS[::-1]), tables, strict=True):
        written = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts * 2),
            model_writer=written,
            vocab_size=75 if role == "source" else 70,
            hard_vocab_limit=False,
            minloglevel=2,
        )
        (folder / f"{role}.spm").write_bytes(written.getvalue())
        processor = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
        for number in range(3, processor.vocab_size()):
            table.setdefault(processor.id_to_piece(number), len(table))
    for name, table in zip(("vocab.json", "target_vocab.json")[: 1 + separate], tables, strict=False):
        (folder / name).write_text(json.dumps(table), "utf-8")
    said = {"source_lang": "zh", "target_lang": "en", "separate_vocabs": separate}
    (folder / "tokenizer_config.json").write_text(json.dumps(said), "utf-8")
    sizes = theirs.MARIAN | {"vocab_size": len(tables[0]), "pad_token_id": 2, "decoder_start_token_id": 2}
    sizes |= {"eos_token_id": 0}
    if separate:
        sizes |= {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": len(tables[1])}
    model = theirs.saved(lambda: theirs.MarianMTModel(theirs.MarianConfig(**sizes)), folder)
    with warnings.catch_warnings():  # of a library that normalises signs, which is not used here
        warnings.simplefilter("ignore")
        return model, MarianTokenizer.from_pretrained(folder)


def vit(folder):
    """A ViT with named classes, and how pictures are normalised."""
    names = ["cat", "dog", "fish", "bird", "horse"]
    model = theirs.saved(theirs.VIT["usual"], folder)
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    settings["id2label"] = dict(enumerate(names))
    (folder / "config.json").write_text(json.dumps(settings), "utf-8")
    values = {"image_mean": [0.4] * 3, "image_std": [0.25] * 3, "size": {"height": 16, "width": 16}}
    (folder / "preprocessor_config.json").write_text(json.dumps(values), "utf-8")
    return model, names


def best(scores):
    """The place of the largest."""
    return int(torch.as_tensor(scores).argmax())
