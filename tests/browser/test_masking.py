"""The masking explorer in a browser: type a caption, see its graph and its phrases, move a slider."""

import pytest

from tests.browser.conftest import Lab
from tests.browser.test_lab import (
    PATIENCE,
    lines_of_titles,
    open_and_run,
    press,
    screenshot,
    stand_below_each_other,
)

pytestmark = pytest.mark.browser


def annotations(page) -> str:
    """All words in the figures."""
    return page.locator(".js-plotly-plot .annotation-text").evaluate_all(
        "all => all.map(one => one.textContent).join('|')"
    )


def wait_for_change(page, before: str) -> str:
    for _ in range(240):
        after = annotations(page)
        if after != before:
            page.wait_for_timeout(500)
            return annotations(page)
        page.wait_for_timeout(250)
    raise AssertionError("the figures did not change")


def test_a_typed_caption_brings_its_own_graph_and_a_slider_hides_more(page, lab: Lab) -> None:
    open_and_run(page, lab, "masking.ipynb", "from workshop import explore\nexplore.explore_masking()")
    page.locator(".js-plotly-plot .annotation-text").first.wait_for(timeout=PATIENCE)
    before = annotations(page)
    assert "shirts" in before
    screenshot(page, "masking_before")
    first_drawn = lines_of_titles(page)
    assert [len(lines) for lines in first_drawn] == [2, 2] and all(map(stand_below_each_other, first_drawn))
    box = page.locator(".widget-text input[type=text]").first
    box.fill("A girl <b>rides</b> a small brown horse on the beach")
    box.press("Enter")
    after = wait_for_change(page, before)
    screenshot(page, "masking_typed")
    assert "horse" in after and "shirts" not in after and "<" in after
    press(page, "probability", "ArrowRight", 12)
    more = wait_for_change(page, after)
    screenshot(page, "masking_more")
    assert more.count("horse") < after.count("horse")
