"""One bar a sampler, its interval as a whisker, its name escaped."""

from itmlab.figures import false_negative_shares


def test_bars_and_whiskers_are_the_numbers_given() -> None:
    shares = {"<b>hardest</b>": (40.0, 35.0, 46.0), "random": (1.0, 0.5, 2.5)}
    figure = false_negative_shares(shares, title="shares")
    (bar,) = figure.data
    assert list(bar.x) == [40.0, 1.0]
    assert list(bar.error_x.array) == [6.0, 1.5] and list(bar.error_x.arrayminus) == [5.0, 0.5]
    assert all("<b>" not in name for name in bar.y)
    assert [note.text for note in figure.layout.annotations if note.text] == ["40.0 %", "1.0 %"]
