"""What part of a tiny step of TAGS goes into making sentences, and into mining: `python -m pytest -s` prints it.

The tower is `tags`' tiny one with fresh weights (what it says does not change how long it takes); seconds are a step's
on this machine, shares and ratios are of one run.
"""

import json

import itmlab

STEPS = 6


def test_the_share_of_synthesis_in_a_tiny_step(tmp_path, capsys):
    data = itmlab.load("scenes", images=120, regions=True).split("train")
    lines = []
    for name in ("uniter", "tags", "tags_dc"):
        recipe = itmlab.recipe(name).replace(start=None, data__steps=STEPS, data__validation=0)
        recipe = recipe.replace(data__captions_per_image="all")  # an epoch of this small set has all of the steps
        itmlab.train(recipe, data, tmp_path / name / "first", progress=False, max_steps=2)
        itmlab.train(recipe, data, tmp_path / name / "timed", progress=False)
        timing = json.loads((tmp_path / name / "timed" / "timings.jsonl").read_text().splitlines()[-1])
        whole = timing["training_seconds"]
        made, mined = timing.get("synthesis_seconds", 0.0), timing["mining_seconds"]
        assert made + mined < whole and (made > 0) == recipe.tags.makes_sentences
        shares = f"synthesis {made / whole:.0%}, mining {mined / whole:.0%}, the rest {1 - (made + mined) / whole:.0%}"
        lines.append(f"{name}: {whole / STEPS:.2f} s a step of {recipe.data.batch_size} pairs; {shares}")
    with capsys.disabled():
        print("", *lines, sep="\n")
