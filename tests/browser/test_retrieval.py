"""Type a sentence into the retrieval explorer and see other pictures come."""

import pytest

from tests.browser.conftest import Lab
from tests.browser.test_lab import PATIENCE, open_and_run, screenshot

pytestmark = pytest.mark.browser

PICTURES = "figure => Array.from(figure.querySelectorAll('image'), each => each.getAttribute('href')).join()"


CODE = """from workshop import explore
from tests.workshop.small_retrievals import small_retrievals
explore.explore_retrieval(small_retrievals())"""


def test_a_typed_sentence_brings_other_pictures(page, lab: Lab) -> None:
    open_and_run(page, lab, "retrieval.ipynb", CODE)
    figure = page.locator(".js-plotly-plot").first
    figure.locator("image").first.wait_for(timeout=PATIENCE)
    before = figure.evaluate(PICTURES)
    field = page.locator(".widget-text input").first
    field.scroll_into_view_if_needed()
    field.fill("a blue square <img src=x onerror=\"document.title='broken'\">")
    field.press("Enter")
    page.wait_for_function(
        f"before => ({PICTURES})(document.querySelector('.js-plotly-plot')) !== before", arg=before, timeout=30_000
    )
    screenshot(page, "retrieval_after")
    assert "blue square <img" in figure.inner_text() and page.title() != "broken"
