"""A reader's first minute: open a notebook in JupyterLab, run it, move a slider, see the figure follow."""

import os
import re
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

from tests.browser.conftest import Lab

ROOT = Path(__file__).parents[2]
CURVES = ".js-plotly-plot .scatterlayer path.js-line"
PATIENCE = 180_000  # milliseconds for a notebook to run through on a busy machine

pytestmark = pytest.mark.browser


def write_notebook(path: Path, code: str) -> None:
    """A notebook of one cell, which may import from `tests`."""
    code = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{code}"
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)], metadata=kernel), path)


FNE = """from workshop import explore
from tests.workshop.synthetic import synthetic_study
explore.explore_false_negatives(synthetic_study())"""
ATTENTION = """from itmlab import models
from workshop import explore
from tests.workshop.small_world import small_set
data = small_set()
model = models.build_model(models.DualEncoderConfig.tiny(), data.captions, seed=0).eval()
explore.explore_attention({"one": model}, data)"""

PLAIN = """from workshop import plots
plots.committed("pointing_seeing")"""
BOXES = "all => all.map(each => each.getBoundingClientRect()).map(box => [box.width, box.height])"

SLOW = """import time, ipywidgets, plotly.graph_objects as go
from workshop.explore.base import Explorer
steps, drawn = ipywidgets.IntSlider(0, 0, 40, description="steps"), []

def draw():
    drawn.append(steps.value)
    time.sleep(2 * (len(drawn) > 1))
    said = f"step {steps.value}, drawing {len(drawn)}"
    return [go.Figure(go.Bar(y=[steps.value]), layout={"title": {"text": said}, "height": 300})]

Explorer([steps], draw)"""


def throttle(page, times: int) -> None:
    """Give the page's scripts this machine's speed divided so many times."""
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": times})


def open_and_run(page, lab: Lab, name: str, code: str | None = None, throttled: int = 1) -> None:
    """Open the notebook of this name, written first where there is `code`, and run all its cells, throttled."""
    if code is not None:
        write_notebook(lab.folder / name, code)
    page.goto(lab.address(name))
    page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for(timeout=60_000)
    page.get_by_text("| Idle").wait_for(timeout=120_000)  # the status bar: earlier, running asks for a kernel
    throttle(page, throttled)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()


def press(page, control: str, key: str, times: int) -> None:
    """Move the slider with this name by the keyboard."""
    handle = page.locator(".widget-slider", has_text=control).first.locator(".noUi-handle").first
    handle.scroll_into_view_if_needed()
    handle.focus()
    for _ in range(times):
        page.keyboard.press(key)


def choose_picture(page, number: int) -> None:
    """Click the thumbnail at this place of the explorer's gallery."""
    page.locator(".itmlab-gallery .pictures button").nth(number).click()


LINES = """() => Array.from(document.querySelectorAll('.js-plotly-plot .gtitle'), title =>
    Array.from(title.querySelectorAll('.line'), line => line.getBoundingClientRect())
        .map(box => [box.top, box.bottom]))"""


def lines_of_titles(page) -> list[list[tuple[float, float]]]:
    """Top and bottom, in pixels of the page, of each line of every figure's title, its subtitle among them."""
    return page.evaluate(LINES)


def stand_below_each_other(lines: list[tuple[float, float]]) -> bool:
    return all(lower[0] >= upper[1] > upper[0] for upper, lower in pairwise(lines))


def screenshot(page, name: str) -> None:
    """Keep a picture of the page where ITMLAB_SCREENSHOTS says, for people to look at."""
    if folder := os.environ.get("ITMLAB_SCREENSHOTS"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def test_a_cells_figure_is_alive_and_no_wider_than_its_column_though_it_carries_a_picture(page, lab: Lab) -> None:
    open_and_run(page, lab, "plain.ipynb", PLAIN)
    page.locator(".js-plotly-plot .main-svg").first.wait_for(timeout=PATIENCE)
    output = page.locator(".jp-OutputArea-output:has(.main-svg)")
    ((column, _),), ((width, height),) = (
        output.evaluate_all(BOXES),
        output.locator(".main-svg >> nth=0").evaluate_all(BOXES),
    )
    assert 500 < width <= column and height > 300
    assert [box for box in output.locator("img").evaluate_all(BOXES) if any(box)] == []
    screenshot(page, "plain_figure")


def test_a_slider_moves_the_curves(page, lab: Lab) -> None:
    open_and_run(page, lab, "explorer.ipynb", FNE)
    page.locator(".widget-slider", has_text="prior p").first.wait_for(timeout=PATIENCE)
    explorer = page.locator(".jp-OutputArea-output", has=page.locator(".widget-slider", has_text="prior p")).first
    explorer.locator(CURVES).first.wait_for(timeout=60_000)
    curves = explorer.locator(CURVES)
    before = curves.evaluate_all("lines => lines.map(line => line.getAttribute('d')).join()")
    screenshot(page, "explorer_before")
    drawn = lines_of_titles(page)
    assert drawn and any(len(lines) > 1 for lines in drawn) and all(map(stand_below_each_other, drawn))
    press(page, "prior p", "ArrowRight", 6)
    for _ in range(120):
        after = curves.evaluate_all("lines => lines.map(line => line.getAttribute('d')).join()")
        if after != before:
            break
        page.wait_for_timeout(250)
    screenshot(page, "explorer_after")
    assert after != before


def test_another_picture_brings_other_maps(page, lab: Lab) -> None:
    open_and_run(page, lab, "attention.ipynb", ATTENTION)
    pictures = page.locator(".js-plotly-plot .imagelayer image, .js-plotly-plot .layer-above image")
    pictures.first.wait_for(timeout=PATIENCE)
    before = pictures.first.get_attribute("href") or pictures.first.get_attribute("xlink:href")
    choose_picture(page, 1)
    page.wait_for_function(
        """before => { const image = document.querySelector('.js-plotly-plot image');
            return image && (image.getAttribute('href') || image.getAttribute('xlink:href')) !== before; }""",
        arg=before,
        timeout=30_000,
    )
    screenshot(page, "attention_after")

    maps, card = page.locator(".js-plotly-plot").nth(0), page.locator(".js-plotly-plot").nth(1)
    maps.scroll_into_view_if_needed()
    picture, word = (maps.locator("image").nth(number).bounding_box() for number in (0, 2))
    page.mouse.move(picture["x"] + 4, picture["y"] + 4)
    card.get_by_text("row 1, column 1;").wait_for(timeout=30_000)
    screenshot(page, "attention_patch")
    page.mouse.move(word["x"] + word["width"] / 2, word["y"] + word["height"] / 2)
    lands = "Where “blue” lands"
    card.get_by_text(lands).wait_for(timeout=30_000)
    page.mouse.down()
    page.mouse.up()
    maps.get_by_text(lands).wait_for(timeout=30_000)
    screenshot(page, "attention_word")


def test_a_slow_explorer_says_that_it_computes_and_what_was_superseded_is_never_drawn(page, lab: Lab) -> None:
    """Thirty steps while a drawing takes two seconds: the kernel hears of few of them, and of the last."""
    open_and_run(page, lab, "slow.ipynb", SLOW)
    title, computing = page.locator(".js-plotly-plot .gtitle"), page.get_by_text("computing …")
    title.get_by_text("step 0, drawing 1").wait_for(timeout=PATIENCE)
    press(page, "steps", "ArrowRight", 30)
    computing.wait_for(timeout=60_000)
    screenshot(page, "slow_computing")
    title.get_by_text(re.compile("step 30, ")).wait_for(timeout=PATIENCE)
    computing.wait_for(state="hidden", timeout=60_000)
    assert int(title.text_content().split()[-1]) <= 15
