"""Each seed moves other captions, and all recipes of a seed see the same ones."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from workshop.analysis import noise
from workshop.analysis.noise import at_share, compare_noise, with_noise

import itmlab
from itmlab import load
from itmlab.errors import ItmlabError
from tests.data.test_captionset import caption_set
from tests.refusals import refused


def test_each_seed_moves_captions_of_its_own_which_all_recipes_see(tmp_path, monkeypatch) -> None:
    data, seen = load("scenes", images=130, cache=tmp_path / "scenes"), []

    def trained(rows, noisy, *, seeds, run_root):
        seen.append((noisy, seeds))
        return {name: [recipe.replace(seed=seeds[0])] for name, recipe in rows.items()}

    monkeypatch.setattr(noise, "trained", trained)
    monkeypatch.setattr(noise, "compare_runs", lambda runs, given, **more: (runs, given))
    rows = {"a": itmlab.recipe("hardest"), "b": itmlab.recipe("info_nce")}
    runs, given = compare_noise(rows, data, (0, 0.5), seeds=2, run_root=tmp_path)
    assert given is data and [*runs] == [at_share(name, share) for share in (0, 0.5) for name in ("a", "b")]
    assert all([recipe.seed for recipe in group] == [0, 1] for group in runs.values())
    assert [seeds for _, seeds in seen] == [[0], [0], [1], [1]]
    moved = [noisy.image_of_caption != data.image_of_caption for noisy, _ in seen]
    shuffled = [noisy for (noisy, _), changes in zip(seen, moved, strict=True) if changes.any()]
    assert len(shuffled) == 2 and not shuffled[0].image_of_caption.equal(shuffled[1].image_of_caption)
    assert all(noisy.split("test").captions == data.split("test").captions for noisy in shuffled)
    assert [int(changes.sum()) for changes in moved] == [0, 275, 0, 275]  # half of 550 of 110 pictures


@given(st.integers(2, 9), st.integers(1, 4), st.floats(0, 1), st.integers(0, 5))
def test_noise_moves_its_share_of_the_training_captions_and_each_to_another_image(images, each, share, seed):
    owners = [image for image in range(images + 3) for _ in range(each)]
    splits = {
        "train": torch.arange(images + 1),
        "val": torch.tensor([images]),
        "test": torch.arange(images + 1, images + 3),
    }
    whole = caption_set(owners, images + 3, splits)
    count = round(share * images * each)  # the image of "val" is in "train" as well, and stays as it is
    try:
        noisy = with_noise(whole, share, seed)
    except ItmlabError as error:
        assert "cannot each go to another image" in str(error) and (count == 1 or images * (count // 2) < count)
        return
    moved = noisy.image_of_caption != whole.image_of_caption
    assert int(moved.sum()) == count and not moved[images * each :].any()
    assert noisy.image_of_caption.bincount().equal(whole.image_of_caption.bincount())
    assert (noisy.captions, noisy.caption_ids, noisy.image_ids) == (whole.captions, whole.caption_ids, whole.image_ids)
    assert (noisy.fingerprint == whole.fingerprint) == (count == 0)
    assert with_noise(noisy, 0).fingerprint == noisy.fingerprint
    assert with_noise(whole, share, seed).fingerprint == noisy.fingerprint
    for name in ("val", "test"):
        assert noisy.split(name).captions == whole.split(name).captions


def test_noise_that_cannot_be_is_refused():
    data = caption_set([0, 0, 0], 1)
    refused("3 of the 3 captions of 1 images to train on cannot each go to another image", with_noise, data, 1.0)
    refused("cannot each go", with_noise, caption_set([0, 0, 0, 1], 2), 1.0)
    refused('no split "train"', with_noise, caption_set([0, 1], 2, {"val": torch.tensor([0])}), 0.5)
