"""The explorer of synthetic negatives in a browser: another generator, another temperature, another picture."""

import pytest

from tests.browser.conftest import Lab
from tests.browser.test_lab import PATIENCE, choose_picture, open_and_run, press, screenshot
from tests.browser.test_masking import annotations, wait_for_change

pytestmark = pytest.mark.browser

CELL = """
import torch
import itmlab
from workshop import analysis, explore
from itmlab.models import build_model
data = itmlab.load("scenes", images=30)
config = itmlab.recipe("uniter").replace(model__visual="patches").model
cross_encoder = build_model(config, data.captions, seed=0).eval()
explore.explore_negatives(cross_encoder, data, generator="vse_c")
"""


def test_another_generator_another_temperature_and_another_picture_bring_other_negatives(page, lab: Lab) -> None:
    open_and_run(page, lab, "synthetic.ipynb", CELL)
    page.locator(".js-plotly-plot .annotation-text >> visible=true").first.wait_for(timeout=PATIENCE)
    rules = annotations(page)
    screenshot(page, "synthetic_rules")
    assert "the world" in rules and "✗" in rules
    page.locator(".widget-dropdown select").first.select_option("tags")
    refilled = wait_for_change(page, rules)
    screenshot(page, "synthetic_tags")
    press(page, "τ", "ArrowLeft", 13)
    colder = wait_for_change(page, refilled)
    choose_picture(page, 2)
    other = wait_for_change(page, colder)
    screenshot(page, "synthetic_other_picture")
    assert "the world" in other and other != rules
