"""Progress is a bar on a terminal and plain lines elsewhere."""

import io
import sys

import pytest

from itmlab.training import progress
from itmlab.training.progress import Progress, clock


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
