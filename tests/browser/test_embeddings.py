"""The explorer of the common space in a browser: click a point and see its picture."""

import pytest

from tests.browser.conftest import Lab
from tests.browser.test_lab import PATIENCE, open_and_run, screenshot

pytestmark = pytest.mark.browser

PICTURES = ".js-plotly-plot >> nth=0 >> .subplot.xy .scatterlayer .trace >> nth=0 >> .point"
CAPTIONS = ".js-plotly-plot >> nth=0 >> .subplot.x2y2 .scatterlayer .trace >> nth=1 >> .point"


CODE = """from workshop import explore
from tests.workshop.small_retrievals import small_retrievals
explore(small_retrievals().models, small_retrievals().data, picture=3)"""


def shown_picture(page, other_than: str = "") -> str:
    """The picture below the maps, once there is one (of another name)."""
    wanted = "other => { const title = document.querySelectorAll('.gtitle')[1]?.querySelector('.line'); "
    wanted += "return title && title.textContent.includes('Picture') && title.textContent !== other; }"
    page.wait_for_function(wanted, arg=other_than, timeout=60_000)
    return page.locator(".gtitle").nth(1).locator(".line").first.text_content()


CHOSEN = ".itmlab-gallery button[aria-pressed=true]"


def chosen(page) -> str:
    """The number of the picture that the gallery marks."""
    return page.locator(CHOSEN).get_attribute("title").split(":")[0]


def point_at(page, mark) -> None:
    """Move the pointer there in one step: on its way it would meet others."""
    box = mark.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def test_pointing_shows_a_picture_and_a_click_picks_it(page, lab: Lab) -> None:
    open_and_run(page, lab, "embeddings.ipynb", CODE)
    page.locator(PICTURES).first.wait_for(timeout=PATIENCE)
    before = shown_picture(page)
    assert before == "Picture image 3"
    screenshot(page, "embeddings_before")
    # Pictures of one colour lie on top of each other; these two marks, the last of theirs, lie above all others.
    for marks, number, picture in [(PICTURES, 14, 14), (CAPTIONS, 31, 15)]:
        point_at(page, page.locator(marks).nth(number))
        pointed = shown_picture(page, other_than=before)
        screenshot(page, f"embeddings_pointed_at_{picture}")
        assert pointed == f"Picture image {picture}"
        assert chosen(page) == before.split()[-1]
        page.mouse.down()
        page.mouse.up()
        page.wait_for_function(
            f"picked => document.querySelector('{CHOSEN}')?.title.split(':')[0] === picked",
            arg=str(picture),
            timeout=60_000,
        )
        page.mouse.move(5, 5)
        page.wait_for_timeout(1000)
        assert shown_picture(page) == pointed
        before = pointed
    screenshot(page, "embeddings_after")
