"""The native core: kernels compute what PyTorch does with the same rounded numbers, and its searches find the same."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.decoding.rounded import SOURCES, V, made, rounded

from prosector.config.decoding import DecodingConfig
from prosector.decoding import native
from prosector.decoding.folder import write_model
from prosector.decoding.native import BY_TABLE, NativeTranslator
from prosector.decoding.native_weights import arrays_in, arrays_of
from prosector.decoding.repetition import RepetitionGuard
from prosector.decoding.rules import anything_goes
from prosector.decoding.search import search
from prosector.models.weights import save_weights
from prosector.text.characters import CharacterTokenizer

core = native.core()
KERNELS = core.kernels() if core else []
pytestmark = pytest.mark.skipif(core is None, reason="no compiler has built the native core")


@given(st.integers(1, 14), st.integers(1, 150), st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_all_kinds_of_kernels_sum_the_same_whole_numbers_exactly(rows, n, k, seed):
    """Where the largest of each row is 127 the scales are 1, and the products those of the numbers themselves."""
    made = torch.Generator().manual_seed(seed)
    x, w = (torch.randint(-127, 128, (height, k), generator=made) for height in (rows, n))
    x[:, 0], w[:, -1] = 127, -127
    b = torch.randint(-1000, 1000, (n,), generator=made)
    wanted = (x @ w.T + b).float()
    for kernels in KERNELS:
        before = dict(core.counts())
        found = torch.tensor(core.linear(x.float().numpy(), w.float().numpy(), b.float().numpy(), kernels))
        assert torch.equal(found, wanted), kernels
        assert {name for name, count in core.counts() if count > before[name]} == {kernels}


CONFIGS = {
    "pre-norm": {},
    "post-norm": {"norm_placement": "post"},
    "rms, swiglu, no bias": {"norm": "rms", "activation": "swiglu", "bias": False, "tie": "target"},
    "geglu, all tied": {"activation": "geglu", "tie": "all"},
    "gelu, grouped queries": {"activation": "gelu", "n_kv_heads": 2},
    "gelu-tanh, one key head": {"activation": "gelu-tanh", "n_kv_heads": 1},
    "swish, wide heads": {"activation": "swish", "d_head": 16},
    "odd heads": {"d_model": 30, "n_heads": 3, "d_ff": 50},
    "marian": {
        "norm_placement": "post",
        "output_bias": True,
        "position": {"kind": "sinusoidal", "layout": "half-split"},
    },
    "t5": {"position": "t5", "attention_scale": 1.0, "norm": "rms", "bias": False, "scale_output": True},
    "norms on the embeddings": {"embedding_norm": True, "scale_embedding": False},
    **{f"position {kind}": {"position": kind} for kind in ("none", "binary", "learned", "rope", "yarn", "alibi")},
    "one-hot": {"position": "one-hot", "d_model": 48},
    "rope, interleaved": {"position": {"kind": "rope", "layout": "interleaved"}},
}


def compiled(folder, model, kernels=""):
    """A model in the core, every word of it a whole word."""
    return native.compiled(folder, arrays_of(model, native.n_rows(folder)), [2] * V, kernels)


def asked(folder, model, decoding, kernels, sources=SOURCES, guarded=False, threads=1):
    """What the core finds, and what PyTorch does with rounded maps."""
    core_of_it = compiled(folder, model, kernels)
    longest, texts = [12] * len(sources), [" ".join(map(str, source)) for source in sources]
    allowed = RepetitionGuard(texts, [2] * V).allowed if guarded else []
    chances = native.chances_for(texts, longest, decoding)
    found = native.searched(core_of_it, sources, longest, allowed, chances, decoding, threads)
    wanted = []
    for source, text in zip(sources, texts, strict=True):
        rule = RepetitionGuard([text], [2] * V) if guarded else anything_goes
        wanted += search(rounded(model), torch.tensor([source]), [12], [text], rule, decoding)
    return found, wanted


def assert_same(found, wanted):
    """The same hypotheses with the same log p. Of one source in four a number may have been rounded the other way:
    these models are so steep that this moves log p by some tenths, and two hypotheses may change places."""
    alike = 0
    for some, others in zip(found, wanted, strict=True):
        assert [one.finished for one in some] == [other.finished for other in others]
        pairs = [(one.log_p, other.log_p) for one, other in zip(some, others, strict=True)]
        pairs += [(one.score, other.score) for one, other in zip(some, others, strict=True)]
        assert all(one == pytest.approx(other, abs=1.0) for one, other in pairs)
        alike += some[0].ids == others[0].ids and all(one == pytest.approx(other, abs=5e-2) for one, other in pairs)
    assert alike >= len(found) - len(found) // 4


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("name", CONFIGS)
def test_a_beam_finds_what_pytorch_finds_with_the_same_numbers(name, kernels):
    folder, model = made(**CONFIGS[name])
    assert_same(*asked(folder, model, DecodingConfig(beam=3, n_best=2), kernels))


SEARCHES = {
    "greedy": DecodingConfig(beam=1),
    "greedy, alpha 0": DecodingConfig(beam=1, alpha=0),
    "beam 8, all of them": DecodingConfig(beam=8, n_best=8),
    "beam, alpha 0": DecodingConfig(beam=4, alpha=0),
    "sampling": DecodingConfig(seed=3),
    "hot": DecodingConfig(seed=3, temperature=2.0),
    "top-k": DecodingConfig(seed=3, top_k=5),
    "top-p": DecodingConfig(seed=3, temperature=1.5, top_p=0.7),
    "both": DecodingConfig(seed=3, top_k=9, top_p=0.8),
}


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("name", SEARCHES)
def test_every_search_is_ours_step_for_step(name, guarded):
    folder, model = made()
    assert_same(*asked(folder, model, SEARCHES[name], "", guarded=guarded))


@pytest.mark.parametrize("kernels", KERNELS)
def test_log_p_counts_all_of_many_words(kernels):
    """Their sum is taken by pieces, 1,024 words at a time at most. With small weights all words are about as likely."""
    folder, model = made(target_vocab=3001)
    with torch.no_grad():
        model.output.weight.mul_(0.05)
    found, wanted = asked(folder, model, DecodingConfig(beam=1), kernels)
    for some, others in zip(found, wanted, strict=True):
        assert some[0].log_p == pytest.approx(others[0].log_p, abs=0.1)
        assert some[0].log_p < -5 * len(some[0].ids)  # of a third of the words it would be a nat more for each


@pytest.mark.parametrize("kernels", KERNELS)
def test_the_kernels_that_were_asked_for_are_those_that_ran(kernels):
    folder, model = made()
    before = dict(core.counts())
    asked(folder, model, DecodingConfig(beam=2), kernels)
    ran = {name for name, count in core.counts() if count > before[name]}
    assert ran == {kernels}
    assert compiled(folder, model, kernels).kernels == kernels


@pytest.mark.skipif(len(KERNELS) < 2, reason="this machine runs one kind alone")
@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("name", ["pre-norm", "post-norm", "geglu, all tied", "odd heads"])
def test_all_kinds_of_kernels_find_the_same(name, beam):
    """Floats differ in the last digit, and then seldom is anything rounded the other way."""
    folder, model = made(**CONFIGS[name])
    best, *others = [
        native.searched(compiled(folder, model, kernels), SOURCES, [12] * 4, [], [], DecodingConfig(beam=beam), 1)
        for kernels in KERNELS
    ]
    for other in others:
        alike = [
            one[0].ids == two[0].ids and one[0].log_p == pytest.approx(two[0].log_p, abs=1e-3)
            for one, two in zip(best, other, strict=True)
        ]
        assert sum(alike) >= 3


@pytest.mark.parametrize("beam", [1, 4])
def test_one_thread_or_several_and_alone_or_in_company_give_the_same(beam):
    folder, model = made()
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 15, (150,), generator=generator).tolist()
    sources = [[*torch.randint(4, V, (length,), generator=generator).tolist(), 3] for length in lengths]
    decoding = DecodingConfig(beam=beam)
    core_of_it = compiled(folder, model)

    def find(sources, threads):
        return core_of_it.search(sources, [12] * len(sources), [], [], beam=decoding.size, threads=threads)

    together = find(sources, 1)
    assert find(sources, 3) == together
    assert [find([source], 1)[0] for source in sources[:20]] == together[:20]


def some_sources(n):
    generator = torch.Generator().manual_seed(n)
    return [[*torch.randint(4, V, (int(length),), generator=generator).tolist(), 3] for length in range(1, n + 1)]


@pytest.mark.parametrize("wanted", ["2147483648", "99999999999999999999"])
def test_more_threads_and_more_words_than_a_number_of_the_core_holds_are_as_many_as_it_does(wanted, monkeypatch):
    folder, model = made()
    monkeypatch.setenv("OMP_NUM_THREADS", wanted)
    sources = some_sources(3)
    decoding = DecodingConfig(seed=1, top_k=int(wanted))
    found = []
    for how in (decoding, decoding.model_copy(update={"top_k": V})):
        chances = native.chances_for(["a", "b", "c"], [12] * 3, how)
        found.append(native.searched(compiled(folder, model), sources, [12] * 3, [], chances, how, native.n_threads()))
    assert found[0] == found[1]


def test_several_callers_at_once_each_find_their_own():
    folder, model = made()
    core_of_it = compiled(folder, model)
    asked_for = [some_sources(n) for n in (3, 8, 12, 15)] * 5

    def find(sources):
        return core_of_it.search(sources, [12] * len(sources), [], [], threads=3)

    alone = [find(sources) for sources in asked_for]
    with ThreadPoolExecutor(4) as callers:
        assert list(callers.map(find, asked_for)) == alone


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    """The parent's are not there, and waiting for them would never end."""
    folder, model = made()
    core_of_it = compiled(folder, model)
    sources = some_sources(10)

    def find():
        return core_of_it.search(sources, [12] * len(sources), [], [], threads=3)

    wanted = find()
    child = os.fork()
    if child == 0:
        os._exit(0 if find() == wanted and find() == wanted else 1)
    until = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < until:
        time.sleep(0.01)
    if ended[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended == (child, 0)
    assert find() == wanted


@pytest.mark.parametrize(
    ("sources", "longest", "says"),
    [
        ([[]], [3], "no tokens"),
        ([[40]], [3], "the id 40, and the vocabulary ends at 39"),
        ([[4]], [], "as many lengths"),
    ],
)
def test_what_cannot_be_read_is_an_error(sources, longest, says):
    folder, model = made()
    with pytest.raises(ValueError, match=says):
        compiled(folder, model).search(sources, longest, [], [])


def test_what_the_core_does_not_know_is_named():
    folder, model = made(norm="batch")
    with pytest.raises(ValueError, match="does not know norm=batch"):
        compiled(folder, model)
    with pytest.raises(ValueError, match="no kernels called abacus; there are"):
        compiled(*made(), "abacus")


@pytest.mark.parametrize("tie", ["none", "target", "all"])
@pytest.mark.parametrize(
    "position", [*BY_TABLE, {"kind": "sinusoidal", "layout": "half-split"}, {"kind": "learned", "max_length": 9}]
)
def test_a_folder_read_without_pytorch_is_the_model(position, tie, tmp_path):
    folder, model = made(position=position, tie=tie)
    save_weights(model, tmp_path / "model.safetensors")
    rows = native.n_rows(folder)
    wanted, found = arrays_of(model, rows), arrays_in(tmp_path, folder, rows)
    assert {name for name in wanted if name.startswith("positions.")} <= found.keys()
    for name, value in wanted.items():
        torch.testing.assert_close(torch.from_numpy(found[name]), torch.from_numpy(value), rtol=0, atol=2e-4)


def test_translating_imports_no_pytorch():
    code = "import sys; from prosector.cli.main import main; main(['translate', '我喜欢深度学习。']); "
    code += "print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["I like deep learning.", "False"]


def test_a_translator_whose_positions_have_no_simple_table_is_read_with_it(tmp_path):
    folder, model = made(position="rope")
    characters = CharacterTokenizer([chr(code) for code in range(0x4E00, 0x4E00 + V - 4)])
    write_model(tmp_path, folder, model, (characters, characters), "")
    translator = NativeTranslator.load(tmp_path)
    assert translator.translate("一丁丂七", max_length=5) == NativeTranslator(
        folder, arrays_of(model, native.n_rows(folder)), characters, characters
    ).translate("一丁丂七", max_length=5)
