"""An installed WordNet (Miller 1995): words in a common synset (synonyms, for SPICE), and the senses of its nouns."""

import os
import re
import sys
import zipfile
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from ..errors import ItmlabError, MissingPart

COMMAND = "apt-get install wordnet-base (or python -m nltk.downloader wordnet)"
PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
VERSION = re.compile(rb"WordNet (\d+(?:\.\d+)*) Copyright")
Folder = Path | zipfile.Path  # nltk keeps WordNet in a zip file


def wordnet(synonyms: str = "auto") -> "WordNet | None":
    """The WordNet to match words by: "none" is None, "auto" the installed one or None, "wordnet" must be there.

    Raises:
        ItmlabError: another choice, or a WNSEARCHDIR without a WordNet.
        MissingPart: no WordNet is installed and "wordnet" was asked for.
    """
    if synonyms not in ("auto", "wordnet", "none"):
        raise ItmlabError(f"unknown synonyms={synonyms!r}", remedy='use "auto", "wordnet" or "none"')
    if synonyms == "none":
        return None
    named = os.environ.get("WNSEARCHDIR")
    if named and not _folder(Path(named)):
        raise ItmlabError("there is no WordNet (index.noun)", where=named, remedy="correct WNSEARCHDIR")
    place = next(filter(_folder, wordnet_places()), None)
    if place is None and synonyms == "wordnet":
        raise MissingPart("WordNet", COMMAND, needed_for="SPICE with synonyms")
    return None if place is None else _loaded(place)


def wordnet_places() -> Iterator[Path]:
    """Folders and zip files to look in, best first: WNSEARCHDIR, WNHOME, nltk's corpora, Debian's folder."""
    if named := os.environ.get("WNSEARCHDIR"):
        yield Path(named)
    if home := os.environ.get("WNHOME"):
        yield Path(home) / "dict"
    roots = [Path(entry) for entry in os.environ.get("NLTK_DATA", "").split(os.pathsep) if entry]
    for root in [*roots, Path.home() / "nltk_data", Path(sys.prefix, "nltk_data"), Path("/usr/share/nltk_data")]:
        yield root / "corpora" / "wordnet"
        yield root / "corpora" / "wordnet.zip"
    yield Path("/usr/share/wordnet")


def _folder(place: Path) -> Folder | None:
    """The folder of WordNet's files at a place, which may be a zip file; None if there is none."""
    folder = zipfile.Path(place, "wordnet/") if zipfile.is_zipfile(place) else place
    return folder if (folder / "index.noun").is_file() else None


def _lines(file: Folder) -> Iterator[tuple[int, list[str]]]:
    """(line number, cells) of an index file, without its licence."""
    for number, line in enumerate(file.read_bytes().splitlines(), start=1):
        if not line.startswith(b"  "):
            yield number, line.decode("utf-8", errors="replace").split()


def _offsets(cells: list[str], where: str) -> list[int]:
    """The synsets of a word: lemma, part of speech, how many synsets, pointers and counts, and last the offsets."""
    try:
        offsets = list(map(int, cells[-int(cells[2]) :]))
    except (IndexError, ValueError):
        offsets = []
    if not offsets or len(cells) < 6 + len(offsets):
        raise ItmlabError("not a line of a WordNet index", where=where)
    return offsets


class WordNet:
    """The synsets of every word of a WordNet, of any part of speech, as SPICE takes them.

    `directory` holds `index.noun` … `index.adv` (wndb(5WN)), or is nltk's zip file. `version` is that of its licence.
    """

    def __init__(self, directory: str | Path):
        self.directory = Path(directory)
        folder = _folder(self.directory) or self.directory
        self._synsets: dict[str, frozenset[tuple[str, int]]] = {}
        try:
            stated = VERSION.search((folder / "index.noun").read_bytes())
            self.version = stated.group(1).decode() if stated else "of unknown version"
            for part in PARTS_OF_SPEECH:
                for number, cells in _lines(folder / f"index.{part}"):
                    offsets = _offsets(cells, f"{directory}/index.{part}:{number}")
                    synsets = self._synsets.get(cells[0], frozenset())
                    self._synsets[cells[0]] = synsets | {(part, offset) for offset in offsets}
        except (OSError, KeyError) as error:
            raise ItmlabError(f"cannot be read ({error})", where=str(directory), remedy=COMMAND) from None

    def synsets(self, word: str) -> frozenset[tuple[str, int]]:
        """The synsets that hold the word, none if WordNet does not know it; "hot dog" is looked up as hot_dog."""
        return self._synsets.get("_".join(word.lower().split()), frozenset())


_loaded = lru_cache(maxsize=2)(WordNet)


class Synset(NamedTuple):
    """Words of one meaning, and the synsets right above it."""

    offset: int
    words: frozenset[str]
    above: tuple[int, ...]


class Nouns:
    """The senses of WordNet's nouns by their frequency, and what lies above each.

    `directory` holds `index.noun`, `data.noun` and, for counts, `cntlist.rev` (wndb(5WN), cntlist(5WN)), or is nltk's
    zip file; by default the installed one.

    Raises:
        MissingPart: there is no WordNet.
        ItmlabError: files of another format.
    """

    def __init__(self, directory: str | Path | None = None):
        places = [Path(directory)] if directory else wordnet_places()
        self.place = next(filter(_folder, places), None)
        if self.place is None:
            raise MissingPart("WordNet", COMMAND, needed_for="swapping nouns by WordNet")
        self._index, self._data, self._counts = _nouns(self.place)
        self.synset, self.above = cache(self._synset), cache(self._above)

    def senses(self, word: str) -> list[tuple[Synset, int]]:
        """The synsets of a noun in the singular, most frequent first, and how often each was met in WordNet's texts."""
        number, cells = self._index.get("_".join(word.split()), (0, []))
        if not number:
            return []
        offsets = _offsets(cells, f"{self.place}/index.noun:{number}")
        return [
            (self.synset(offset), self._counts.get((cells[0], at), 0)) for at, offset in enumerate(offsets, start=1)
        ]

    def _synset(self, offset: int) -> Synset:
        """A line of data.noun: its offset, file, type, words with numbers (in hexadecimal), pointers, gloss."""
        line = self._data[offset : self._data.find(b"\n", offset)].decode("utf-8", "replace")
        cells = line.split(" | ")[0].split()
        try:
            if int(cells[0]) != offset:
                raise ValueError
            end = 4 + 2 * int(cells[3], 16)
            pointers = cells[end + 1 :]
            above = [int(pointers[at + 1]) for at in range(0, 4 * int(cells[end]), 4) if pointers[at] in ("@", "@i")]
            return Synset(offset, frozenset(word.lower() for word in cells[4:end:2]), tuple(above))
        except (IndexError, ValueError):
            where = f"{self.place}/data.noun"
            raise ItmlabError(f"no synset begins at byte {offset}", where=where, remedy=COMMAND) from None

    def _above(self, offset: int) -> list[int]:
        """The synset itself and all above it, nearest first."""
        reached, level = [offset], [offset]
        while level:
            above = dict.fromkeys(up for below in level for up in self.synset(below).above)
            level = [up for up in above if up not in reached]
            reached += level
        return reached


@lru_cache(maxsize=2)  # 50 MB that every generator shares
def _nouns(place: Path) -> tuple[dict[str, tuple[int, list[str]]], bytes, dict[tuple[str, int], int]]:
    folder, counts = _folder(place), {}
    index = {cells[0]: (number, cells) for number, cells in _lines(folder / "index.noun") if cells}
    if (folder / "cntlist.rev").is_file():
        for line in (folder / "cntlist.rev").read_text("utf-8").splitlines():
            lemma, _, rest = line.partition("%1:")  # sense key, number of the sense, how often it was met
            if rest:
                _, number, count = rest.split()
                counts[lemma, int(number)] = int(count)
    return index, (folder / "data.noun").read_bytes(), counts
