"""Noise compared: the seed moves the captions, what was trained stays, and a change is what two shares differ by."""

import numpy as np
import pytest
import torch

from itmlab import load, recipes
from itmlab.data.loading import origin_of
from itmlab.runs.comparison import Comparison
from itmlab.scenes import load as drawn
from itmlab.studies import noise
from itmlab.studies.noise import at_share, change_by_noise, compare_noise, draw_noise
from tests.refusals import refused


def made() -> Comparison:
    """Two recipes at two shares, two seeds, twenty pictures with two captions each; hits by chance."""
    random = np.random.default_rng(0)
    labels = [at_share(name, share) for share in (0, 0.5) for name in ("one", "<b>two")]
    found = {name: random.integers(0, 2, (2, 6, 20)).astype(float) for name in labels}
    return Comparison(labels, labels[0], [0, 1], found, np.full(20, 2), {})


def test_a_change_is_the_difference_of_two_shares_and_is_compared_as_they_are() -> None:
    comparison = made()
    changed = change_by_noise(comparison, ["one", "<b>two"], 0.5)
    for name in ("one", "<b>two"):
        expected = comparison.difference(at_share(name, 0.5), at_share(name, 0))
        for column, ends in changed.intervals(name).items():
            assert tuple(ends) == pytest.approx(tuple(expected[column]))
    more = changed.difference("<b>two", "one")["RSum"][0]
    apart = [changed.intervals(name)["RSum"][0] for name in ("<b>two", "one")]
    assert more == pytest.approx(apart[0] - apart[1])
    refused("nothing compared is called 'one, 20 % moved'", change_by_noise, comparison, ["one"], 0.2)


def test_a_line_a_recipe_with_its_intervals_in_each_panel() -> None:
    comparison = made()
    figure = draw_noise(comparison, {"one": "first", "<b>two": "<i>second"}, (0, 0.5), title="t")
    assert [trace.name for trace in figure.data] == ["first", "&lt;i&gt;second"]  # no truth: one panel
    for name, trace in zip(("one", "<b>two"), figure.data, strict=True):
        clean, noisy = at_share(name, 0), at_share(name, 0.5)
        assert list(trace.y) == pytest.approx([comparison.intervals(one)["RSum"][0] for one in (clean, noisy)])
        change, lower, upper = comparison.difference(noisy, clean)["RSum"]
        assert trace.error_y.array == pytest.approx((0, upper - change))
        assert trace.error_y.arrayminus == pytest.approx((0, change - lower))
    assert figure.data[0].x[1] != figure.data[1].x[1]  # beside each other


def test_each_seed_moves_captions_of_its_own_which_all_recipes_see(tmp_path, monkeypatch) -> None:
    data, seen = load("scenes", images=130, cache=tmp_path / "scenes"), []

    def trained(rows, noisy, *, seeds, run_root, jobs, progress):
        seen.append((noisy, seeds, origin_of(noisy)))
        return {name: [recipe.replace(seed=seeds[0])] for name, recipe in rows.items()}

    monkeypatch.setattr(noise, "trained", trained)
    monkeypatch.setattr(noise, "compare_runs", lambda runs, given, **more: (runs, given))
    rows = {"a": recipes.hardest, "b": recipes.info_nce}
    runs, given = compare_noise(rows, data, (0, 0.5), seeds=(3, 4), run_root=tmp_path)
    assert given is data and [*runs] == [at_share(name, share) for share in (0, 0.5) for name in ("a", "b")]
    assert all([recipe.seed for recipe in group] == [3, 4] for group in runs.values())
    assert [seeds for _, seeds, _ in seen] == [[3], [3], [4], [4]] and seen[0][0] is data
    shuffled = [noisy for noisy, *_ in seen if noisy.moved.any()]
    assert len(shuffled) == 2 and not shuffled[0].moved.equal(shuffled[1].moved)
    assert all(noisy.split("test").captions == data.split("test").captions for noisy in shuffled)
    assert torch.stack([noisy.moved.sum() for noisy in shuffled]).eq(275).all()  # half of 550 of 110 pictures
    for noisy, _, origin in seen:  # by which another process loads the same
        assert load(**origin).fingerprint == noisy.fingerprint


def test_what_was_not_loaded_by_name_is_moved_as_well(tmp_path, monkeypatch) -> None:
    data, seen = drawn(images=130, cache=tmp_path), []
    monkeypatch.setattr(noise, "trained", lambda rows, noisy, **more: seen.append(noisy) or {name: [] for name in rows})
    monkeypatch.setattr(noise, "compare_runs", lambda runs, given, **more: runs)
    compare_noise({"a": recipes.hardest}, data, (0.5,), seeds=(0,), run_root=tmp_path)
    assert seen[0].moved.any() and origin_of(seen[0]) is None
