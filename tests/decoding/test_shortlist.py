"""A shortlist: what is on it, and that the core finds what PyTorch does if all other words are forbidden."""

import pytest
import torch
from tests.decoding.rounded import SOURCES, V, made, rounded

from prosector.config.decoding import DecodingConfig
from prosector.config.special import SpecialIds
from prosector.decoding import native
from prosector.decoding.folder import write_model
from prosector.decoding.native import NativeTranslator
from prosector.decoding.native_weights import arrays_of
from prosector.decoding.search import search
from prosector.decoding.shortlist import NAME, Shortlist, read_shortlist, shortlist_from, write_shortlist
from prosector.decoding.translator import load
from prosector.text.characters import CharacterTokenizer
from prosector.text.words import WordTokenizer

core = native.core()
needs_core = pytest.mark.skipif(core is None, reason="no compiler has built the native core")


def test_a_word_s_list_has_its_translations_what_is_spelled_alike_and_what_always_counts():
    source = WordTokenizer(["the", "house", "book", "Rome"])
    target = WordTokenizer(["das", "Haus", "Buch", "Rome", "und"])
    pairs = [([4, 5], [4, 5]), ([4, 6], [4, 6])] * 4 + [([6], [6])] * 5
    found = shortlist_from(pairs, source, target, SpecialIds(), each=1, common=1)
    assert found.always == [3, 6]  # <eos>, and Buch, the commonest
    assert found.of([5]) == [3, 5, 6]  # house: Haus
    assert found.of([7]) == [3, 6, 7]  # Rome, which no pair has
    assert found.of([4, 5]) == [3, 4, 5, 6]


def random_shortlist(seed=0):
    """Ten random translations of each word, and a few that always count."""
    made = torch.Generator().manual_seed(seed)
    lists = [sorted(torch.randperm(V, generator=made)[:10].tolist()) for _ in range(V)]
    return Shortlist([10 * number for number in range(V + 1)], [id for some in lists for id in some], [3, 20])


@needs_core
@pytest.mark.parametrize("kernels", core.kernels() if core else [])
@pytest.mark.parametrize(
    "decoding", [DecodingConfig(beam=1, shortlist=True), DecodingConfig(beam=4, n_best=2, shortlist=True)]
)
def test_only_its_words_are_written_and_their_log_p_is_among_them(kernels, decoding):
    """Greedily and by beam: what PyTorch finds with the rounded model whose other words have a bias of -∞."""
    folder, model = made(output_bias=True)
    shortlist = random_shortlist()
    compiled = native.compiled(folder, arrays_of(model, native.n_rows(folder)), [2] * V, kernels, shortlist)
    found = native.searched(compiled, SOURCES, [12] * len(SOURCES), [], [], decoding, 1)
    alike = 0
    for source, best in zip(SOURCES, found, strict=True):
        words = shortlist.of(source)
        narrowed = rounded(model)
        others = torch.ones(V, dtype=torch.bool).index_fill(0, torch.tensor(words), False)
        narrowed.output.bias = narrowed.output.bias.masked_fill(others, -torch.inf)
        wanted = search(
            narrowed,
            torch.tensor([source]),
            [12],
            [""],
            lambda *_: [],
            decoding.model_copy(update={"shortlist": False}),
        )[0]
        assert all(set(one.ids) <= set(words) for one in best)
        alike += [one.ids for one in best] == [one.ids for one in wanted] and best[0].log_p == pytest.approx(
            wanted[0].log_p, abs=0.05
        )
    assert alike >= len(SOURCES) - 1  # of one a number may have been rounded the other way


@needs_core
@pytest.mark.parametrize("beam", [1, 4])
def test_alone_or_in_company_a_source_has_the_same_targets(beam):
    """Though alone its words have a product of their own, and in company they may be taken out of all."""
    folder, model = made()
    compiled = native.compiled(folder, arrays_of(model, native.n_rows(folder)), [2] * V, "", random_shortlist())
    decoding = DecodingConfig(beam=beam, shortlist=True)
    together = native.searched(compiled, SOURCES, [12] * len(SOURCES), [], [], decoding, 2)
    assert together == [native.searched(compiled, [source], [12], [], [], decoding, 1)[0] for source in SOURCES]


@needs_core
def test_what_is_in_the_folder_is_used_where_it_is_asked_for(tmp_path):
    folder, model = made()
    characters = CharacterTokenizer([chr(code) for code in range(0x4E00, 0x4E00 + V - 4)])
    write_model(tmp_path, folder, model, (characters, characters), "")
    with pytest.raises(ValueError, match="the model has none; prosector shortlist makes one"):
        NativeTranslator.load(tmp_path).translate("一丁", shortlist=True)
    shortlist = random_shortlist()
    assert write_shortlist(tmp_path, shortlist).name == NAME
    assert read_shortlist(tmp_path) == shortlist
    translator = NativeTranslator.load(tmp_path)
    texts = ["".join(chr(0x4E00 + (7 * i + j * j) % 36) for j in range(6)) for i in range(20)]
    beyond = 0
    for text in texts:
        allowed = set(shortlist.of(translator.ids(text)))
        assert set(characters.encode(translator.translate(text, shortlist=True, max_length=8))) <= allowed
        beyond += not set(characters.encode(translator.translate(text, max_length=8))) <= allowed
    assert beyond > 2  # without it they are
    with pytest.raises(ValueError, match="only the native core has one; use --engine native"):
        load(tmp_path).translate(texts[0], shortlist=True)


@needs_core
@pytest.mark.parametrize(
    "shortlist", [Shortlist([0, 1], [4], [3]), Shortlist([0] * V + [1], [V], [3]), Shortlist([0] * (V + 1), [], [])]
)
def test_one_that_does_not_fit_is_an_error(shortlist):
    folder, model = made()
    arrays = arrays_of(model, native.n_rows(folder))
    if len(shortlist.start) == 2:
        shortlist = shortlist._replace(start=[1, *[1] * V])  # does not begin at 0
    with pytest.raises(ValueError, match="the shortlist does not fit the vocabularies"):
        native.compiled(folder, arrays, [2] * V, "", shortlist)


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / NAME).write_bytes(b"no tensors")
    with pytest.raises(ValueError, match=r"shortlist\.safetensors: damaged.*prosector shortlist makes a new one"):
        read_shortlist(tmp_path)
