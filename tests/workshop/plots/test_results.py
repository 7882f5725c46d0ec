"""Results on disk: what is written is read again, and an incomplete file is refused."""

import json
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from workshop.plots.charts import Line
from workshop.plots.drawn import curve_rows, record_result
from workshop.plots.results import Result, level_rows, list_results, load_result, save_result

from itmlab.errors import ItmlabError
from itmlab.metrics.statistics import Interval

ROWS = [
    {"group": "rate 1e-4", "row": "fne", "measure": "RSum", "value": 2.0, "lower": 1.0, "upper": 3.0},
    {"group": "rate 1e-3", "row": "fne", "measure": "RSum", "value": 5.0, "per_seed": [4.0, 6.0], "pairs": 7},
]
RESULT = Result("small", "What does FNE add?", "python -m workshop reproduce", ROWS, seeds=[0, 1])


def test_a_saved_result_is_read_again(tmp_path):
    save_result(RESULT, tmp_path)
    read = load_result("small", tmp_path)
    assert list_results(tmp_path) == ["small"] and read.seeds == [0, 1] and read.versions["torch"]
    assert read.interval(group="rate 1e-4") == Interval(2.0, 1.0, 3.0)
    assert read.row(group="rate 1e-3")["per_seed"] == [4.0, 6.0]
    with pytest.raises(ItmlabError, match="2 rows"):
        read.row(row="fne")


@pytest.mark.parametrize(
    "change", [{"question": ""}, {"rows": []}, {"rows": [{"row": "fne", "measure": "RSum"}]}, {"colour": "red"}]
)
def test_an_incomplete_result_is_refused(tmp_path, change):
    path = save_result(RESULT, tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ItmlabError, match=r"small\.json"):
        load_result("small", tmp_path)


def test_an_unknown_result_is_refused_with_the_nearest():
    with pytest.raises(ItmlabError, match="did you mean fne_statistics"):
        load_result("fne_statistic")


@pytest.mark.parametrize("name", list_results())
def test_committed_results_say_how_they_were_measured(name):
    result = load_result(name)
    assert result.name == name and result.command.startswith("python -m workshop") and result.versions["itmlab"]
    assert result.commit and (result.seeds or result.recipes or result.protocol)
    assert result.recipes or len(result.seeds) < 2
    for row in result.rows:
        assert row["lower"] is None or row["lower"] - 1e-9 <= row["value"] <= row["upper"] + 1e-9, row
        if row["lower"] is not None and row["x"] is None and len(result.seeds) > 1:
            assert len(row["per_seed"]) == len(result.seeds), row
    keys = [tuple(str(row.get(key)) for key in ("group", "row", "measure", "minus", "x")) for row in result.rows]
    assert len(set(keys)) == len(keys)


def committed(name: str) -> go.Figure:
    """Return the committed figure NAME."""
    path = Path(__file__).resolve().parents[3] / "figures" / f"{name}.json"
    return go.Figure(json.loads(path.read_text(encoding="utf-8"))["figure"])


# Results that notebooks draw without `draw_result`.
COMPUTED = ["discrimination_seeing", "synthetic_scores"]


@pytest.mark.parametrize("name", COMPUTED)
def test_the_committed_figure_of_a_shipped_model_shows_its_result(name):
    figure = committed(name)
    numbers = np.concatenate([np.array(trace.x, dtype=float) for trace in figure.data])
    words = " ".join(annotation.text or "" for annotation in figure.layout.annotations)
    for row in load_result(name).rows:
        assert np.isclose(numbers, row["value"]).any() or f"{row['value']:.0f} %" in words, row


def test_new_rows_replace_those_of_a_committed_result(tmp_path, monkeypatch):
    monkeypatch.setenv("ITMLAB_FIGURES", str(tmp_path / "figures"))
    rows = level_rows({"dense": {"captions": 4.0}, "sparse": {"captions": (2.0, 1.0, 3.0)}})
    figure = record_result("true_images", rows, seeds=[7])
    assert {4.0, 2.0} <= {value for trace in figure.data for value in trace.x}
    assert load_result("true_images", tmp_path / "results").seeds == [7]
    assert (tmp_path / "figures" / "true_images.json").is_file()


def test_a_deleted_result_is_measured_again(tmp_path, monkeypatch):
    monkeypatch.setenv("ITMLAB_FIGURES", str(tmp_path / "figures"))
    monkeypatch.setattr("workshop.plots.drawn.list_results", lambda: [])
    monkeypatch.setattr("sys.argv", ["/tmp/R3.py"])
    record_result("true_images", level_rows({"dense": {"captions": 4.0}}), seeds=[7])
    result = load_result("true_images", tmp_path / "results")
    assert result.command == "python -m workshop reproduce R3" and result.question and result.rows[0]["value"] == 4.0


def test_every_point_of_a_curve_is_a_row():
    ends = (np.array([0.0, 1.0]), np.array([2.0, 3.0]))
    banded = Line(np.array([1.0, 2.0]), [5, 6], *ends)
    rows = curve_rows({"a": {"plain": [3.0]}, "b": {"banded": banded}}, [0.5], unit="%")
    assert rows[0] == {"row": "plain", "measure": "a", "x": 0.5, "value": 3.0, "unit": "%"}
    assert rows[2] == {"row": "banded", "measure": "b", "x": 6, "value": 2.0, "lower": 1.0, "upper": 3.0, "unit": "%"}
