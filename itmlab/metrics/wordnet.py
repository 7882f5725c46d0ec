"""An installed WordNet (Miller 1995): words in a common synset (synonyms, for SPICE), and the senses of its nouns."""

import os
import re
from collections.abc import Iterator
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from ..errors import ItmlabError, MissingPart
from ..fields import check_known
from ..storage import usable

COMMAND = "apt-get install wordnet-base, or set WNSEARCHDIR to the folder of an unpacked WordNet"
PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
INSTALLED = Path("/usr/share/wordnet")


def wordnet(synonyms: str = "auto") -> "WordNet | None":
    """Return the WordNet to match words by.

    Args:
        synonyms: "none" gives None, "auto" the installed one or None, "wordnet" the installed one.

    Raises:
        ItmlabError: another choice, or a WNSEARCHDIR without a WordNet.
        MissingPart: no WordNet is installed and "wordnet" was asked for.
    """
    check_known(synonyms, ("auto", "wordnet", "none"), "kind of synonyms")
    folder = None if synonyms == "none" else wordnet_folder()
    if folder is None and synonyms == "wordnet":
        raise MissingPart("WordNet", COMMAND, needed_for="synonyms and kinds of nouns")
    return None if folder is None else _loaded(folder)


def wordnet_folder() -> Path | None:
    """Return the folder of WordNet that WNSEARCHDIR names, else Debian's, None if it is not installed.

    Raises:
        ItmlabError: WNSEARCHDIR names a place without a WordNet.
    """
    named = os.environ.get("WNSEARCHDIR")
    folder = Path(named) if named else INSTALLED
    if (folder / "index.noun").is_file():
        return folder
    if named:
        raise ItmlabError("there is no WordNet (index.noun)", where=named, remedy="correct WNSEARCHDIR")
    return None


class Synset(NamedTuple):
    """Nouns of one meaning, and the synsets right above it."""

    offset: int
    words: frozenset[str]
    above: tuple[int, ...]


class WordNet:
    """The synsets of every word, and for nouns the senses by their frequency with what lies above each.

    Args:
        folder: holds `index.noun` … `index.adv`, and for the senses of nouns `data.noun` and `cntlist.rev` (wndb(5WN),
            cntlist(5WN)).

    Attributes:
        version: as its licence says.

    Raises:
        ItmlabError: files of another format.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        with usable(folder):
            stated = re.search(rb"WordNet (\d[\d.]*) Copyright", (folder / "index.noun").read_bytes())
            self._index = {part: dict(_index(folder, part)) for part in PARTS_OF_SPEECH}
        self.version = stated.group(1).decode() if stated else "of unknown version"
        self.synsets, self.synset, self.above = cache(self._synsets), cache(self._synset), cache(self._above)

    def _synsets(self, word: str) -> frozenset[tuple[str, int]]:
        """Return the synsets that hold the word, none if WordNet does not know it; "hot dog" is found as hot_dog."""
        lemma = "_".join(word.lower().split())
        return frozenset((part, offset) for part in PARTS_OF_SPEECH for offset in self._index[part].get(lemma, ()))

    def senses(self, noun: str) -> list[tuple[Synset, int]]:
        """Return the synsets of a singular noun, most frequent first, with how often each is met in WordNet's texts."""
        lemma = "_".join(noun.split())
        numbered = enumerate(self._index["noun"].get(lemma, ()), start=1)
        return [(self.synset(offset), self._counts.get((lemma, number), 0)) for number, offset in numbered]

    def _synset(self, offset: int) -> Synset:
        """Read a line of data.noun: offset, file, type, words with numbers (in hexadecimal), pointers, gloss."""
        cells = self._data[offset : self._data.find(b" | ", offset)].decode("utf-8", "replace").split()
        if not cells or not cells[0].isdigit() or int(cells[0]) != offset:
            raise ItmlabError(f"no synset begins at byte {offset}", where=f"{self.folder}/data.noun", remedy=COMMAND)
        end = 4 + 2 * int(cells[3], 16)
        pointers = cells[end + 1 :]
        above = [int(pointers[at + 1]) for at in range(0, 4 * int(cells[end]), 4) if pointers[at] in ("@", "@i")]
        return Synset(offset, frozenset(word.lower() for word in cells[4:end:2]), tuple(above))

    def _above(self, offset: int) -> list[int]:
        """Return the synset itself and all above it, nearest first."""
        reached = [offset]
        for below in reached:  # it grows while it is read
            reached += [up for up in self.synset(below).above if up not in reached]
        return reached

    @cached_property
    def _data(self) -> bytes:
        return (self.folder / "data.noun").read_bytes()

    @cached_property
    def _counts(self) -> dict[tuple[str, int], int]:
        """How often each numbered sense of a noun was met."""
        counted = self.folder / "cntlist.rev"  # "dog%1:05:00:: 1 42": of the first sense, 42 times
        lines = counted.read_text("utf-8").splitlines() if counted.is_file() else []
        senses = (line.replace("%1:", " ", 1).split() for line in lines if "%1:" in line)
        return {(lemma, int(number)): int(count) for lemma, _, number, count in senses}


_loaded = lru_cache(maxsize=2)(WordNet)


def _index(folder: Path, part: str) -> Iterator[tuple[str, list[int]]]:
    """Yield each word of an index file with its synsets, most frequent first.

    A line holds lemma, part of speech, how many synsets, pointers and counts, and last the offsets of the synsets.
    """
    for number, line in enumerate((folder / f"index.{part}").read_bytes().splitlines(), start=1):
        if line.startswith(b"  "):  # the licence
            continue
        cells = line.decode("utf-8", errors="replace").split()
        try:
            offsets = list(map(int, cells[-int(cells[2]) :]))
        except (IndexError, ValueError):
            offsets = []
        if not offsets or len(cells) < 6 + len(offsets):
            raise ItmlabError("not a line of a WordNet index", where=f"{folder}/index.{part}:{number}")
        yield cells[0], offsets
