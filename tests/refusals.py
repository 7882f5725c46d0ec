"""What holds of every refusal: an ItmlabError of one line, with the words that say what is wrong."""

from collections.abc import Callable

import pytest

from itmlab.errors import ItmlabError


def refused(words: str, function: Callable, /, *given, **options) -> None:
    """Asserts that the call is refused in one line in which `words`, a regular expression, are found."""
    with pytest.raises(ItmlabError, match=words) as caught:
        function(*given, **options)
    assert "\n" not in str(caught.value)
