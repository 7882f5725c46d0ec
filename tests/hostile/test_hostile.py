"""Damaged and hostile files: each is refused in one line or can be used, and none of them runs code.

One harness damages a valid file of each kind that itmlab reads, while an audit hook watches for pickled functions,
started programs and connections. After it come the attacks that have names.
"""

import io
import json
import os
import pickle
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import itmlab
from itmlab.data import load
from itmlab.data.faults import Fault, FaultyData
from itmlab.data.pictures import read_image
from itmlab.errors import ItmlabError
from itmlab.models import CrossEncoderConfig, DualEncoder, load_public
from itmlab.storage import inside
from itmlab.text import parse
from itmlab.text.tokens import load_tokenizer, train_wordpiece
from itmlab.train.directory import HOME
from itmlab.train.recipes import Recipe
from tests.data.picture_files import load_captions, photograph, write_folder, write_karpathy
from tests.refusals import refused
from tests.train.world import caption_set

FORBIDDEN = {"os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "pickle.find_class"}
FORBIDDEN |= {"socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"}
noticed: list[str] | None = None


def watch(event: str, details: tuple[Any, ...]) -> None:
    """Record what no input may bring about, while a test watches."""
    if noticed is not None and event in FORBIDDEN:
        noticed.append(f"{event} {details[:2]!r}")


sys.addaudithook(watch)


@contextmanager
def watched() -> Iterator[None]:
    """Assert that the block starts no program, opens no connection and unpickles no function."""
    global noticed
    noticed = []
    try:
        yield
        assert not noticed
    finally:
        noticed = None


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "cache"))


def test_the_watch_notices_a_pickled_function():
    with pytest.raises(AssertionError), watched():
        pickle.loads(pickle.dumps(Path))


# The harness. Each kind: the file that is damaged, a function that writes it, and one that reads and uses it.


def write_archive(root: Path) -> None:
    (root / "regions").mkdir()
    features, boxes = np.ones((4, 8), np.float16), np.full((4, 4), 0.5, np.float16)
    np.savez(root / "regions" / "0.npz", features=features, norm_bb=boxes, conf=np.ones(4, np.float16))
    (root / "captions.jsonl").write_text('{"image": "0.jpg", "captions": ["a dog"]}\n')


def write_array(root: Path) -> None:
    np.save(root / "train_ims.npy", np.ones((2, 3, 8), np.float32))
    (root / "train_caps.txt").write_text("a dog\na cat\n")


def read_regions(root: Path) -> None:
    assert load("regions", root).regions[0].features.isfinite().all()


def read_table(path: Path) -> None:
    data = load_captions(path)
    assert all(graph.tuples() is not None for graph in parse(data.captions, cache=False))


def read_recipe(path: Path) -> None:
    recipe = Recipe.load(path)
    assert Recipe.from_json(recipe.to_json()) == recipe


def copy_model(root: Path) -> None:
    shutil.copytree(HOME / "triplet", root, dirs_exist_ok=True)


def encode(root: Path) -> None:
    model = DualEncoder.load(root)
    with torch.no_grad():
        assert model.encode_captions(model.prepare_captions(["a dog"])).pooled.isfinite().all()


KINDS: dict[str, tuple[str, Callable[[Path], Any], Callable[[Path], Any]]] = {
    "PNG": ("0.png", lambda root: photograph().save(root / "0.png"), lambda root: read_image(root / "0.png").load()),
    "JPEG": ("0.jpg", lambda root: photograph().save(root / "0.jpg"), lambda root: read_image(root / "0.jpg").load()),
    "JSON lines": ("captions.jsonl", write_folder, lambda root: read_table(root / "captions.jsonl")),
    "CSV": (
        "captions.csv",
        lambda root: (root / "captions.csv").write_text('image,caption\n0,"a dog"\n1,"a, cat"\n'),
        lambda root: read_table(root / "captions.csv"),
    ),
    "Karpathy": (
        "dataset_coco.json",
        lambda root: write_karpathy(root, "coco", ["train", "test"]),
        lambda root: load("coco", root).images[0].load(),
    ),
    "npz": ("regions/0.npz", write_archive, read_regions),
    "npy": ("train_ims.npy", write_array, read_regions),
    "recipe": ("recipe.json", copy_model, lambda root: read_recipe(root / "recipe.json")),
    "tokeniser": ("tokenizer.json", copy_model, lambda root: load_tokenizer(root)(["a dog"])),
    "configuration": ("config.json", copy_model, encode),
    "weights": ("model.safetensors", copy_model, encode),
}
JUNK = [b"\0" * 16, b"\xff" * 16, b'"', b"\n", b"[" * 50_000, b"9" * 5000, b"NaN", b"../x", b"\xed\xa0\x80", b"\x1b[2J"]
damage = st.tuples(
    st.floats(0, 0.999),
    st.sampled_from(["flip", "cut", "insert", "replace"]),
    st.binary(max_size=4) | st.sampled_from(JUNK),
)


def damaged(content: bytes, changes: list[tuple[float, str, bytes]]) -> bytes:
    """Flip, cut, insert and replace bytes."""
    for place, kind, junk in changes:
        at = int(place**2 * len(content))  # more often near the beginning, where headers are
        if kind == "flip" and content:
            content = content[:at] + bytes([content[at] ^ 1 << len(junk) % 8]) + content[at + 1 :]
        elif kind == "cut":
            content = content[:at] + content[at + 16 :] if junk else content[:at]
        else:
            content = content[:at] + junk + content[at + (len(junk) if kind == "replace" else 0) :]
    return content


@pytest.fixture(scope="module", params=KINDS)
def original(request, tmp_path_factory):
    """A kind with a valid file of it."""
    name, write, read = KINDS[request.param]
    root = tmp_path_factory.mktemp("original")
    write(root)
    read(root)
    return name, root, read


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.lists(damage, min_size=1, max_size=3))
@pytest.mark.filterwarnings("ignore")
def test_a_damaged_file_is_refused_in_one_line_or_can_be_used(original, changes):
    name, root, read = original
    content = (root / name).read_bytes()
    try:
        (root / name).write_bytes(damaged(content, changes))
        with watched():
            read(root)
    except ItmlabError as error:
        lines = str(error).split("\n") if isinstance(error, FaultyData) else [str(error)]
        assert all(line.isprintable() for line in lines)
        assert "weights_only=False" not in str(error)
    finally:
        (root / name).write_bytes(content)


# Attacks with a name.


class Villain:
    """Unpickled, it would run a command."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("true",)


def object_array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([[Villain()]]), allow_pickle=True)
    return file.getvalue()


def test_pickles_in_arrays_and_checkpoints_are_refused_unopened(tmp_path):
    write_archive(tmp_path)
    with zipfile.ZipFile(tmp_path / "regions" / "0.npz", "w") as archive:
        for name in ("features", "norm_bb"):
            archive.writestr(f"{name}.npy", object_array())
    tokenizer = train_wordpiece(["a dog", "a dog"])
    checkpoint = tmp_path / "model.pth.tar"
    with watched():
        with pytest.raises(ItmlabError, match="Python objects"):
            load("regions", tmp_path)
        write_array(tmp_path)
        (tmp_path / "train_ims.npy").write_bytes(object_array())
        with pytest.raises(ItmlabError, match="Python objects"):
            load("regions", tmp_path)
        for content in ({"model": Villain()}, [Villain()], {"model": [{"a": Villain()}], "opt": Villain()}):
            torch.save(content, checkpoint)
            refused("not a .safetensors file", load_public, checkpoint, tokenizer, CrossEncoderConfig())
        checkpoint.write_bytes(pickle.dumps(Villain()))
        refused("not a .safetensors file", load_public, checkpoint, tokenizer, CrossEncoderConfig())


@pytest.mark.parametrize("name", ["../outside.jpg", "/etc/hostname", "link.jpg", "a\0b", "\ud800", "loop/x"])
def test_no_name_leads_out_of_its_folder(tmp_path, name):
    root = write_folder(tmp_path / "own", 1, [{"image": name, "caption": "a dog"}])
    photograph().save(tmp_path / "outside.jpg")
    (root / "images" / "link.jpg").symlink_to(tmp_path / "outside.jpg")
    (root / "images" / "loop").symlink_to("loop")
    with pytest.raises(FaultyData) as caught:
        load("folder", root)
    assert caught.value.faults[0].row == 1
    with pytest.raises(ItmlabError):
        inside(root / "images", name)


def test_pipes_and_devices_are_refused_unread(tmp_path):
    root = write_folder(tmp_path / "own", 1)
    for table in ("pipe.jsonl", "pipe.csv"):
        os.mkfifo(tmp_path / table)
        refused("not a file", load, "folder", root, captions=tmp_path / table)
    (tmp_path / "endless.jsonl.gz").symlink_to("/dev/zero")
    refused("not a file", load, "folder", root, captions=tmp_path / "endless.jsonl.gz")


def test_what_would_move_the_cursor_or_break_the_line_is_shown(tmp_path):
    name = "a\x1b[2Jb\u202e"
    shutil.copytree(HOME / "triplet", tmp_path / name)
    data = caption_set([0], ["x"], [0], name=name, splits={name: [0]})
    assert repr(data).isprintable() and repr(itmlab.Run(tmp_path / name)).isprintable()
    error = ItmlabError("an unknown \x1b[2J variant", where="a\nb.json", remedy="see\u2028there")
    assert str(error) == r"a\nb.json: an unknown \x1b[2J variant — see\u2028there"
    faults = FaultyData([Fault("a\nb", 1, "x\ry"), Fault("c", 2, "other")], name="mine")
    assert str(faults).count("\n") == 3 and r"a\nb:1: x\ry" in str(faults)


def test_formulas_and_markup_stay_text(tmp_path):
    texts = ["=1+1", "<script>alert(1)</script>", "[SEP]", "{0} %s", "'; DROP TABLE graphs;"]
    (tmp_path / "captions.jsonl").write_text(json.dumps({"image": "0", "captions": texts}))
    assert load_captions(tmp_path / "captions.jsonl").captions == texts
    assert len(parse(texts)) == len(parse(texts)) == len(texts)  # the second from the cache
