"""An installed WordNet (Miller 1995): words in a common synset are synonyms, for SPICE."""

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
Folder = Path | zipfile.Path  # nltk keeps WordNet in a zip file


def wordnet(synonyms: str = "auto") -> "WordNet | None":
    """Return the WordNet to match words by.

    Args:
        synonyms: "none" gives None, "auto" the installed one or None, "wordnet" the installed one.

    Raises:
        ItmlabError: another choice, or a WNSEARCHDIR without a WordNet.
        MissingPart: no WordNet is installed and "wordnet" was asked for.
    """
    if synonyms not in ("auto", "wordnet", "none"):
        raise ItmlabError(f"unknown synonyms={synonyms!r}", remedy='use "auto", "wordnet" or "none"')
    place = None if synonyms == "none" else next(filter(_folder, wordnet_places()), None)
    if place is None and synonyms == "wordnet":
        raise MissingPart("WordNet", COMMAND, needed_for="SPICE with synonyms")
    return None if place is None else _loaded(place)


def wordnet_places() -> list[Path]:
    """Return folders and zip files to look in, best first: WNSEARCHDIR, WNHOME, nltk's corpora, Debian's folder.

    Raises:
        ItmlabError: WNSEARCHDIR names a place without a WordNet.
    """
    named, home = os.environ.get("WNSEARCHDIR"), os.environ.get("WNHOME")
    if named and not _folder(Path(named)):
        raise ItmlabError("there is no WordNet (index.noun)", where=named, remedy="correct WNSEARCHDIR")
    roots = [*os.environ.get("NLTK_DATA", "").split(os.pathsep), Path.home() / "nltk_data", f"{sys.prefix}/nltk_data"]
    corpora = [Path(root, "corpora", name) for root in roots if root for name in ("wordnet", "wordnet.zip")]
    return [Path(place) for place in (named, home and f"{home}/dict", *corpora, "/usr/share/wordnet") if place]


def _folder(place: Path) -> Folder | None:
    """Return the folder of WordNet's files at a place, which may be a zip file; None if there is none."""
    folder = zipfile.Path(place, "wordnet/") if zipfile.is_zipfile(place) else place
    return folder if (folder / "index.noun").is_file() else None


def _index(folder: Folder, part: str) -> Iterator[tuple[str, list[int]]]:
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


class WordNet:
    """The synsets of every word of a WordNet, of any part of speech, as SPICE takes them.

    Args:
        directory: holds `index.noun` … `index.adv` (wndb(5WN)), or is nltk's zip file.

    Attributes:
        version: as its licence says.
    """

    def __init__(self, directory: str | Path):
        folder = _folder(Path(directory)) or Path(directory)
        self._synsets: dict[str, frozenset[tuple[str, int]]] = {}
        try:
            stated = re.search(rb"WordNet (\d[\d.]*) Copyright", (folder / "index.noun").read_bytes())
            self.version = stated.group(1).decode() if stated else "of unknown version"
            for part in PARTS_OF_SPEECH:
                for lemma, offsets in _index(folder, part):
                    synsets = self._synsets.get(lemma, frozenset())
                    self._synsets[lemma] = synsets | {(part, offset) for offset in offsets}
        except (OSError, KeyError) as error:
            raise ItmlabError(f"cannot be read ({error})", where=str(directory), remedy=COMMAND) from None

    def synsets(self, word: str) -> frozenset[tuple[str, int]]:
        """Return the synsets that hold the word, none if WordNet does not know it; "hot dog" is found as hot_dog."""
        return self._synsets.get("_".join(word.lower().split()), frozenset())


_loaded = lru_cache(maxsize=2)(WordNet)
