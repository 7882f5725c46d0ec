"""The explorer of kernel memories in a browser: σ moves the figure, captions as anchors bring pictures."""

import pytest

from tests.browser.conftest import Lab
from tests.browser.test_lab import PATIENCE, open_and_run, press, screenshot

pytestmark = pytest.mark.browser

CODE = """import itmlab
from workshop import explore
run, data = itmlab.pretrained("triplet"), itmlab.load("scenes", split="test")
explore.explore_kernel_memory(run, data, anchor=3, pairs=64)"""


PICTURES = ".js-plotly-plot .layer-above image, .js-plotly-plot .imagelayer image"


def test_sigma_moves_the_figure_and_captions_bring_pictures(page, lab: Lab) -> None:
    open_and_run(page, lab, "memory.ipynb", CODE)
    figures = page.locator(".js-plotly-plot")
    figures.get_by_text("σ = 0.1").wait_for(timeout=PATIENCE)
    assert page.locator(PICTURES).count() == 2, "the anchor, in the middle of its map and beside its prototypes"
    press(page, "width σ", "ArrowRight", 12)
    figures.get_by_text("σ = 0.398").wait_for(timeout=PATIENCE)
    screenshot(page, "memory_wide")
    page.locator(".widget-dropdown select").first.select_option("caption")
    figures.get_by_text("caption “").first.wait_for(timeout=PATIENCE)
    page.wait_for_timeout(1000)
    screenshot(page, "memory_caption")
    assert page.locator(PICTURES).count() > 6, "prototypes are pictures now"
