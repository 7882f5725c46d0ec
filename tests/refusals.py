"""What holds of every refusal: an ItmlabError of one line, with the words that say what is wrong."""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from itmlab.errors import ItmlabError


def refused(words: str, function: Callable, /, *arguments, **options) -> None:
    """Asserts that the call is refused in one line in which `words`, a regular expression, are found."""
    with pytest.raises(ItmlabError, match=words) as caught:
        function(*arguments, **options)
    assert "\n" not in str(caught.value)


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file of this process grows beyond `size` bytes meanwhile: what a full disk does, as any user may have it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
