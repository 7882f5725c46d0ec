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


def wordnet(synonyms: str = "auto") -> "WordNet | None":
    """The WordNet to match words by: "none" is None, "auto" the installed one or None, "wordnet" must be there.

    ItmlabError: another choice, or a WNSEARCHDIR without a WordNet; MissingPart when it must be there and is not.
    """
    if synonyms not in ("auto", "wordnet", "none"):
        raise ItmlabError(f"synonyms={synonyms!r} is no choice", remedy='use "auto", "wordnet" or "none"')
    if synonyms == "none":
        return None
    named = os.environ.get("WNSEARCHDIR")
    if named and not _holds(Path(named)):
        raise ItmlabError("there is no WordNet (index.noun and its like)", where=named, remedy="mend WNSEARCHDIR")
    place = next(filter(_holds, wordnet_places()), None)
    if place is None and synonyms == "wordnet":
        raise MissingPart("WordNet", COMMAND, needed_for="SPICE with synonyms")
    return None if place is None else _loaded(place)


def wordnet_places() -> Iterator[Path]:
    """Folders and zip files to look in, best first: WNSEARCHDIR, WNHOME, nltk's corpora, where Debian puts it."""
    if named := os.environ.get("WNSEARCHDIR"):
        yield Path(named)
    if home := os.environ.get("WNHOME"):
        yield Path(home) / "dict"
    listed = [entry for entry in os.environ.get("NLTK_DATA", "").split(os.pathsep) if entry]
    usual = (Path.home(), Path(sys.prefix), Path(sys.prefix, "share"), Path(sys.prefix, "lib"), Path("/usr/share"))
    local = (Path("/usr/local/share"), Path("/usr/lib"), Path("/usr/local/lib"))
    for root in (*map(Path, listed), *(folder / "nltk_data" for folder in (*usual, *local))):
        yield root / "corpora" / "wordnet"
        yield root / "corpora" / "wordnet.zip"
    yield Path("/usr/share/wordnet")


def _holds(place: Path) -> bool:
    if place.suffix == ".zip" and place.is_file():
        return zipfile.is_zipfile(place)
    return all((place / f"index.{part}").is_file() for part in PARTS_OF_SPEECH)


class WordNet:
    """The synsets of every word of one WordNet, of any part of speech, as SPICE takes them.

    `directory` holds `index.noun` … `index.adv` (WordNet's own format, wndb(5WN)) or is the zip file in which nltk
    keeps them. `version` is what their licence states. A line that is not of the format is an ItmlabError.
    """

    def __init__(self, directory: str | Path):
        self.directory = Path(directory)
        self.version = "of unknown version"
        self._synsets: dict[str, frozenset[str]] = {}
        for part in PARTS_OF_SPEECH:
            self._read(f"index.{part}", part)

    def synsets(self, word: str) -> frozenset[str]:
        """The synsets that hold the word, none when WordNet does not know it; "hot dog" is looked up as hot_dog."""
        return self._synsets.get("_".join(word.lower().split()), frozenset())

    def _read(self, name: str, part: str) -> None:
        for number, line in enumerate(_lines(self.directory, name), start=1):
            if line.startswith(b"  "):  # the licence
                stated = VERSION.search(line)
                self.version = stated.group(1).decode() if stated else self.version
                continue
            # lemma, part of speech, how many synsets, pointers and counts, and at the end the synsets' offsets
            cells = line.decode("utf-8", errors="replace").split()
            try:
                offsets = cells[-int(cells[2]) :]
            except (IndexError, ValueError):
                offsets = []
            if not offsets or len(cells) < 6 + len(offsets) or not all(map(str.isdigit, offsets)):
                raise ItmlabError("not a line of a WordNet index", where=f"{self.directory / name}:{number}")
            held = self._synsets.get(cells[0], frozenset())
            self._synsets[cells[0]] = held | {part + offset for offset in offsets}


class Synset(NamedTuple):
    """Words of one meaning: the file of lexicographers that it is in ("05": animals) and the synsets right above it."""

    offset: int
    file: str
    words: frozenset[str]
    above: tuple[int, ...]


class Nouns:
    """The senses of WordNet's nouns by their frequency, and what lies above each.

    `directory` holds `index.noun`, `data.noun` and, for counts, `cntlist.rev` (wndb(5WN), cntlist(5WN)), or is nltk's
    zip file; by default the installed one. MissingPart: no WordNet there; ItmlabError: files of another format.
    """

    def __init__(self, directory: str | Path | None = None):
        places = [Path(directory)] if directory else wordnet_places()
        self.place = next((each for each in places if _has(each, "index.noun") and _has(each, "data.noun")), None)
        if self.place is None:
            raise MissingPart("WordNet", COMMAND, needed_for="swapping nouns by WordNet")
        self._index, self._data, self._counts = _nouns(self.place)
        self.synset, self.above = cache(self._synset), cache(self._above)

    def senses(self, word: str) -> list[tuple[Synset, int]]:
        """The synsets of a noun in the singular, most frequent first, and how often each was met in WordNet's texts."""
        number, line = self._index.get("_".join(word.split()), (0, b""))
        if not number:
            return []
        cells = line.split()
        try:  # the offsets stand last, as many as the third cell says
            offsets = list(map(int, cells[-int(cells[2]) :]))
        except (IndexError, ValueError):
            raise ItmlabError("not a line of a WordNet index", where=f"{self.place / 'index.noun'}:{number}") from None
        counts = [self._counts.get((cells[0].decode("utf-8", "replace"), at), 0) for at in range(1, len(offsets) + 1)]
        return [(self.synset(offset), count) for offset, count in zip(offsets, counts, strict=True)]

    def _synset(self, offset: int) -> Synset:
        """A line of data.noun: its offset, file, type, words with numbers (in hexadecimal), pointers, gloss."""
        line = self._data[offset : self._data.find(b"\n", offset)].decode("utf-8", "replace")
        cells = line.split(" | ")[0].split()
        try:
            if int(cells[0]) != offset:
                raise ValueError
            count = int(cells[3], 16)
            pointers = cells[4 + 2 * count + 1 :]
            starts = range(0, 4 * int(cells[4 + 2 * count]), 4)
            above = tuple(int(pointers[at + 1]) for at in starts if pointers[at] in ("@", "@i"))
            return Synset(offset, cells[1], frozenset(word.lower() for word in cells[4 : 4 + 2 * count : 2]), above)
        except (IndexError, ValueError):
            where = str(self.place / "data.noun")
            raise ItmlabError(f"no synset begins at byte {offset}", where=where) from None

    def _above(self, offset: int) -> dict[int, int]:
        """The synset itself and all above it, each with the fewest steps up to it, nearest first."""
        found, level = {offset: 0}, [offset]
        while level:
            level = [up for below in level for up in self.synset(below).above if up not in found]
            found |= {up: max(found.values()) + 1 for up in level}
        return found


def _has(place: Path, name: str) -> bool:
    folder = zipfile.Path(place, "wordnet/") if place.suffix == ".zip" and _holds(place) else place
    return (folder / name).is_file()


def _lines(place: Path, name: str) -> list[bytes]:
    return _bytes(place, name).splitlines()


def _bytes(place: Path, name: str) -> bytes:
    try:
        folder = zipfile.Path(place, "wordnet/") if place.suffix == ".zip" else place
        return (folder / name).read_bytes()
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ItmlabError(f"cannot be read ({error})", where=str(place / name)) from None


@lru_cache(maxsize=2)  # 50 MB, which nobody changes
def _nouns(place: Path) -> tuple[dict[str, tuple[int, bytes]], bytes, dict[tuple[str, int], int]]:
    lines = enumerate(_lines(place, "index.noun"), start=1)
    index = {line.partition(b" ")[0].decode("utf-8", "replace"): (number, line) for number, line in lines}
    counts: dict[tuple[str, int], int] = {}
    for line in _lines(place, "cntlist.rev") if _has(place, "cntlist.rev") else ():
        key, _, rest = line.partition(b"%1:")  # sense key, number of the sense, how often it was met
        if rest:
            _, number, count = rest.split()
            counts[key.decode("utf-8", "replace"), int(number)] = int(count)
    return index, _bytes(place, "data.noun"), counts


_loaded = lru_cache(maxsize=2)(WordNet)
