"""Pictures to put into figures."""

import pytest
from PIL import Image


@pytest.fixture
def pictures() -> list[Image.Image]:
    """Six plain pictures, not all square."""
    colours = ("#C0392B", "#2980B9", "#27AE60", "#F1C40F", "#8E44AD", "#7F8C8D")
    return [Image.new("RGB", (32 + 8 * index, 32), colour) for index, colour in enumerate(colours)]
