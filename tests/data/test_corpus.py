"""Corpora as people have them: tables and parallel files, packed or not, and mistakes named by file and line."""

import gzip
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prosector.config.data import DataConfig, FileConfig
from prosector.data.corpus import Pair, exchanged, find, lines, read_pairs, read_parallel, read_split, read_table

PAIRS = [Pair("我喜欢深度学习。", "I like deep learning."), Pair("你好！", "Hello!")]
TABLE = "".join(f"{en}\t{zh}\n" for zh, en in PAIRS)


def write(path, text, encoding="utf-8"):
    data = text if isinstance(text, bytes) else text.encode(encoding)
    path.write_bytes({".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)(data))
    return path


def read(path, columns=("en", "zh"), source="zh", target="en"):
    return read_pairs(FileConfig(path=str(path), columns=columns), source, target)


# --- what can be read ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "a.tsv.xz", "a.txt"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_table_reads_alike_packed_or_not_with_a_bom_or_not_and_with_windows_line_ends(tmp_path, name, encoding, end):
    assert read(write(tmp_path / name, TABLE.replace("\n", end), encoding)) == PAIRS


def test_manythings_file_is_read_as_it_is(tmp_path):
    """Its third column holds the sentences' authors, and is left out."""
    line = "Hi.\t嗨。\tCC-BY 2.0 (France) Attribution: tatoeba.org #538123 (CM) & #891077 (Martha)\n"
    assert read(write(tmp_path / "cmn.txt", line)) == [Pair("嗨。", "Hi.")]


def test_columns_say_which_side_is_which(tmp_path):
    path = write(tmp_path / "a.tsv", "17\t你好\tHello\n")
    assert read(path, ("id", "zh", "en")) == [Pair("你好", "Hello")]
    assert read(path, ("id", "zh", "en"), "en", "zh") == [Pair("Hello", "你好")]


def test_empty_lines_a_missing_last_line_end_and_spaces_around_a_cell_are_no_mistakes(tmp_path):
    assert read(write(tmp_path / "a.tsv", "\n  I go. \t 我去。 \n\n \nHello!\t你好！")) == [
        Pair("我去。", "I go."),
        Pair("你好！", "Hello!"),
    ]


def test_a_line_ends_at_a_line_end_and_nowhere_else(tmp_path):
    """Not at U+2028, U+0085 or a form feed, which Python's splitlines would take for one."""
    assert read(write(tmp_path / "a.tsv", "a\u2028b\x0cc\x85d\t我\n")) == [Pair("我", "a\u2028b\x0cc\x85d")]


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])), min_size=1))
def test_for_every_text_the_lines_are_those_that_were_written(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    path.write_bytes("".join(text + "\n" for text in texts).encode("utf-8-sig"))
    assert list(lines(path)) == texts


@pytest.mark.parametrize("names", [("a.zh", "a.en"), ("a.zh.xz", "a.en.gz")])
def test_two_files_side_by_side(tmp_path, names):
    paths = [write(tmp_path / name, "".join(pair[side] + "\n" for pair in PAIRS)) for side, name in enumerate(names)]
    assert read_pairs(FileConfig(path=tuple(map(str, paths))), "zh", "en") == PAIRS


def test_pairs_with_an_empty_side_are_left_out_of_parallel_files(tmp_path):
    zh, en = write(tmp_path / "zh", "我\n\n 你\n他\n"), write(tmp_path / "en", "I\nnobody\nyou \n \n")
    assert list(read_parallel(zh, en)) == [Pair("我", "I"), Pair("你", "you")]


# --- what cannot -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "Hello\t你好\nno tab here\n",
            r"a.tsv, line 2: 1 column where en, zh are expected, separated by tabs: 'no tab",
        ),
        ("Hello\t你好\n\nHello\t \n", r"a.tsv, line 3: one side is empty: 'Hello"),
        ("\t你好\n", r"a.tsv, line 1: one side is empty"),
        ("\n\n", r"a.tsv holds no sentence pair"),
        ("Hello\t你好\n".encode() + b"Hi\t\xe4\xbd\n", r"a.tsv, line 2: not UTF-8 \(.* at byte 3\)"),
        ("Hello\t你好\n".encode("utf-16"), r"a.tsv, line 1: not UTF-8"),
        ("Hello\t你好\n".encode("gb18030"), r"a.tsv, line 1: not UTF-8"),
    ],
)
def test_a_broken_line_is_named_by_file_and_number(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path / "a.tsv", text))


def test_a_line_with_too_few_columns_says_how_many_it_has(tmp_path):
    with pytest.raises(ValueError, match="line 1: 2 columns where id, zh, en are expected"):
        read(write(tmp_path / "a.tsv", "17\t你好\n"), ("id", "zh", "en"))


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_packed_file_that_breaks_off_is_named(tmp_path, suffix):
    path = write(tmp_path / f"a.tsv{suffix}", "".join(f"{n}{n * n}\t{n}\n" for n in range(5000)))
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(ValueError, match=rf"a.tsv{suffix}: cannot be unpacked after line \d+ \("):
        read(path)


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_for_every_byte_that_is_damaged_the_file_is_named(tmp_path, suffix):
    """Or nothing is wrong with it: not every byte of a packed file matters."""
    path = write(tmp_path / f"a.tsv{suffix}", "".join(f"{n}{n * n}\t{n}\n" for n in range(300)))
    sound = path.read_bytes()
    refused = 0
    for place in range(0, len(sound), 7):
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 0x5A]) + sound[place + 1 :])
        try:
            read(path)
        except ValueError as error:
            assert path.name in str(error)  # noqa: PT017
            refused += 1
    assert refused > len(sound) / 7 / 2


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
def test_a_file_that_is_not_packed_at_all_is_named(tmp_path, suffix):
    path = tmp_path / f"a.tsv{suffix}"
    path.write_text("Hello\t你好\n", encoding="utf-8")
    with pytest.raises(ValueError, match=rf"a.tsv{suffix}: cannot be unpacked after line 0"):
        read(path)


@given(st.integers(0, 9), st.integers(0, 9))
def test_languages_in_the_other_order_are_noticed_where_most_pairs_have_them_so(right, wrong):
    pairs = [Pair("你好。", "Hello.")] * right + [Pair("Hello.", "你好。")] * wrong
    assert exchanged(pairs, "zh", "en") == (wrong > right)
    assert not exchanged([Pair("OK", "OK"), Pair("三", "3")], "zh", "en")


def test_exchanged_files_are_named(tmp_path):
    for name, text in (("a", "Hello.\n"), ("b", "你好。\n")):
        (tmp_path / name).write_text(text, "utf-8")
    files = FileConfig(path=(str(tmp_path / "a"), str(tmp_path / "b")))
    assert read_pairs(files, "en", "zh") == [Pair("Hello.", "你好。")]
    with pytest.raises(ValueError, match="what should be zh is en, and the other way round; exchange the two files"):
        read_pairs(files, "zh", "en")


def test_parallel_files_of_different_length_are_named_with_their_lengths(tmp_path):
    zh, en = write(tmp_path / "a.zh", "我\n你\n"), write(tmp_path / "a.en", "I\n")
    with pytest.raises(ValueError, match=r"a\.zh has 2 lines and .*a\.en 1; parallel files"):
        list(read_parallel(zh, en))


# --- where files are looked for --------------------------------------------------------------------------------------


def test_a_relative_path_is_looked_for_in_prosector_data_then_here_then_beside_the_presets(tmp_path, monkeypatch):
    data, here = tmp_path / "data", tmp_path / "here"
    data.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("PROSECTOR_DATA", str(data))
    assert find("sentences.tsv").parent.name == "presets"
    write(here / "sentences.tsv", TABLE)
    assert find("sentences.tsv").resolve() == here / "sentences.tsv"
    write(data / "sentences.tsv", TABLE)
    assert find("sentences.tsv") == data / "sentences.tsv"
    assert find(str(here / "sentences.tsv")) == here / "sentences.tsv"


def test_a_missing_file_is_an_error_that_says_where_it_was_looked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PROSECTOR_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=rf"no file at {tmp_path}/none.tsv; set PROSECTOR_DATA"):
        find("none.tsv")
    monkeypatch.setenv("PROSECTOR_DATA", "/data")
    with pytest.raises(FileNotFoundError, match=rf"no file at /data/none.tsv or {tmp_path}/none.tsv$"):
        find("none.tsv")


# --- training and development ----------------------------------------------------------------------------------------


def numbered(path, numbers):
    return str(write(path, "".join(f"number {n}\t数字 {n}\n" for n in numbers)))


def test_no_development_pair_is_trained_on(tmp_path):
    train = FileConfig(path=numbered(tmp_path / "train.tsv", range(50)))
    dev = FileConfig(path=numbered(tmp_path / "dev.tsv", range(40, 60)))
    [kept], choose_on = read_split(DataConfig(train=(train,), dev=(dev,)))
    assert len(choose_on) == 20
    assert [pair.source for pair in kept] == [f"数字 {n}" for n in range(40)]


def test_a_pair_that_shares_one_side_with_the_development_pairs_is_dropped_too(tmp_path):
    train = FileConfig(path=str(write(tmp_path / "train.tsv", "Hello\t你好\nHi\t您好\nGood day\t嗨\n")))
    dev = FileConfig(path=str(write(tmp_path / "dev.tsv", "Hello\t喂\nHey\t嗨\n")))
    [kept], _ = read_split(DataConfig(train=(train,), dev=(dev,)))
    assert kept == [Pair("您好", "Hi")]


@pytest.mark.parametrize("total, held_out", [(30, 3), (100, 10)])
def test_without_development_files_a_tenth_is_held_out_by_lot(tmp_path, total, held_out):
    """By lot, and the same each time: a table is often sorted by length, and its beginning is not like the rest."""
    train = FileConfig(path=numbered(tmp_path / "train.tsv", range(total)))
    [kept], choose_on = read_split(DataConfig(train=(train,)))
    assert len(choose_on) == held_out
    assert choose_on == read_split(DataConfig(train=(train,)))[1]
    assert {pair.source for pair in choose_on} != {f"数字 {n}" for n in range(held_out)}
    assert not set(choose_on) & set(kept)
    assert len(kept) == total - held_out
    [kept], choose_on = read_split(DataConfig(train=(train,)), held_out=2)
    assert len(choose_on) == 2
    assert len(kept) == total - 2


def test_corpora_stay_apart_so_that_each_can_have_its_weight(tmp_path):
    files = tuple(FileConfig(path=numbered(tmp_path / f"{n}.tsv", range(n, n + 10))) for n in (0, 100))
    train, dev = read_split(DataConfig(train=files), held_out=0)
    assert [len(corpus) for corpus in train] == [10, 10]
    assert dev == []


def test_reading_a_table_is_lazy_so_that_a_mistake_far_down_costs_no_memory(tmp_path):
    rows = read_table(write(tmp_path / "a.tsv", "Hello\t你好\nbroken\n"), ("en", "zh"), "zh", "en")
    assert next(rows) == Pair("你好", "Hello")
    with pytest.raises(ValueError, match="line 2"):
        next(rows)
