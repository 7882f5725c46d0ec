"""A run at a glance: each panel holds what the run recorded, and says so where it recorded nothing."""

import json

import numpy as np

import itmlab
from itmlab.studies.kit import viewer
from itmlab.studies.kit.viewer import view
from tests.refusals import refused
from tests.training.conftest import data, finished, finished_once, one_thread

__all__ = ["data", "finished", "finished_once", "one_thread"]


def words(figure) -> list[str]:
    return [annotation.text for annotation in figure.layout.annotations]


def test_a_finished_run_has_curves_recall_and_histograms(finished) -> None:
    figure = view(finished.directory)
    assert "not recorded by this run" not in words(figure)
    lines = {trace.name: trace for trace in figure.data if trace.type == "scatter" and trace.name}
    losses = [record["loss"] for record in finished.epochs]
    assert list(lines["mean of an epoch"].y) == losses and list(lines["every tenth step"].x) == [10]
    recalls = [trace for trace in figure.data if trace.type == "scatter" and trace.legendgroup == "i2t"]
    assert [list(trace.y) for trace in recalls] == [
        [record["i2t"][k] for record in finished.epochs] for k in finished.epochs[0]["i2t"]
    ]
    (gradients,) = (trace for trace in figure.data if trace.type == "heatmap")
    assert 90 < np.sum(gradients.z) <= 100.001
    for name, counts in finished.history[2]["cosines"].items():  # half of the pairs lie below the median, by whole bins
        below = np.cumsum(counts)[np.searchsorted(np.linspace(-1, 1, 41), lines[f"{name}s"].y[0]) - 1]
        assert below >= sum(counts) / 2 >= below - max(counts)


def test_a_shipped_run_has_every_panel_and_its_recipe() -> None:
    figure = itmlab.view(itmlab.pretrained("fne"))
    assert "not recorded by this run" not in words(figure)
    (table,) = (trace for trace in figure.data if trace.type == "table")
    recipe = dict(zip(*table.cells.values, strict=True))
    assert recipe["sampler.options.prior"] == "0.1" and recipe["data.steps"] == "300"


def test_a_run_from_before_says_what_it_did_not_record(tmp_path) -> None:
    run = itmlab.pretrained("fne").export(tmp_path / "run")
    records = [json.loads(line) for line in (run.directory / "history.jsonl").read_text().splitlines()]
    without = [{name: record[name] for name in record if name not in ("gradients", "cosines")} for record in records]
    (run.directory / "history.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in without))
    assert words(view(run.directory)).count("not recorded by this run") == 2


def test_what_is_no_run_is_one_line(tmp_path) -> None:
    refused("not a run directory, it has no recipe.json", view, tmp_path)


def test_a_name_with_markup_stays_text(tmp_path) -> None:
    itmlab.recipes.fne.replace(name="<b>bold</b>").save(tmp_path / "recipe.json")
    figure = view(tmp_path)
    assert "&lt;b&gt;" in figure.layout.title.text and "<b>" not in figure.layout.title.text
    assert words(figure).count("not recorded by this run") == 4


def test_recalls_that_end_close_to_each_other_share_a_label():
    def ends(**last):
        epochs = [{"step": 10, **{side: {int(k): 50.0 for k in ("1", "5", "10")} for side in ("i2t", "t2i")}}]
        epochs.append({**epochs[0], "step": 20, "i2t": {int(k[1:]): value for k, value in last.items()}})
        figure = viewer.make_subplots(rows=2, cols=2)
        viewer._recall(figure, epochs)
        return [trace.text[-1] for trace in figure.data[:3]]

    assert ends(k1=40.0, k5=70.0, k10=90.0) == ["R@1", "R@5", "R@10"]
    assert ends(k1=80.0, k5=97.0, k10=99.0) == ["R@1", "", "R@5, R@10"]
    assert ends(k1=95.0, k5=99.0, k10=100.0) == ["", "", "R@1, R@5, R@10"]
