"""The recipes for photographs: what they share, and that each takes steps on a few pictures."""

import numpy as np
import pytest
import torch
from PIL import Image

import itmlab
from itmlab.data.captionset import CaptionSet
from itmlab.metrics.wordnet import wordnet
from itmlab.models import build_model
from itmlab.models.photographs import EFFICIENTNET, with_photo_features
from itmlab.train import train
from itmlab.train.named import COMPARED, DUAL, WITHOUT_PHOTOS
from itmlab.train.run import Run
from tests.refusals import refused
from tests.train.test_resume import same_bytes

CAPTIONS = ("a dog runs on the green grass", "two men ride a horse near the water", "a girl in a red dress jumps",
            "a cat sleeps on a bench")  # fmt: skip


@pytest.fixture(scope="module")
def data() -> CaptionSet:
    """Sixteen pictures of noise with a caption each."""
    pixels = np.random.default_rng(0).integers(0, 255, (16, 32, 32, 3), dtype=np.uint8)
    ids = [str(number) for number in range(16)]
    captions = [CAPTIONS[number % 4] for number in range(16)]
    images = [Image.fromarray(one) for one in pixels]
    noise = CaptionSet(
        **{"name": "noise", "images": images, "image_ids": ids, "captions": captions, "caption_ids": ids},
        image_of_caption=torch.arange(16),
        splits={"train": torch.arange(16)},
    )
    return with_photo_features(noise, progress=False)


def test_all_read_the_same_frozen_encoders() -> None:
    models = [itmlab.recipe(name, on="photos").model for name in (*COMPARED, "scan", "sgraf", "vsrn", "tags_dc")]
    assert {(model.photo_encoder, model.region_dimension, model.word_vectors) for model in models} == {
        (EFFICIENTNET, 1280, "wordllama")
    }


def test_methods_keep_what_is_theirs() -> None:
    for name in set(DUAL) - set(WITHOUT_PHOTOS):
        recipe, published = itmlab.recipe(name, on="photos"), itmlab.recipe(name)
        assert type(recipe.loss) is type(published.loss) and recipe.adaptive_margin == published.adaptive_margin
        assert type(recipe.sampler) is type(published.sampler)
        assert recipe.memory == published.memory


@pytest.mark.parametrize("name", ["fne", "sam", "itcontrast", "sgraf", "vsrn", "tags_dc"])
def test_each_takes_steps(name, data, tmp_path) -> None:
    if name.startswith("tags") and wordnet() is None:
        pytest.skip("no WordNet, whose kinds the rules swap by")
    few = {"data__batch_size": 8, "data__warm_up_epochs": 0, "data__validation": 0}
    sizes = {"hidden": 16, "intermediate": 16} if name.startswith("tags") else {"dimension": 16}
    few |= {f"model__{size}": value for size, value in sizes.items()}
    if name.startswith("tags"):
        few["tags__matching_begins"] = 0.0
    run = train(itmlab.recipe(name, on="photos").replace(**few), data, tmp_path, progress=False, max_steps=2)
    assert run.epochs and np.isfinite(run.epochs[0]["loss"])


def test_a_photo_encoder_and_patches_do_not_go_together() -> None:
    refused("photo_encoder", itmlab.recipe("tags", on="photos").replace, model__aligned=None, model__visual="patches")


def test_an_aligned_start_is_the_linear_dual_encoder_of_the_same_regions() -> None:
    for changes in ({"kind": "scan_t2i"}, {"word_vectors": None}, {"boxes": True}, {"region_dimension": 5}):
        fields = {f"model__aligned__{name}": value for name, value in changes.items()}
        refused("an aligned start", itmlab.recipe("tags", on="photos").replace, **fields)


def test_matching_begins_as_the_aligned_dual_encoders_cosine(data) -> None:
    recipe = itmlab.recipe("tags", on="photos").replace(
        model__hidden=16, model__intermediate=16, model__aligned__dimension=8
    )
    model = build_model(recipe.model, data.captions, seed=0).eval()
    images, captions = model.prepare_images(list(data.regions)), model.prepare_captions(data.captions)
    with torch.no_grad():
        cosines = model.aligned.similarity(model.aligned.encode_images(images), model.aligned.encode_captions(captions))
        begun, seen = model.similarity(images, captions), model.embed_regions(**images)
        torch.testing.assert_close(begun, 10 * cosines, rtol=1e-4, atol=1e-5)
        torch.nn.init.normal_(model.heads.itm.weight)  # then what is read together has its say
        alone = model(captions["input_ids"], captions["attention_mask"], seen).itm
    later = model.similarity(images, captions)
    torch.testing.assert_close(alone, later.diagonal(), rtol=1e-4, atol=1e-4)
    assert (later - begun).abs().max() > 0.1


def test_cosines_are_learnt_alone_before_matching_begins(data, tmp_path) -> None:
    changes = {"data__batch_size": 8, "data__steps": 4, "tags__matching_begins": 0.5, "model__hidden": 16}
    recipe = itmlab.recipe("uniter", on="photos").replace(**changes, model__aligned__dimension=8)
    once = train(recipe, data, tmp_path / "once", progress=False)
    for steps in (1, 2, 3):
        train(recipe, data, tmp_path / "often", max_steps=steps, progress=False)
        assert bool(Run(tmp_path / "often").model.heads.itm.weight.any()) == (steps == 3)
    assert same_bytes(train(recipe, data, tmp_path / "often", progress=False), once)
