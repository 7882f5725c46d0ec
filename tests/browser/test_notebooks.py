"""The notebooks as a reader meets them: Run All at the top, scroll down, and every explorer is drawn and follows.

One notebook runs in a page that has a sixth of this machine's speed.
"""

import shutil
import time
from operator import eq
from pathlib import Path

import pytest

from tests.browser.conftest import Lab
from tests.browser.test_lab import (
    PATIENCE,
    lines_of_titles,
    open_and_run,
    press,
    screenshot,
    stand_below_each_other,
    throttle,
)

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (ROOT / "notebooks").is_dir(), reason="the notebooks are not beside the package"),
]

FIGURES = ".jp-OutputArea-output .widget-vbox [role=figure]"
MARKS = ".point, path.js-line, .annotation-text, image, .shapelayer path"  # what is drawn of data; axes are not
WHAT_IS_DRAWN = f"""figure => Array.from(figure.querySelectorAll('{MARKS}, .gtitle'), mark =>
    ['d', 'transform', 'href'].map(name => mark.getAttribute(name)).join() + mark.textContent).join('\\n')"""
RUN_THROUGH = """() => Array.from(document.querySelectorAll('.jp-CodeCell .jp-InputPrompt'))
    .every(prompt => /^\\[\\d+\\]:$/.test(prompt.textContent))"""


def run_all(page, lab: Lab, number: str, throttled: int = 1) -> None:
    """Open the real notebook, press Run All at its top, wait for the last cell; with a share of the machine's speed."""
    (notebook,) = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
    shutil.copyfile(notebook, lab.folder / notebook.name)
    open_and_run(page, lab, notebook.name, throttled=throttled)
    page.wait_for_function(RUN_THROUGH, timeout=4 * PATIENCE)


def drawn(page, figures: int) -> list[str]:
    """Scroll down from the top by the wheel until the explorer's figures are there; what each of them shows."""
    panel = page.locator(".jp-WindowedPanel-outer").first
    panel.evaluate("panel => { panel.scrollTop = 0; }")
    box = panel.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    found = page.locator(FIGURES)
    for _ in range(300):
        place = found.first.bounding_box() if found.count() == figures else None
        if place and place["y"] < box["y"] + 0.7 * box["height"]:
            break
        page.mouse.wheel(0, 500)
        page.wait_for_timeout(60)
    return in_view(page, figures)


def in_view(page, figures: int) -> list[str]:
    """What each of the explorer's figures shows once it is in view."""
    shown = []
    for number in range(figures):
        figure = page.locator(FIGURES).nth(number)
        figure.scroll_into_view_if_needed(timeout=PATIENCE)
        figure.locator(MARKS).nth(10).wait_for(state="attached", timeout=PATIENCE)
        page.wait_for_timeout(300)
        assert figure.bounding_box()["width"] <= 870
        shown.append(figure.evaluate(WHAT_IS_DRAWN))
    return shown


def moved(page, control: str, before: list[str], others: int = 0) -> list[str]:
    """Press a key on a slider and wait until every figure but the first `others` shows something else."""
    press(page, control, "ArrowRight", 1)
    until = time.monotonic() + 60
    while any(map(eq, before[others:], (after := in_view(page, len(before)))[others:])):
        assert time.monotonic() < until, f"{control} does not move every figure"
    return after


def test_run_all_draws_the_explorer_and_a_slider_moves_it(page, lab: Lab) -> None:
    page.set_viewport_size({"width": 1300, "height": 900})
    run_all(page, lab, "05")
    before = drawn(page, 2)
    screenshot(page, "notebook_05_drawn")
    titles = lines_of_titles(page)
    assert titles and all(map(stand_below_each_other, titles))
    moved(page, "picture", before)
    screenshot(page, "notebook_05_moved")
    assert page.get_by_text("Jupyter news").count() == 0, "a question over the figures"


def test_on_a_slow_machine_it_follows_too_after_a_reload_and_run_again_it_stands_where_it_was_left(page, lab) -> None:
    page.set_viewport_size({"width": 1300, "height": 900})
    run_all(page, lab, "02", throttled=6)
    graph, hidden = moved(page, "seed", drawn(page, 2), others=1)
    screenshot(page, "notebook_02_slow")

    page.keyboard.press("Control+s")
    saved, until = lab.folder / "02_scene_graph_masking.ipynb", time.monotonic() + PATIENCE / 1000
    while "widget-view+json" not in saved.read_text():
        assert time.monotonic() < until, "the notebook is not saved"
        time.sleep(0.2)
    throttle(page, 1)  # JupyterLab's own start is not what is tested
    page.goto(page.url.partition("?")[0])
    page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for(timeout=PATIENCE)
    throttle(page, 6)
    assert drawn(page, 2) == [graph, hidden]
    after = moved(page, "seed", [graph, hidden], others=1)
    screenshot(page, "notebook_02_reloaded")

    page.locator(".jp-CodeCell .jp-InputArea-editor").last.click()
    old = page.locator(FIGURES).first.element_handle()
    page.keyboard.press("Control+Enter")
    page.wait_for_function("old => !old.isConnected", arg=old, timeout=PATIENCE)
    assert in_view(page, 2) == after
    moved(page, "seed", after, others=1)
    screenshot(page, "notebook_02_run_again")
