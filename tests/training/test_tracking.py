"""Records go to a local trackio project as flat numbers."""

import sqlite3

import pytest

from itmlab.errors import MissingPart
from itmlab.training import train
from itmlab.training.tracking import flat, tracked

from .world import micro


def test_a_record_becomes_numbers_with_one_name_each() -> None:
    record = {"kind": "epoch", "epoch": 2, "step": 8, "loss": 0.5, "i2t": {1: 30.0}, "rsum": 200.0, "choices": "a1"}
    expected = {"epoch/epoch": 2, "epoch/loss": 0.5, "epoch/i2t R@1": 30.0, "epoch/rsum": 200.0}
    assert flat(record) == expected


def test_losses_have_names_of_their_own_and_histograms_stay_in_the_run() -> None:
    record = {"kind": "step", "step": 8, "losses": {"retrieved": 0.5}, "difficulty": {"synthetic": [1, 2]}}
    assert flat(record) == {"step/losses retrieved": 0.5}


def test_a_run_is_logged_and_stays_on_this_machine(data, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("trackio.utils.TRACKIO_DIR", tmp_path / "trackio")
    monkeypatch.setattr("trackio.sqlite_storage.TRACKIO_DIR", tmp_path / "trackio")
    with tracked("itmlab-test", micro("triplet"), tmp_path / "run") as on_record:
        run = train(micro("triplet"), data, tmp_path / "run", progress=False, on_record=on_record)
    (database,) = (tmp_path / "trackio").rglob("*.db")
    with sqlite3.connect(database) as connection:
        (count,) = connection.execute("select count(*) from metrics").fetchone()
    assert count == len(run.history)


def test_without_trackio_one_line_says_what_brings_it(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "trackio", None)
    with pytest.raises(MissingPart, match=r"pip install .*track"), tracked("p", micro("triplet"), tmp_path):
        pass
