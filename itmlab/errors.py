"""The errors that itmlab raises on purpose: one line with what is wrong, where, and the remedy."""

from collections.abc import Iterator
from contextlib import contextmanager


class ItmlabError(ValueError):
    """An input, file or setting that cannot be used: one line with its remedy, control characters escaped."""

    line_breaks = False  # whether the message has several lines

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None):
        self.what, self.where, self.remedy = what, where, remedy
        line = what if where is None else f"{where}: {what}"
        line = line if remedy is None else f"{line} — {remedy}"
        super().__init__("\n".join(map(printable, line.split("\n"))) if self.line_breaks else printable(line))


class UnusablePath(ItmlabError, OSError):
    """A file or folder that the system does not let us read or write; an OSError too, for those who expect that."""


class MissingPart(ItmlabError):
    """An optional part that is not installed; the remedy is the command that installs it."""

    def __init__(self, part: str, command: str, *, needed_for: str):
        super().__init__(f"{needed_for} needs {part}, which is not installed", remedy=f"run: {command}")


def printable(text: str) -> str:
    r"""Return `text` with control characters escaped, so that it stays on its line and is visible.

    >>> print(printable("red\x1b[31m\nnext"))
    red\x1b[31m\nnext
    """
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


@contextmanager
def named(where: object) -> Iterator[None]:
    """Put the file `where` before an ItmlabError of the block, unless it names the file already."""
    try:
        yield
    except ItmlabError as error:
        if str(where) in str(error):
            raise
        raise ItmlabError(error.what, where=str(where), remedy=error.remedy) from None
