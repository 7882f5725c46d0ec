"""What a tiny training costs: seconds of a whole run by its steps, what the memory adds, and FNE's share of a step."""

import time

import itmlab
from itmlab.samplers import FalseNegativeEliminating

STEPS = 12


def test_a_tiny_recipe_trains_in_minutes_and_fnes_choice_is_a_hundredth_of_a_step(tmp_path, capsys, monkeypatch):
    data = itmlab.load("scenes", images=1200).split("train")
    recipes = {name: itmlab.recipe(name).replace(data__validation=0) for name in ("hardest", "fne")}
    recipes["fne"] = recipes["fne"].replace(sampler__minimum_positives=1, data__warm_up_epochs=0)
    seconds, choosing = {}, [0.0]

    def timed(method):
        def call(*arguments, **options):
            began = time.perf_counter()
            answer = method(*arguments, **options)
            choosing[0] += time.perf_counter() - began
            return answer

        return call

    for name in ("__call__", "observe"):
        monkeypatch.setattr(FalseNegativeEliminating, name, timed(getattr(FalseNegativeEliminating, name)))
    for name, recipe in recipes.items():
        itmlab.train(recipe, data, tmp_path / name / "first", progress=False, max_steps=2)  # decodes, allocates
        began, choosing[0] = time.perf_counter(), 0.0
        itmlab.train(recipe, data, tmp_path / name / "timed", progress=False, max_steps=STEPS)
        seconds[name] = (time.perf_counter() - began) / STEPS
    share, steps = choosing[0] / STEPS / seconds["fne"], recipes["fne"].data.steps
    with capsys.disabled():
        print(f"\n{steps} steps of tiny FNE: {steps * seconds['fne']:.0f} s (bound: 180 s)", end=", ")
        print(f"{seconds['fne'] / seconds['hardest']:.2f} times without a memory, FNE's choice {share:.2%} of a step")
    assert share <= 0.01
