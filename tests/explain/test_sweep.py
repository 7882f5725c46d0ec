"""One knob at a time: the settings that were asked for, each made once, measured as `Made` measures."""

import numpy as np
import pytest

from itmlab.data.scenes import load
from itmlab.explain import synthesis_sweep, synthetic_negatives

from .small_tower import small_tower


def test_each_setting_is_what_the_one_call_makes(tmp_path, monkeypatch):
    data = load(images=3, cache=tmp_path)
    tower = small_tower(data.captions)
    asked = []

    def counted(*given, **options):
        asked.append(options)
        return synthetic_negatives(*given, **options)

    monkeypatch.setattr("itmlab.explain.sweep.synthetic_negatives", counted)
    monkeypatch.setattr(
        "itmlab.explain.sweep.PAPER", {"maskings": 3, "samples": 2, "temperature": 1.5, "masking": "phrase"}
    )
    table = synthesis_sweep(tower, data, [0, 5, 10], maskings=(1, 3), samples=(2,), temperature=(1.5, 0.5), keep=2)
    assert [[one.value for one in row] for row in table.values()] == [[1, 3], [2], [1.5, 0.5], ["phrase", "word"]]
    assert len(asked) == 4  # the paper's setting once, and three that differ from it in one knob
    usual = table["maskings"][1]
    assert usual.difficulty == table["samples"][0].difficulty == table["temperature"][0].difficulty
    expected = synthetic_negatives(
        data, [0, 5, 10], "tags", run=tower, maskings=3, samples=2, temperature=1.5, keep=2, fluent="scenes"
    )
    assert usual.difficulty.value == pytest.approx(expected.difficulty.mean().item(), abs=1e-6)
    assert usual.fluency.value == pytest.approx(np.median([one.fluency for one in expected.all()]))
    assert str(usual.truth) == str(expected.truth) and usual.negatives == len(expected)
