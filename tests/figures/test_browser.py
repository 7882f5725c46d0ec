"""PNG through one Chrome."""

import io

import plotly.graph_objects as go
import pytest
from PIL import Image

from itmlab.figures import browser
from itmlab.figures.theme import styled


@pytest.fixture
def fresh(monkeypatch):
    """No browser shared with other tests."""
    browser.shared_browser.cache_clear()
    yield
    browser.shared_browser.cache_clear()


def test_figures_are_drawn_at_twice_their_size_by_one_browser():
    if isinstance(browser.shared_browser(), str):
        pytest.skip(f"no chromium: {browser.shared_browser()}")
    figure = styled(go.Figure(go.Bar(y=[1, 2])), "title", height=300).update_layout(width=500)
    first, second = browser.draw(figure), browser.draw(figure)
    assert Image.open(io.BytesIO(first)).size == (1000, 600)
    assert first == second


def test_a_chrome_that_does_not_start_is_a_line_not_an_error(fresh, monkeypatch):
    monkeypatch.setenv("BROWSER_PATH", "/nowhere/chrome")
    reason = browser.draw(go.Figure())
    assert isinstance(reason, str) and "\n" not in reason and reason
