"""File systems that are full, mounted for the test: one line says so, nothing is half written, and then it goes on.

Where this user may mount nothing, files that may not grow say the same (`room_for` in the tests of each writer).
"""

import gc
import shutil
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
import torch

from itmlab import pretrained
from itmlab.errors import UnusablePath
from itmlab.runs.scores import similarity, write_embeddings
from itmlab.scenes import load
from itmlab.storage import read_sealed
from itmlab.studies.kit import save, saving, write_figure
from itmlab.synthesis import generate_negatives, write_negatives
from itmlab.training.loop import train
from tests.synthesis.negatives_data import hostile_set, swaps
from tests.training.world import micro, small_world

SIZE = 24 * 2**20  # bytes of the disk
KINDS = {
    "tmpfs": "mount -t tmpfs -o size={size} tmpfs {place}",
    "ext4": "truncate -s {size} {place}.img && mkfs.ext4 -q -F -m 0 {place}.img && mount -o loop {place}.img {place}",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each file system with `--long`, the first in CI."""
    metafunc.parametrize("disk", list(KINDS)[: None if metafunc.config.getoption("--long") else 1], indirect=True)


@pytest.fixture(scope="module")
def disk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small file system of its own."""
    place = tmp_path_factory.mktemp("disks") / request.param
    place.mkdir()
    made = subprocess.run(KINDS[request.param].format(size=SIZE, place=place), shell=True, capture_output=True)
    if made.returncode:
        pytest.skip(f"this user may mount no {request.param}")
    yield place
    subprocess.run(["umount", place], check=True)


def leave(disk: Path, room: int | None) -> None:
    """Fill the disk until it has no more than so many bytes (None: all of them)."""
    gc.collect()  # a removed file that something still maps has its room, until that goes
    (disk / "filler").unlink(missing_ok=True)
    if room is not None:
        with open(disk / "filler", "wb", buffering=0) as file:
            with suppress(OSError):
                while True:
                    file.write(bytes(4096))
            file.truncate(max(file.tell() - room, 0))


def contents(place: Path) -> dict[str, bytes]:
    """What lies at a place, but for what says how long it took."""
    files = (path for path in place.rglob("*") if path.is_file() and path.name != "timings.jsonl")
    return {str(path.relative_to(place)): path.read_bytes() for path in files}


FIGURE = go.Figure(go.Scatter(y=np.arange(20_000.0)))
WRITERS = {
    "training": lambda place: train(
        micro(data__epochs=2), small_world(), place / "run", checkpoint_every=1, progress=False
    ),
    "run": lambda place: pretrained("triplet").export(place / "run"),
    "scenes": lambda place: load(images=30, size=64, cache=place / "cache"),
    "negatives": lambda place: write_negatives(
        place / "negatives.jsonl", hostile_set(400), generate_negatives(hostile_set(400), swaps)
    ),
    "embeddings": lambda place: write_embeddings(
        pretrained("triplet"), load(images=12), place / "features.safetensors"
    ),
    "scores": lambda place: similarity(
        pretrained("tags").model, load(images=12, regions=True), resume=place / "scores.safetensors"
    ),
    "figure": lambda place: save(FIGURE, "figure", {}, directory=place),
    "page": lambda place: write_figure(FIGURE, place / "figure.html"),
    "recipe": lambda place: micro().save(place / "recipe.json"),
}
TAKEN_UP = {"training": "run/", "run": "run/resume"}  # of what is finished


@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_half_written_and_it_goes_on_when_there_is_room(
    name: str, disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "draw", lambda figure: "no PNG here")
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "elsewhere"))
    torch.manual_seed(0)
    leave(disk, None)
    for old in ("place", "whole"):
        shutil.rmtree(disk / old, ignore_errors=True)
    write, place, whole = WRITERS[name], disk / "place", disk / "whole"
    write(whole)
    wanted, refused = contents(whole), 0
    size = sum(map(len, wanted.values()))
    shutil.rmtree(whole)
    for part in (0.0, 0.3, 0.6, 0.9):
        leave(disk, int(size * part))
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                write(place)
            # a cache for which not even a folder can be made is built for this process alone, and a warning says so
            refused += any("nothing is kept here (No space left on device)" in str(one.message) for one in told)
        except UnusablePath as error:
            refused += 1
            assert "No space left on device — make room on that disk and do the same again" in str(error)
            assert "\n" not in str(error) and str(disk) in str(error)
        there = contents(place)
        half = {path for path in there if there[path] != wanted.get(path)}
        assert all(name in TAKEN_UP and path.startswith(TAKEN_UP[name]) for path in half), half
        assert not [path for path in place.rglob("*") if "tmp" in path.name or "building" in path.name]
        for path in place.rglob("*.safetensors"):
            read_sealed(path)
    leave(disk, None)
    write(place)
    assert refused and contents(place) == wanted
