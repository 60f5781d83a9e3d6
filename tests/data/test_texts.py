"""Running text in blocks: nothing is lost, nothing is counted twice, every epoch is another cut."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.config.texts import TextFileConfig, TextsConfig
from prosector.data.texts import Blocks, read_lines, read_texts, stream_of, windows
from prosector.text.characters import train_characters

streams = st.lists(st.integers(3, 50), min_size=2, max_size=80).map(torch.tensor)


@given(streams, st.integers(2, 20), st.integers(1, 60), st.integers(0, 5))
def test_a_label_is_the_next_token_and_every_token_after_the_cut_is_met_once(stream, context, budget, epoch):
    blocks = Blocks(stream, context, budget, seed=1)
    met = []
    for starts in blocks.epoch(epoch):
        assert len(starts) <= max(1, budget // context)
        block = blocks.batch(starts)
        assert block.size == int((block.labels != 0).sum())
        for start, ids, labels in zip(starts, block.ids, block.labels, strict=True):
            real = labels != 0
            assert ids[real].tolist() == stream[start : start + int(real.sum())].tolist()
            assert labels[real].tolist() == stream[start + 1 : start + 1 + int(real.sum())].tolist()
            assert (ids[~real] == 0).all()
            met += range(start + 1, start + 1 + int(real.sum()))
    first = min(start for starts in blocks.epoch(epoch) for start in starts)
    assert sorted(met) == list(range(first + 1, len(stream)))
    assert first < context


def test_every_epoch_cuts_elsewhere_and_again_the_same():
    blocks = Blocks(torch.arange(3, 1000), 16, 64, seed=3)
    assert blocks.epoch(1) == Blocks(torch.arange(3, 1000), 16, 64, seed=3).epoch(1)
    cuts = {min(map(min, blocks.epoch(number))) for number in range(12)}
    assert len(cuts) > 4


@given(streams, st.integers(2, 20), st.integers(1, 60))
def test_in_windows_every_token_counts_once_and_has_half_a_window_to_go_by(stream, context, budget):
    counted, pasts = [], []
    for block in windows(stream, context, budget):
        for ids, labels in zip(block.ids, block.labels, strict=True):
            real = (labels != 0).nonzero().flatten().tolist()
            counted += [labels[i].item() for i in real]
            pasts += [i + 1 for i in real]
            assert all(ids[i] != 0 for i in real)
    assert counted == stream[1:].tolist()
    least = context - max(1, context // 2)
    assert all(past > min(least, number) for number, past in enumerate(pasts))


def test_a_stream_is_the_lines_and_their_ends():
    tokenizer = train_characters(["ab", "ba"], vocab_size=10)
    stream = stream_of(["ab", "b"], tokenizer)
    a, b = tokenizer.encode("ab")
    assert stream.tolist() == [3, a, b, 3, b, 3]


def test_texts_are_lines_or_a_column_and_the_end_is_kept_out(tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"line {i}\n\n" for i in range(40)), "utf-8")
    (tmp_path / "b.tsv").write_text("I\t我\nyou\t你\n", "utf-8")
    files = TextFileConfig(path=str(tmp_path / "a.txt")), TextFileConfig(path=str(tmp_path / "b.tsv"), column=2)
    train, dev = read_texts(TextsConfig(train=files))
    assert train == [[f"line {i}" for i in range(38)], ["我"]]
    assert dev == ["line 38", "line 39", "你"]
    train, dev = read_texts(TextsConfig(train=files[:1], dev=files[1:]))
    assert (len(train[0]), dev) == (40, ["我", "你"])


def test_a_fortune_file_is_its_sayings(tmp_path):
    path = tmp_path / "tang"
    path.write_text("\x1b[32m《送别》\x1b[m\n下马饮君酒，\n100 % of it\n%\n\x1b[32m《青溪》\x1b[m\n%\n", "utf-8")
    assert read_lines(TextFileConfig(path=str(path))) == ["《送别》", "下马饮君酒，", "100 % of it", "《青溪》"]


def test_mistakes_are_named(tmp_path):
    (tmp_path / "b.tsv").write_text("I\t我\nyou\n", "utf-8")
    with pytest.raises(ValueError, match=r"b\.tsv, line 2: 1 columns, and column 2 is wanted"):
        read_lines(TextFileConfig(path=str(tmp_path / "b.tsv"), column=2))
    (tmp_path / "c.txt").write_text("\n \n", "utf-8")
    with pytest.raises(ValueError, match="holds no text"):
        read_lines(TextFileConfig(path=str(tmp_path / "c.txt")))
