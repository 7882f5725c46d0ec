"""SAM's public code on equal inputs: its loss under `preset="released"`, and SR and NCS of its metric (see README)."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import itmlab
from itmlab.metrics import image_relevance, ncs_of_each, semantic_recall_of_each
from itmlab.samplers import Random
from tests.train.test_objective import Listened

PUBLIC = load_file(Path(__file__).parent / "sam.safetensors")
NAMES = {"soft": "softest", "hard": "hardest", "random": "random"}
ROWS = torch.arange(len(PUBLIC["images"]))


class OneCaptionEach:
    """Stands in for data: caption c is of image c."""

    captions = ()

    def matches(self, images, captions):
        return images[:, None] == captions


def sam(images, captions, **settings):
    """Loss and choices of SAM's term alone, of the fixture's pairs; pairs 2 and 3 have one image."""
    margin = {"preset": "released", "with_triplet": False, **settings}
    recipe = itmlab.recipe("sam").replace(data__warm_up_epochs=0, adaptive_margin=margin)
    relevance = lambda captions, images: PUBLIC["relevance"][images, captions]  # noqa: E731
    model = Listened(recipe, None, torch.Generator(), OneCaptionEach(), relevance)
    return model(images, captions, ROWS, ROWS, None, epoch=1)


@pytest.mark.parametrize("temperature", [3, 6, 10])
@pytest.mark.parametrize("samples", NAMES)
def test_the_released_preset_is_the_public_loss(samples, temperature, monkeypatch):
    public = {name: PUBLIC[f"{samples}.{temperature}.{name}"] for name in ("first", "second", "loss")}
    if samples == "random":  # replayed: Python's `random` there, a generator of torch's here
        drawn = iter((public["first"], public["second"]))
        monkeypatch.setattr(Random, "choose", lambda *arguments, **named: next(drawn))
    sides = [PUBLIC[side].clone().requires_grad_() for side in ("images", "captions")]
    loss, chosen = sam(*sides, negatives=NAMES[samples], temperature=temperature)
    assert chosen.equal(torch.cat([public["first"], public["second"]]))
    assert len(ROWS) * loss.item() == pytest.approx(public["loss"].item(), rel=1e-6)  # a mean here, a sum there
    (len(ROWS) * loss).backward()
    for side, name in zip(sides, ("images", "captions"), strict=True):
        torch.testing.assert_close(side.grad, PUBLIC[f"{samples}.{temperature}.{name}_gradient"], rtol=1e-5, atol=1e-6)


def test_the_papers_own_loss_is_another():
    released = PUBLIC["soft.10.loss"].item() / len(ROWS)
    assert abs(sam(PUBLIC["images"], PUBLIC["captions"], preset="paper").loss.item() - released) > 0.1


@pytest.mark.parametrize("images", [1, 2, 3])
@pytest.mark.parametrize("kept", ["kept", "without"])
def test_sr_and_ncs_are_the_public_metrics(kept, images):
    """The code seeks whole images, and counts a query to which nothing is relevant as 0."""
    similarity, relevance = PUBLIC["similarity"], PUBLIC["semantic"]
    captions_per_image = len(relevance) // len(similarity)
    owner = torch.arange(len(relevance)) // captions_per_image
    positives = owner == torch.arange(len(similarity))[:, None]
    of_images = image_relevance(relevance, positives)
    sides = {
        "i2t": (similarity, relevance.T, of_images[:, owner], positives, images * captions_per_image),
        "t2i": (similarity.T, relevance, of_images[owner], positives.T, images),
    }
    for side, (scores, gains, image_gains, truth, sought) in sides.items():
        options = {} if kept == "kept" else {"without": truth}
        recalls = [semantic_recall_of_each(scores, image_gains, k, relevant=sought, **options) for k in (1, 5, 10)]
        values = [ncs_of_each(scores, gains, k, **options) for k in (1, 5, 10)]
        for measured, name in ((recalls, f"hard{images}"), (values, "NCS")):
            means = [of_query.nan_to_num().mean().item() for of_query in measured]
            assert means == pytest.approx(PUBLIC[f"{kept}.{name}.{side}"].tolist(), rel=1e-6)
        if kept == "without":
            assert values[0].isnan().sum() == 2  # captions and images that nothing else is like
