"""The explorer of words in a browser: type a sentence, see what does not fit; move to another picture."""

import pytest

from tests.browser.conftest import Lab
from tests.browser.test_lab import PATIENCE, choose_picture, open_and_run, screenshot
from tests.browser.test_masking import annotations, wait_for_change

pytestmark = pytest.mark.browser

CODE = """from workshop import explore
from tests.workshop.colour_cross_encoder import ColourCrossEncoder, judging_set
data = judging_set()
explore.explore_words({"cross-encoder": ColourCrossEncoder(data.captions)}, data)"""


def test_a_typed_sentence_is_explained_word_by_word(page, lab: Lab) -> None:
    open_and_run(page, lab, "words.ipynb", CODE)
    page.locator(".js-plotly-plot .annotation-text >> visible=true").first.wait_for(timeout=PATIENCE)
    before = annotations(page)
    assert "red" in before and "(95)" not in before
    box = page.locator(".widget-text input[type=text]").first
    box.fill("A blue square <img src=x onerror=\"document.title='broken'\">")
    box.press("Enter")
    after = wait_for_change(page, before)
    screenshot(page, "words_typed")
    assert "blue (95)" in after and page.title() != "broken"
    choose_picture(page, 1)
    other = wait_for_change(page, after)
    screenshot(page, "words_other")
    assert "blue" in other and "(95)" not in other
