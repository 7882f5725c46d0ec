"""A corpus of inputs that succeed in what they must not do, to show that the worker notices."""

import os
import pickle
import socket
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path
from random import Random

from itmlab.errors import ItmlabError
from tests.hostile.damage import Use


def _raises() -> None:
    raise KeyError("a traceback")


def _ill_advised() -> None:
    raise ItmlabError("not plain tensors", remedy="re-run with weights_only=False")


def _swallowed() -> None:
    try:
        subprocess.run(["true"], check=True)
    except OSError:
        raise ItmlabError("a program was started, and nobody says so") from None


DEEDS: list[Callable[[], object]] = [
    _raises,
    _ill_advised,
    _swallowed,
    lambda: os.system("true"),
    lambda: pickle.loads(pickle.dumps(Path)),
    lambda: urllib.request.urlopen("http://127.0.0.1:9/", timeout=1),
    lambda: socket.create_connection(("127.0.0.1", 9), timeout=1),
    lambda: Path("../elsewhere").write_text("x"),
    lambda: Path("../beside/secret.txt").read_text(),
    lambda: Path("../beside/secret.txt").unlink(),
    lambda: bytearray(b"x") * 2**31,  # written, as zeros that are only read take no memory
    lambda: bytearray(2**43),
    lambda: os.kill(os.getpid(), 11),
    lambda: os._exit(0),
]


def begin(home: Path) -> None:
    """Nothing is shared."""


def attempt(rng: Random, folder: Path, shared: None) -> Use:
    """The deed of the number that seeded `rng`."""
    numbered = next(at for at in range(len(DEEDS)) if Random(f"villains {at}").getstate() == rng.getstate())
    DEEDS[numbered]()
    return lambda: None
