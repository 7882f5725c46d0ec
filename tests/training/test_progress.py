"""Progress is a bar on a terminal, curves in a notebook, and plain lines elsewhere."""

import io
import re
import sys
from xml.etree import ElementTree

import pytest

from itmlab.training import progress
from itmlab.training.progress import LiveBar, Progress, clock


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(out, **options):
    shown = Progress("fne", 4, 0, out=out, **options)
    for _ in range(4):
        shown.step(0.25)
    shown.epoch(1, 1, 0.25, 37.5)
    shown.close()
    return out.getvalue()


def test_a_terminal_gets_a_bar():
    text = run(Terminal())
    assert "\r" in text and "4/4" in text and "loss 0.250" in text


def test_anything_else_gets_lines():
    assert run(io.StringIO()) == "fne: step 4/4, epoch 1/1, loss 0.250, R@1 37.5, 0:00 left\n"


def test_a_long_epoch_gets_lines_in_between(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", -1.0)
    lines = run(io.StringIO()).splitlines()
    assert len(lines) == 5 and lines[0].startswith("fne: step 1/4, loss 0.250, ") and lines[0].endswith(" left")


def test_nothing_when_nothing_is_wanted():
    assert run(io.StringIO(), shown=False) == ""


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (42.4, "0:42"), (187, "3:07"), (3753, "1:02:33")])
def test_time_is_read_as_on_a_clock(seconds, shown):
    assert clock(seconds) == shown


def test_lines_go_to_stdout_in_a_kernel_alone(monkeypatch):
    import ipykernel  # noqa: F401  imported, as another test or a tool may have, is not yet a notebook
    import IPython

    assert Progress("fne", 4, 0).out is sys.stderr
    monkeypatch.setattr(IPython, "get_ipython", lambda: type("Shell", (), {"kernel": object()})())
    assert Progress("fne", 4, 0).out is sys.stdout


class Kernel:
    """What a notebook shows: each display, and what it was last updated to."""

    def __init__(self, monkeypatch):
        import IPython
        import IPython.display

        self.shown: list[list] = []
        monkeypatch.setattr(IPython, "get_ipython", lambda: type("Shell", (), {"kernel": object()})())
        monkeypatch.setattr(IPython.display, "display", self.display)
        monkeypatch.setattr(progress, "SECONDS_BETWEEN_DRAWINGS", -1.0)

    def display(self, what, display_id):
        self.shown.append([(repr(what), what._repr_html_())])
        self.update = lambda again: self.shown[-1].append((repr(again), again._repr_html_()))
        return self


def drawn(monkeypatch, name="fne", steps=6):
    kernel = Kernel(monkeypatch)
    shown = Progress(name, steps, 0, curves=True)
    for step in range(1, steps + 1):
        shown.step(1 / step)
        if 2 * step % steps == 0:
            shown.epoch(2 * step // steps, 2, 0.5, 60.0 * step / steps)
    shown.close()
    return kernel.shown


def test_a_notebook_gets_one_drawing_that_follows(monkeypatch, capsys):
    (drawing,) = drawn(monkeypatch)
    said, last = drawing[-1]
    assert len(drawing) == 9 and said == "fne: step 6/6, loss 0.167, R@1 60.0, 0:00 left"
    points = [len(re.search(r'points="(.*?)"', html)[1].split()) for _, html in drawing]
    assert points == [1, 2, 3, 3, 4, 5, 6, 6, 6], "a point a step"
    assert last.count("<circle") == 2 and "6 steps" in last and capsys.readouterr().out == ""
    ElementTree.fromstring(last)


def test_a_curve_of_many_steps_stays_small_and_inside_its_panel(monkeypatch):
    _, last = drawn(monkeypatch, steps=3000)[0][-1]
    places = [tuple(map(float, place.split(","))) for place in re.search(r'points="(.*?)"', last)[1].split()]
    assert 200 < len(places) <= 240 and len(last) < 60_000
    assert all(59 < x < 351 and 29 < y < 161 for x, y in places)


def test_a_name_with_markup_stays_text(monkeypatch):
    _, last = drawn(monkeypatch, name="<img src=x onerror='alert(1)'>\"")[0][-1]
    assert "<img" not in last and "&lt;img" in last
    ElementTree.fromstring(last)


def test_counting_stays_lines_in_a_notebook(monkeypatch, capsys):
    kernel = Kernel(monkeypatch)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", -1.0)
    assert list(progress.counted("ab", "two letters")) == ["a", "b"]
    assert kernel.shown == [] and "two letters: step 2/2" in capsys.readouterr().out


def test_a_bar_of_several_runs_says_how_far_all_are_and_what_is_left():
    out = io.StringIO()
    shown = Progress("4 runs", 100, 10, out=out, curves=None)
    for done in (40, 100, 100):
        shown.reach(done, "4 of 4 done")
    assert out.getvalue() == "4 runs: step 100/100, 4 of 4 done, 0:00 left\n", "said once"
    bar = LiveBar(shown)
    bar.said = "<b>"
    assert bar._repr_html_() == '<progress max="100" value="100"></progress> &lt;b&gt;'
