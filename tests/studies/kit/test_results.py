"""Results on disk: what is written is read again, and an incomplete file is refused."""

import json

import numpy as np
import pytest

from itmlab.errors import ItmlabError
from itmlab.metrics.statistics import Interval
from itmlab.studies.kit import Result, committed, list_results, load_result, save_result

ROWS = [
    {"group": "rate 1e-4", "row": "fne", "measure": "RSum", "value": 2.0, "lower": 1.0, "upper": 3.0},
    {"group": "rate 1e-3", "row": "fne", "measure": "RSum", "value": 5.0, "per_seed": [4.0, 6.0], "pairs": 7},
]
RESULT = Result("small", "What does FNE add?", "python -m itmlab reproduce", ROWS, seeds=[0, 1])


def test_a_saved_result_is_read_again(tmp_path):
    save_result(RESULT, tmp_path)
    read = load_result("small", tmp_path)
    assert list_results(tmp_path) == ["small"] and read.seeds == [0, 1] and read.versions["torch"]
    assert read.interval(group="rate 1e-4") == Interval(2.0, 1.0, 3.0)
    assert read.row(group="rate 1e-3")["per_seed"] == [4.0, 6.0]
    with pytest.raises(ItmlabError, match="2 rows"):
        read.row(row="fne")
    with pytest.raises(ItmlabError, match="no interval"):
        read.interval(group="rate 1e-3")


@pytest.mark.parametrize(
    "change", [{"question": ""}, {"rows": []}, {"rows": [{"row": "fne", "measure": "RSum"}]}, {"colour": "red"}]
)
def test_an_incomplete_result_is_refused(tmp_path, change):
    path = save_result(RESULT, tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ItmlabError, match=r"small\.json"):
        load_result("small", tmp_path)


def test_an_unknown_result_is_refused_with_the_nearest():
    with pytest.raises(ItmlabError, match="did you mean fne_contrasts"):
        load_result("fne_contrast")


@pytest.mark.parametrize("name", list_results())
def test_committed_results_say_how_they_were_measured(name):
    result = load_result(name)
    assert result.name == name and result.command.startswith("python -m itmlab") and result.versions["itmlab"]
    assert result.commit and (result.aggregate or result.seeds or result.recipes or result.protocol)
    for row in result.rows:
        assert row["lower"] is None or row["lower"] - 1e-9 <= row["value"] <= row["upper"] + 1e-9, row
    keys = [tuple(str(row.get(key)) for key in ("group", "row", "measure", "minus", "x")) for row in result.rows]
    assert len(set(keys)) == len(keys)


# Results of shipped models, which notebooks compute and draw without `draw_result`.
COMPUTED = [
    *("calibration", "discrimination_seeing", "fluency", "memory_over_clusters", "negatives_taken"),
    *("pointing", "semantic_recall", "synthetic_scores", "true_negatives", "word_accuracy"),
]


@pytest.mark.parametrize("name", COMPUTED)
def test_the_committed_figure_of_a_shipped_model_shows_its_result(name):
    figure = committed(name)
    numbers = [
        float(number)
        for trace in figure.data
        for values in (trace.x, trace.y, trace.customdata if name == "calibration" else ())
        for number in np.ravel(values if values is not None else ())
        if isinstance(number, float | int)
    ]
    words = " ".join(annotation.text or "" for annotation in figure.layout.annotations)
    for row in load_result(name).rows:
        if row["measure"] != "true − claimed" and row["group"] != "balanced":  # not drawn
            shares = np.isclose(numbers, row["value"]) | np.isclose(numbers, row["value"] / 100)
            assert shares.any() or f"{row['value']:.0f} %" in words, row
