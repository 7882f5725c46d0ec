"""Synonyms from an installed WordNet (Miller 1995): words in a common synset. Read from its `index.*` files alone."""

import os
import re
import sys
import zipfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

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


def _lines(place: Path, name: str) -> list[bytes]:
    try:
        folder = zipfile.Path(place, "wordnet/") if place.suffix == ".zip" else place
        return (folder / name).read_bytes().splitlines()
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ItmlabError(f"cannot be read ({error})", where=str(place / name)) from None


_loaded = lru_cache(maxsize=2)(WordNet)
