"""A run at a glance: its panels hold what the run recorded."""

from workshop.explore.history import view

import itmlab
from tests.refusals import refused


def test_a_shipped_run_has_every_panel_and_its_numbers() -> None:
    run = itmlab.pretrained("fne")
    figure = view(run)
    lines = {trace.name: trace for trace in figure.data if trace.showlegend}
    losses = [record["loss"] for record in run.history if record["kind"] == "epoch"]
    assert list(lines["mean of an epoch"].y) == losses
    assert {"every tenth step", "gradients", "positives", "negatives"} <= lines.keys()


def test_a_directory_without_a_recipe_is_refused(tmp_path) -> None:
    refused("recipe.json", view, tmp_path)


def test_a_run_that_has_not_begun_is_drawn_and_its_name_stays_text(tmp_path) -> None:
    itmlab.recipe("fne").replace(name="<b>bold</b>").save(tmp_path / "recipe.json")
    title = view(tmp_path).layout.title.text
    assert "&lt;b&gt;" in title and "<b>" not in title
