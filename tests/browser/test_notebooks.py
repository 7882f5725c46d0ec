"""The notebooks as a reader meets them: Run All at the top, scroll down, and every explorer is drawn and follows.

One notebook runs in a page that has a sixth of this machine's speed. Of the notebooks whose explorers are driven
control by control, CI takes two and `--long` all:

    python -m pytest tests/browser/test_notebooks.py --long -k "03"
"""

import re
import shutil
import time
from operator import eq
from pathlib import Path

import pytest

from tests.browser.conftest import Lab
from tests.browser.test_lab import (
    PATIENCE,
    choose_picture,
    lines_of_titles,
    open_and_run,
    press,
    screenshot,
    stand_below_each_other,
    throttle,
)
from tests.workshop.plots.test_theme import luminance

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.browser

FIGURES = ".jp-OutputArea-output .widget-vbox [role=figure]"
MARKS = (
    ".point, path.js-line, .annotation-text, image, .shapelayer path, .cell-text"  # what is drawn of data; axes are not
)
WHAT_IS_DRAWN = f"""figure => Array.from(figure.querySelectorAll('{MARKS}, .gtitle'), mark =>
    ['d', 'transform', 'href'].map(name => mark.getAttribute(name)).join() + mark.textContent).join('\\n')"""
# Of each notebook how many figures its explorer has, and in turn how far a slider is moved, which option is taken or
# what is typed.
EXPLORERS: dict[str, tuple[int, dict[str, int | str]]] = {
    "03": (
        1,
        {
            "picture": 1,
            "caption": 1,
            "τ": -8,
            "K maskings": 4,
            "L fillings": 4,
            "seed": 1,
            "filter": "none",
            "generator": "vse_c",
        },
    ),
    "06": (
        2,
        {
            **{"number": 1, "preset": "released", "prior p": 2, "threshold λ": 2, "sharpness a": 3, "margin": 2},
            "anchor": "caption",
        },
    ),
    "07": (2, {"picture": 1, "checkpoint": "with FNE", "word": 1, "map": "gradient", "caption": 1}),
    "08": (2, {"number": 1, "width σ": 6, "clusters m": 2, "ridge ε": 8, "weights": "identity", "anchor": "caption"}),
    "09": (
        1,
        {
            **{"query": "caption", "number": 1, "k": 1, "relevance": "SPICE", "model": "fne", "and": "hardest_memory"},
            "sentence": "a red bird",
        },
    ),
    "10": (1, {"picture": 1, "begin with": 1, "sentence": "a purple elephant rides a boat", "rewrite from": 16}),
}
IN_CI = ("08",)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for each notebook."""
    if "number" in metafunc.fixturenames:
        metafunc.parametrize("number", EXPLORERS if metafunc.config.getoption("--long") else IN_CI)


RUN_THROUGH = """() => Array.from(document.querySelectorAll('.jp-CodeCell .jp-InputPrompt'))
    .every(prompt => /^\\[\\d+\\]:$/.test(prompt.textContent))"""


def run_all(page, lab: Lab, number: str, throttled: int = 1) -> None:
    """Open the real notebook, press Run All at its top, wait for the last cell; with a share of the machine's speed."""
    (notebook,) = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
    shutil.copyfile(notebook, lab.folder / notebook.name)
    open_and_run(page, lab, notebook.name, throttled=throttled)
    page.wait_for_function(RUN_THROUGH, timeout=4 * PATIENCE)


def drawn(page, figures: int) -> list[str]:
    """Scroll down from the top until the explorer's figures are there; what each of them shows."""
    scroll_to_figures(page, figures)
    return in_view(page, figures)


def scroll_to_figures(page, figures: int) -> bool:
    """Scroll down from the top by the wheel until the explorer's figures are there; whether they came."""
    panel = page.locator(".jp-WindowedPanel-outer").first
    panel.evaluate("panel => { panel.scrollTop = 0; }")
    box = panel.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    figures_found = page.locator(FIGURES)
    for _ in range(300):
        place = figures_found.first.bounding_box() if figures_found.count() == figures else None
        if place and place["y"] < box["y"] + 0.7 * box["height"]:
            return True
        page.mouse.wheel(0, 500)
        page.wait_for_timeout(60)
    return False


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


def settled(page, figures: int) -> list[str]:
    """What they show when the kernel rests and nothing moves any more."""
    page.get_by_text("| Idle").wait_for(timeout=PATIENCE)
    shown = in_view(page, figures)
    while (after := in_view(page, figures)) != shown:
        shown = after
    return shown


def moved(page, control: str, before: list[str], others: int = 0) -> list[str]:
    """Move a control and wait until every figure but the first `others` shows something else."""
    if control == "picture":
        choose_picture(page, 1)
    else:
        press(page, control, "ArrowRight", 1)
    until = time.monotonic() + 60
    while any(map(eq, before[others:], (after := in_view(page, len(before)))[others:])):
        assert time.monotonic() < until, f"{control} does not move every figure"
    return after


def operate(page, control: str, to: int | str) -> None:
    """Move the slider with this name by keys, or take an option (by number or name), or type, or take a thumbnail."""
    if control == "picture":
        return choose_picture(page, to)
    box = page.locator(".widget-vbox").get_by_label(control, exact=True)
    box.scroll_into_view_if_needed()
    if box.get_attribute("role") == "slider":
        box.focus()
        for _ in range(abs(to)):
            page.keyboard.press("ArrowRight" if to > 0 else "ArrowLeft")
    elif box.evaluate("box => box.tagName") == "SELECT":
        box.select_option(**({"index": to} if isinstance(to, int) else {"label": to}))
    else:
        box.fill(to)
        box.press("Enter")


def switch_to_dark(page) -> None:
    """By the menu, as a reader does."""
    page.get_by_role("menuitem", name="Settings", exact=True).click()
    page.get_by_text("Theme", exact=True).click()
    page.get_by_text("JupyterLab Dark", exact=True).click()
    page.wait_for_function("document.body.dataset.jpThemeLight === 'false'", timeout=60_000)
    page.locator(FIGURES).first.scroll_into_view_if_needed()
    grounds = "() => Array.from(document.querySelectorAll('[role=figure] .main-svg:first-child'), figure => "
    grounds += "getComputedStyle(figure).backgroundColor).includes('rgb(17, 17, 17)')"
    page.wait_for_function(grounds, timeout=60_000)


def contrasts(page, number: int) -> list[float]:
    """Of the words in a figure the contrast with its ground, as WCAG 2 defines it."""
    colours = (
        page.locator(FIGURES)
        .nth(number)
        .evaluate(
            """figure => [getComputedStyle(figure.querySelector('.main-svg')).backgroundColor,
            ...Array.from(figure.querySelectorAll('.gtitle tspan, .legendtext, .annotation-text, .xtitle'),
                words => getComputedStyle(words).fill)]"""
        )
    )
    ground, *words = (luminance(f"#{bytes(map(int, re.findall('[0-9]+', shade)[:3])).hex()}") for shade in colours)
    return [(max(ground, word) + 0.05) / (min(ground, word) + 0.05) for word in words]


def test_each_control_of_the_explorer_does_something(page, lab: Lab, number: str) -> None:
    page.set_viewport_size({"width": 1300, "height": 900})
    run_all(page, lab, number)
    figures, controls = EXPLORERS[number]
    before = drawn(page, figures)
    screenshot(page, f"notebook_{number}_drawn")
    named = page.locator(".widget-vbox .widget-label").all_text_contents()
    gallery = {"picture"} if page.locator(".itmlab-gallery").count() else set()
    assert set(controls) == set(named) | gallery
    for control, to in controls.items():
        began = time.monotonic()
        operate(page, control, to)
        while (after := settled(page, figures)) == before:
            assert time.monotonic() < began + 90, f"{control} changes nothing"
        print(f"{number} {control}: drawn after {time.monotonic() - began:.1f} s")
        screenshot(page, f"notebook_{number}_{control}")
        before = after


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

    page.locator(FIGURES).first.evaluate("figure => figure.scrollIntoView({block: 'center'})")
    page.wait_for_timeout(500)
    screenshot(page, "notebook_05_before_lasso")
    box = page.locator(FIGURES).first.locator(".nsewdrag").first.bounding_box()
    corners = [(0.3, 0.3), (0.7, 0.3), (0.7, 0.7), (0.3, 0.7), (0.3, 0.32)]
    for number, (across, down) in enumerate(corners):
        page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"], steps=8)
        if number == 0:
            page.mouse.down()
    page.mouse.up()
    page.locator(FIGURES).nth(1).get_by_text("pictures in the lasso").wait_for(timeout=60_000)
    screenshot(page, "notebook_05_lasso")

    switch_to_dark(page)
    page.wait_for_timeout(1000)
    for number in range(2):
        assert min(contrasts(page, number)) > 3, "words that can hardly be read"
    screenshot(page, "notebook_05_dark")


def test_on_a_slow_machine_it_follows_and_after_a_reload_it_stands_where_it_was_left(page, lab) -> None:
    page.set_viewport_size({"width": 1300, "height": 900})
    run_all(page, lab, "02", throttled=6)
    graph, hidden = moved(page, "seed", drawn(page, 2), others=1)
    screenshot(page, "notebook_02_slow")

    page.keyboard.press("Control+s")
    saved, until = lab.folder / "02_scene_graph_masking.ipynb", time.monotonic() + PATIENCE / 1000
    while "widget-view+json" not in saved.read_text() or page.locator(".lm-TabBar-tab.jp-mod-dirty").count():
        assert time.monotonic() < until, "the notebook is not saved"
        time.sleep(0.2)
    throttle(page, 1)  # JupyterLab's own start is not what is tested
    for _ in range(4):  # ipywidgets restores nothing where the kernel takes longer than 4 s to answer
        page.goto(page.url.partition("?")[0])
        page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for(timeout=PATIENCE)
        if scroll_to_figures(page, 2):
            break
    assert in_view(page, 2) == [graph, hidden]
    throttle(page, 6)
    moved(page, "seed", [graph, hidden], others=1)
    screenshot(page, "notebook_02_reloaded")
