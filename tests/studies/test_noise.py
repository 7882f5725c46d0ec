"""Each seed moves other captions, and all recipes of a seed see the same ones."""

import torch

import itmlab
from itmlab import load
from itmlab.studies import noise
from itmlab.studies.noise import at_share, compare_noise


def test_each_seed_moves_captions_of_its_own_which_all_recipes_see(tmp_path, monkeypatch) -> None:
    data, seen = load("scenes", images=130, cache=tmp_path / "scenes"), []

    def trained(rows, noisy, *, seeds, run_root, jobs, progress):
        seen.append((noisy, seeds))
        return {name: [recipe.replace(seed=seeds[0])] for name, recipe in rows.items()}

    monkeypatch.setattr(noise, "trained", trained)
    monkeypatch.setattr(noise, "compare_runs", lambda runs, given, **more: (runs, given))
    rows = {"a": itmlab.recipe("hardest"), "b": itmlab.recipe("info_nce")}
    runs, given = compare_noise(rows, data, (0, 0.5), seeds=(3, 4), run_root=tmp_path)
    assert given is data and [*runs] == [at_share(name, share) for share in (0, 0.5) for name in ("a", "b")]
    assert all([recipe.seed for recipe in group] == [3, 4] for group in runs.values())
    assert [seeds for _, seeds in seen] == [[3], [3], [4], [4]] and seen[0][0] is data
    shuffled = [noisy for noisy, _ in seen if noisy.moved.any()]
    assert len(shuffled) == 2 and not shuffled[0].moved.equal(shuffled[1].moved)
    assert all(noisy.split("test").captions == data.split("test").captions for noisy in shuffled)
    assert torch.stack([noisy.moved.sum() for noisy in shuffled]).eq(275).all()  # half of 550 of 110 pictures
