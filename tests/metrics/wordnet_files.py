"""A small WordNet in the real file format (wndb(5WN)): the index files that say which synsets hold a word."""

from collections.abc import Sequence
from pathlib import Path

LICENCE = (
    "  1 This software and database is being provided to you, the LICENSEE, by  \n"
    "  2 Princeton University under the following license.  \n"
    "  3 WordNet {version} Copyright 2006 by Princeton University.  All rights reserved.  \n"
)
LETTERS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


def write_wordnet(folder: Path, synsets: dict[str, Sequence[Sequence[str]]], version: str = "3.0") -> Path:
    """Write `index.noun` … with these synsets (lists of words) for each part of speech, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, letter in LETTERS.items():
        offsets: dict[str, list[str]] = {}
        for number, words in enumerate(synsets.get(part, ())):
            for word in words:
                offsets.setdefault(word, []).append(f"{1740 + 97 * number:08d}")
        lines = [
            f"{word} {letter} {len(held)} 2 @ ~ {len(held)} 0 {' '.join(held)}  \n"
            for word, held in sorted(offsets.items())
        ]
        (folder / f"index.{part}").write_text(LICENCE.format(version=version) + "".join(lines))
    return folder
