"""The explorer of the common space in a browser: click a point and see its picture."""

import pytest

from tests.browser.conftest import Lab
from tests.browser.test_lab import PATIENCE, open_and_run, screenshot

pytestmark = pytest.mark.browser

POINTS = ".js-plotly-plot >> nth=0 >> .scatterlayer .trace >> nth=0 >> .point"


CODE = """from itmlab.studies import maps
from tests.studies.small_maps import small_maps
from tests.studies.small_world import small_set
maps.explore_embeddings(small_maps(), small_set(), picture=3)"""


def shown_picture(page, other_than: str = "") -> str:
    """The picture below the maps, once there is one (of another name)."""
    wanted = "other => { const title = document.querySelectorAll('.gtitle')[1]?.querySelector('.line'); "
    wanted += "return title && title.textContent.includes('Picture') && title.textContent !== other; }"
    page.wait_for_function(wanted, arg=other_than, timeout=60_000)
    return page.locator(".gtitle").nth(1).locator(".line").first.text_content()


def test_pointing_shows_a_picture_and_a_click_picks_it(page, lab: Lab) -> None:
    open_and_run(page, lab, "embeddings.ipynb", CODE)
    page.locator(POINTS).first.wait_for(timeout=PATIENCE)
    before = shown_picture(page)
    assert before == "Picture image 3"
    screenshot(page, "embeddings_before")
    box = page.locator(POINTS).nth(9).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
    shown_picture(page, other_than=before)
    screenshot(page, "embeddings_pointed_at")
    page.mouse.down()
    page.mouse.up()
    # Points lie close: on its way the pointer may have met another, which is then still shown.
    picked = "begun => { const picked = document.querySelector('.widget-readout').textContent.trim(); "
    picked += (
        "return picked !== begun && document.querySelectorAll('.gtitle')[1].textContent.includes('image ' + picked); }"
    )
    page.wait_for_function(picked, arg="3", timeout=60_000)
    pointed = shown_picture(page, other_than=before)
    page.mouse.move(5, 5, steps=4)
    page.wait_for_timeout(1000)
    assert shown_picture(page) == pointed
    screenshot(page, "embeddings_after")
