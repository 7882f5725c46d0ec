"""One thread for benchmarks that compare ratios of times within one run."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture
def one_thread() -> Iterator[None]:
    """As the loops have: a second thread helps one side alone, and on a busy machine it waits for the other work."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
