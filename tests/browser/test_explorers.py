"""A reader's first minutes: open a notebook in JupyterLab, press Run All, and every explorer is drawn and follows.

One notebook has a cell for each explorer, on small worlds. All tests share it, its kernel and its page.
"""

import re
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

from tests.browser.conftest import PATIENCE, Lab, screenshot
from tests.workshop.plots.test_theme import luminance

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.browser

HOSTILE = "A green square <img src=x onerror=\"document.title='broken'\">"
BEGIN = f"""import sys
sys.path.insert(0, {str(ROOT)!r})
from itmlab.models import DualEncoderConfig, build_model
from tests.workshop.small_world import small_set
from workshop import explore, plots
data = small_set()
model = build_model(DualEncoderConfig.tiny(), data.captions, seed=0).eval()"""
CELLS = {
    "false negatives": """from tests.workshop.synthetic import synthetic_study
explore.explore_false_negatives(synthetic_study())""",
    "masking": "explore.explore_masking()",
    "whole": """from tests.workshop.small_retrievals import small_retrievals
explore(small_retrievals().models, small_retrievals().data, picture=3)""",
    "attention": 'explore.explore_attention({"one": model}, data)',
    "memory": "explore.explore_kernel_memory(model, data, anchor=3, pairs=16)",
    "negatives": """import itmlab
scenes = itmlab.load("scenes", images=30)
config = itmlab.recipe("uniter").replace(model__visual="patches").model
refiller = build_model(config, scenes.captions, seed=0).eval()
explore.explore_negatives(refiller, scenes)""",
    "words": """from tests.workshop.colour_cross_encoder import ColourCrossEncoder, judging_set
judging = judging_set()
explore.explore_words({"cross-encoder": ColourCrossEncoder(judging.captions)}, judging)""",
    "slow": """import time, ipywidgets, plotly.graph_objects as go
from workshop.explore.base import Explorer
steps, drawn = ipywidgets.IntSlider(0, 0, 40, description="steps"), []
def draw():
    drawn.append(steps.value)
    time.sleep(2 * (len(drawn) > 1))
    title = f"step {steps.value}, drawing {len(drawn)}"
    return [go.Figure(go.Bar(y=[steps.value]), layout={"title": {"text": title}, "height": 300})]
Explorer([steps], draw)""",
    "picture": 'plots.draw_result("pointing_seeing")',
}
NUMBER = {name: at for at, name in enumerate(CELLS, start=1)}  # cell 0 holds the imports
FIGURE = ".js-plotly-plot"


@pytest.fixture(scope="module")
def notebook(browser, lab: Lab) -> Iterator:
    """The page of the notebook after Run All."""
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    cells = [nbformat.v4.new_code_cell(code) for code in (BEGIN, *CELLS.values())]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), lab.folder / "explorers.ipynb")
    page = browser.new_page(viewport={"width": 1300, "height": 1500})  # what is out of sight is not drawn
    page.set_default_timeout(PATIENCE)
    page.goto(lab.address("explorers.ipynb"))
    page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for()
    page.get_by_text("| Idle").wait_for()  # the status bar: earlier, running asks for a kernel
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    yield page
    page.close()


def cell_of(page, name: str):
    """Scroll down from the top until the cell's figure is drawn, as a reader does; the cell."""
    panel, cell = (
        page.locator(".jp-WindowedPanel-outer").first,
        page.locator(f"[data-windowed-list-index='{NUMBER[name]}']"),
    )
    until = time.monotonic() + 600  # so long as a busy machine takes to run the notebook through
    while time.monotonic() < until:
        panel.evaluate("panel => { panel.scrollTop = 0; }")
        for _ in range(60):
            figures = cell.locator(f"{FIGURE} .main-svg")
            if cell.count() and figures.count():
                cell.locator(FIGURE).first.evaluate("figure => figure.scrollIntoView({block: 'start'})")
                page.wait_for_timeout(500)
                screenshot(page, name)
                return cell
            panel.evaluate("panel => { panel.scrollTop += 400; }")
            page.wait_for_timeout(50)
    raise AssertionError(f"{name} is not drawn")


def words(cell) -> str:
    """All words in the cell's figures."""
    return cell.locator(FIGURE).evaluate_all("all => all.map(one => one.textContent).join('|')")


def marks(cell) -> str:
    """What is drawn of data in the cell's figures: curves, points and pictures."""
    drawn = ".point, path.js-line, .annotation-text, image"
    return cell.locator(f"{FIGURE} :is({drawn})").evaluate_all(
        "all => all.map(mark => ['d', 'transform', 'href'].map(name => mark.getAttribute(name)).join()"
        " + mark.textContent).join('|')"
    )


def shown(cell) -> str:
    return words(cell) + marks(cell)


def changed(cell, before: str, look=shown) -> str:
    """Wait until `look` sees something else, and nothing moves any more."""
    until = time.monotonic() + PATIENCE / 1000
    after = look(cell)
    while after == before or after != look(cell):
        assert time.monotonic() < until, "nothing changes"
        cell.page.wait_for_timeout(300)
        after = look(cell)
    return after


def press(cell, control: str, key: str, times: int) -> None:
    """Move the slider with this name by the keyboard."""
    handle = cell.locator(".widget-slider", has_text=control).first.locator(".noUi-handle").first
    handle.scroll_into_view_if_needed()
    handle.focus()
    for _ in range(times):
        cell.page.keyboard.press(key)


def type_sentence(cell, sentence: str) -> None:
    box = cell.locator(".widget-text input[type=text]").first
    box.scroll_into_view_if_needed()
    box.fill(sentence)
    box.press("Enter")


def choose_picture(cell, number: int) -> None:
    """Click the thumbnail at this place of the explorer's gallery."""
    cell.locator(".itmlab-gallery .pictures button").nth(number).click()


SLIDERS = {"false negatives": ("prior p", 6), "masking": ("probability", 12), "memory": ("width σ", 12)}


@pytest.mark.parametrize("name", SLIDERS)
def test_a_slider_moves_the_figure(notebook, name: str) -> None:
    cell = cell_of(notebook, name)
    before = shown(cell)
    lines = cell.locator(".gtitle").evaluate_all(
        "all => all.map(title => Array.from(title.querySelectorAll('.line'), line => line.getBoundingClientRect())"
        ".map(box => [box.top, box.bottom]))"
    )
    assert lines and all(low[0] >= top[1] for title in lines for top, low in pairwise(title)), "lines overlap"
    control, times = SLIDERS[name]
    press(cell, control, "ArrowRight", times)
    changed(cell, before)


@pytest.mark.parametrize("name", ["attention", "negatives", "words"])
def test_another_picture_brings_another_figure(notebook, name: str) -> None:
    cell = cell_of(notebook, name)
    before = shown(cell)
    choose_picture(cell, 1)
    changed(cell, before)


def test_another_generator_brings_other_negatives(notebook) -> None:
    cell = cell_of(notebook, "negatives")
    before = words(cell)
    assert "the world" in before
    cell.locator(".widget-dropdown", has_text="generator").locator("select").select_option("vse_c")
    after = changed(cell, before, words)
    assert "the world" in after and "✗" in after


@pytest.mark.parametrize(
    ("name", "answer"), [("masking", "square"), ("whole", "green square"), ("words", "green (95)")]
)
def test_a_typed_sentence_is_explained_and_no_word_of_it_takes_effect(notebook, name: str, answer: str) -> None:
    cell = cell_of(notebook, name)
    before = shown(cell)
    type_sentence(cell, HOSTILE)
    changed(cell, before)
    assert answer in words(cell) and notebook.title() != "broken"


def test_pointing_shows_a_picture_a_click_picks_it_and_a_lasso_is_followed(notebook) -> None:
    cell = cell_of(notebook, "whole")
    point = cell.locator(f"{FIGURE} >> nth=0 >> .subplot.xy .scatterlayer .trace >> nth=0 >> .point >> nth=14")
    box = point.bounding_box()
    notebook.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    cell.locator(".gtitle", has_text="picture image 14").wait_for()
    notebook.mouse.down()
    notebook.mouse.up()
    cell.locator(".itmlab-gallery button[aria-pressed=true][title^='14:']").wait_for()
    changed(cell, "")  # a drag over a figure that is drawn again is lost
    area = cell.locator(FIGURE).first.locator(".nsewdrag").first.bounding_box()
    corners = [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98), (0.02, 0.04)]
    for number, (across, down) in enumerate(corners):
        notebook.mouse.move(area["x"] + across * area["width"], area["y"] + down * area["height"], steps=8)
        if number == 0:
            notebook.mouse.down()
    notebook.mouse.up()
    cell.get_by_text("pictures in the lasso").first.wait_for()


def test_a_slow_explorer_says_that_it_computes_and_what_was_superseded_is_never_drawn(notebook) -> None:
    """Thirty steps while a drawing takes two seconds: the kernel hears of few of them, and of the last."""
    cell = cell_of(notebook, "slow")
    title, computing = cell.locator(".gtitle"), cell.get_by_text("computing …")
    press(cell, "steps", "ArrowRight", 30)
    computing.wait_for()
    title.get_by_text(re.compile("step 30, ")).wait_for()
    computing.wait_for(state="hidden")
    assert int(title.text_content().split()[-1]) <= 15


def test_a_committed_figure_is_alive_and_no_wider_than_its_column(notebook) -> None:
    cell = cell_of(notebook, "picture")
    output = cell.locator(".jp-OutputArea-output:has(.main-svg)").bounding_box()
    figure = cell.locator(".main-svg").first.bounding_box()
    assert 500 < figure["width"] <= output["width"] and figure["height"] > 300
    assert not any(image.is_visible() for image in cell.locator(".jp-OutputArea-output > img").all())


def test_words_can_be_read_on_the_dark_theme(notebook) -> None:
    """The contrast of words with their ground, as WCAG 2 defines it, is above 3."""
    notebook.get_by_role("menuitem", name="Settings", exact=True).click()
    notebook.get_by_text("Theme", exact=True).click()
    notebook.get_by_text("JupyterLab Dark", exact=True).click()
    notebook.wait_for_function("document.body.dataset.jpThemeLight === 'false'")
    figure = cell_of(notebook, "false negatives").locator(FIGURE).first
    notebook.wait_for_timeout(1000)
    colours = figure.evaluate(
        """figure => [getComputedStyle(figure.querySelector('.main-svg')).backgroundColor,
        ...Array.from(figure.querySelectorAll('.gtitle tspan, .legendtext, .annotation-text, .xtitle'),
            words => getComputedStyle(words).fill)]"""
    )
    ground, *shades = (luminance(f"#{bytes(map(int, re.findall('[0-9]+', shade)[:3])).hex()}") for shade in colours)
    screenshot(notebook, "dark")
    assert ground < 0.1 and min((max(ground, one) + 0.05) / (min(ground, one) + 0.05) for one in shades) > 3
