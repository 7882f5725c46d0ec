"""What part of a tiny step of TAGS goes into making sentences, and into mining: `python -m pytest -s` prints it.

The tower is `tags`' tiny one with fresh weights (what it says does not change how long it takes); seconds are a step's
on this machine, shares and ratios are of one run.
"""

import itmlab
from tests.benchmarks.timed import Timed

STEPS = 10  # between two lines of the history


def test_the_share_of_synthesis_in_a_tiny_step(tmp_path, capsys, monkeypatch):
    data = itmlab.load("scenes", images=120, regions=True).split("train")
    lines = []
    for name in ("uniter", "tags", "tags_dc"):
        recipe = itmlab.recipe(name).replace(start=None, data__steps=2 * STEPS, data__validation=0)
        timed = Timed(monkeypatch)
        itmlab.train(recipe, data, tmp_path / name, progress=False, on_record=timed)
        whole, parts = timed.between(0, -2)  # the last is the epoch's
        made, mined = parts["synthesis"], parts["mining"]
        assert made + mined < whole and (made > 0) == recipe.tags.makes_sentences
        shares = f"synthesis {made / whole:.0%}, mining {mined / whole:.0%}, the rest {1 - (made + mined) / whole:.0%}"
        lines.append(f"{name}: {whole / STEPS:.2f} s a step of {recipe.data.batch_size} pairs; {shares}")
    with capsys.disabled():
        print("", *lines, sep="\n")
