"""What every test stands on: repeatable chance, few threads, and no touch on the user's home."""

import os
import tempfile
from pathlib import Path

# Before anything reads them: a home, caches and a terminal that are the tests' own, also for child processes.
_home = tempfile.TemporaryDirectory(prefix="prosector-home-")
_own = {
    "HOME": "",
    "USERPROFILE": "",
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "HF_HOME": ".cache/huggingface",
    "MPLCONFIGDIR": ".config/matplotlib",
    "SACREBLEU": ".sacrebleu",
}
os.environ |= {name: str(Path(_home.name, folder)) for name, folder in _own.items()}
os.environ |= {"HF_HUB_OFFLINE": "1", "MPLBACKEND": "Agg", "NO_COLOR": "1", "COLUMNS": "120"}
os.environ.pop("FORCE_COLOR", None)
# The tests' tensors are tiny, so threads cost more than they bring; another number is taken from the environment.
threads = os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest  # noqa: E402
import torch  # noqa: E402
from hypothesis import register_random, settings  # noqa: E402

torch.set_num_threads(int(threads))


class _TorchRandom:
    """PyTorch's global generator, so that hypothesis sets it before each example."""

    seed = staticmethod(torch.manual_seed)
    getstate = staticmethod(torch.get_rng_state)
    setstate = staticmethod(torch.set_rng_state)


_torch_random = _TorchRandom()
register_random(_torch_random)

# `make test` draws the same examples on every machine; `make test-all` draws new ones every time, and more.
settings.register_profile("everyday", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=200, print_blob=True)
settings.load_profile("everyday")


@pytest.fixture(autouse=True)
def seed():
    """Each test's chance begins alike, whichever tests ran before it."""
    torch.manual_seed(0)


def pytest_unconfigure():
    """Take the tests' home away."""
    _home.cleanup()
