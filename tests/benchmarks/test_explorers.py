"""What the kernel takes to follow each control of the notebooks' explorers: milliseconds of CPU, median and worst.

A page draws after that. Where a model reads or the world judges something new, the row says so.
"""

import statistics
import time
from collections.abc import Callable, Iterator

import ipywidgets
import pytest
from workshop import analysis, explore
from workshop.explore.base import Explorer, PicturePicker

import itmlab

MOVES = 5
SENTENCES = ["a red bird on a fence", "two dogs play on the grass", "a man rides a brown horse", "a boat", "a big tree"]
# Controls that ask a model, a parser or a generator of sentences for something new, by notebook.
MODEL = {
    "02": {"caption"},
    "03": {"picture", "caption", "generator", "filter", "seed"},
    "07": {"picture", "caption", "map"},
    "05": {"sentence"},
    "10": {"picture", "sentence", "rewrite from"},
}


def notebook_03() -> Explorer:
    run = itmlab.pretrained("tags")
    data = itmlab.load("scenes", split="test", regions=run.model.config.visual == "regions")
    return explore.explore_negatives(run, data, picture=4)


def notebook_05() -> Explorer:
    run = itmlab.pretrained("triplet")
    return explore({"not aligned": itmlab.pretrained("towers"), "aligned": run}, itmlab.load("scenes", split="test"))


def notebook_06() -> Explorer:
    studied = analysis.study(itmlab.pretrained("fne"), itmlab.load("scenes", split="test"))
    return explore.explore_false_negatives(studied, anchor=3, prior=0.01)


def notebook_07() -> Explorer:
    runs = {"without FNE": itmlab.pretrained("hardest_memory"), "with FNE": itmlab.pretrained("fne")}
    return explore.explore_attention(runs, itmlab.load("scenes", split="test"))


def notebook_08() -> Explorer:
    return explore.explore_kernel_memory(itmlab.pretrained("triplet"), itmlab.load("scenes", split="test"), anchor=3)


def notebook_10() -> Explorer:
    runs = {name: itmlab.pretrained(name) for name in ("uniter", "tags_dc")}
    return explore.explore_words(runs, itmlab.load("scenes", split="test", regions=True))


NOTEBOOKS: dict[str, Callable[[], Explorer]] = {
    "02": explore.explore_masking,
    "03": notebook_03,
    "05": notebook_05,
    "06": notebook_06,
    "07": notebook_07,
    "08": notebook_08,
    "10": notebook_10,
}


def moves(control: ipywidgets.Widget) -> Iterator[None]:
    """Moves it to other values, one at a time, as a key pressed again and again does."""
    if isinstance(control, ipywidgets.Text):
        values = iter(SENTENCES)
    elif isinstance(control, ipywidgets.Dropdown):
        options = [value for _, value in control._options_full]
        values = (options[(options.index(control.value) + 1) % len(options)] for _ in range(MOVES))
    elif isinstance(control, ipywidgets.FloatLogSlider):
        values = (10 ** (control.min + (control.max - control.min) * number / MOVES) for number in range(MOVES))
    elif isinstance(control, PicturePicker):
        values = range(1, MOVES + 1)
    elif isinstance(control, ipywidgets.FileUpload):
        values = ()
    else:
        values = (control.min + number * control.step for number in range(1, MOVES + 1))
    for value in values:
        control.value = value
        yield


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_an_explorer_follows_its_controls(notebook, capsys):
    explorer = NOTEBOOKS[notebook]()
    began = time.process_time()
    explorer.widget()
    rows = [f"{notebook}  {'first drawn':<14} {1000 * (time.process_time() - began):6.0f} ms"]
    for control in explorer.controls:
        seconds, began = [], time.process_time()
        for _ in moves(control):
            seconds.append(time.process_time() - began)
            began = time.process_time()
        reads = "  a model reads" if control.description in MODEL.get(notebook, ()) else ""
        middle, most = 1000 * statistics.median(seconds), 1000 * max(seconds)
        rows.append(f"{notebook}  {control.description:<14} {middle:6.0f} ms, at most {most:6.0f}{reads}")
    with capsys.disabled():
        print("", *rows, sep="\n")
