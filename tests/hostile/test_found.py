"""What the corpora found, each as the smallest input that showed it."""

import io
import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pyarrow
import pytest
import torch
from pyarrow import parquet

from itmlab.data import load
from itmlab.data.faults import Fault, FaultyData
from itmlab.errors import ItmlabError
from itmlab.runs.checkpoint import Checkpoints, shipped_directory
from itmlab.runs.run import Run
from itmlab.storage import inside
from itmlab.studies.kit import saving
from tests.refusals import refused


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "cache"))


def test_an_error_shows_what_would_move_the_cursor_or_break_the_line() -> None:
    error = ItmlabError("an unknown \x1b[2J variant", where="a\nb.json", remedy="see\u2028there")
    assert str(error) == r"a\nb.json: an unknown \x1b[2J variant — see\u2028there"
    faults = FaultyData([Fault("a\nb", 1, "x\ry"), Fault("c", 2, "other")], name="mine", listed_in=None)
    assert str(faults).count("\n") == 3 and r"a\nb:1: x\ry" in str(faults)  # a line a kind, and no more


def test_a_member_of_an_archive_that_is_no_array_is_refused(tmp_path: Path) -> None:
    (tmp_path / "captions.jsonl").write_text('{"image": "0.jpg", "caption": "a dog"}\n')
    (tmp_path / "regions").mkdir()
    buffer = io.BytesIO()
    np.save(buffer, np.zeros((2, 4), np.float32))
    with zipfile.ZipFile(tmp_path / "regions/0.npz", "w") as zipped:
        zipped.writestr("norm_bb.npy", buffer.getvalue())
        zipped.writestr("features.npy", b"no array at all")
    refused(r"0\.npz: arrays that do not belong together", load, "regions", tmp_path)


def test_damage_to_a_seal_hides_no_other_damage(tmp_path: Path) -> None:
    states = Checkpoints(tmp_path)
    states.save({"model": {"w": torch.ones(3)}}, {"step": 1, "epoch": 0, "batch": 1})
    (weights,) = tmp_path.rglob("*.safetensors")
    whole, state = weights.read_bytes(), states.pointer.read_bytes()
    for seal, other in ((b'"sha256"', b'"shar56"'), (b'"sha256":"', b'"sha256":"x')):  # no seal, and one that is none
        damaged = whole.replace(seal, other)[:-1] + b"\x40"
        weights.write_bytes(len(damaged[8 : damaged.index(b"}}") + 2]).to_bytes(8, "little") + damaged[8:])
        refused("damaged", states.load)
    weights.write_bytes(whole)
    states.pointer.write_bytes(state.replace(b'"sha256"', b'"sha255"').replace(b'"step": 1', b'"step": 9'))
    refused("not the state of a run", states.load)
    states.pointer.write_bytes(state)
    assert states.load()[0]["model"]["w"].equal(torch.ones(3))


def test_a_name_that_no_file_can_have_leaves_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for name in ("a\0b", "\ud800", "loop/x"):
        refused("no file's name", inside, tmp_path, name)


def test_a_column_of_numbers_is_no_column_of_pictures(tmp_path: Path) -> None:
    rows = [{"image": number, "caption": "a dog"} for number in range(3)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    refused("'image' holds no pictures", load, "hub", tmp_path / "rows.jsonl", image_column="image")


@pytest.mark.parametrize(("column", "said"), [("caption", "'caption' cannot be read"), ("image", "is not UTF-8")])
def test_a_column_that_is_no_text_though_it_says_so_is_refused(tmp_path: Path, column: str, said: str) -> None:
    buffers = [None, pyarrow.py_buffer(np.array([0, 3], np.int32)), pyarrow.py_buffer(b"a\xef ")]
    spoilt = pyarrow.Array.from_buffers(pyarrow.string(), 1, buffers)
    table = pyarrow.table({"image": ["0.jpg"], "caption": ["a dog"]} | {column: spoilt})
    parquet.write_table(table, tmp_path / "rows.parquet")
    refused(said, load, "hub", tmp_path / "rows.parquet", image_column="image")


def test_a_folder_where_a_run_has_a_file_is_left_out_of_its_export(tmp_path: Path) -> None:
    shutil.copytree(shipped_directory("triplet"), tmp_path / "run")
    (tmp_path / "run" / "data.json").unlink()
    (tmp_path / "run" / "data.json").mkdir()
    exported = Run(tmp_path / "run").export(tmp_path / "again")
    assert exported.finished and not (exported.directory / "data.json").exists()


def test_a_figure_with_a_number_that_no_page_can_hold_is_refused(tmp_path: Path) -> None:
    saved = {"provenance": {}, "figure": {"data": [{"type": "bar", "customdata": [2**70]}]}}
    (tmp_path / "one.json").write_text(json.dumps(saved))
    refused(r"one\.html: not a figure that has a page: ", saving.write_pages, tmp_path)
