"""Where an installed WordNet may lie, and the command that brings one."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

COMMAND = "apt-get install wordnet-base (or python -m nltk.downloader wordnet)"


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
