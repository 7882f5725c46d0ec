"""SAM's public code on equal inputs: its loss under `preset="released"`, and SR and NCS of its metric (see README)."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import itmlab
from itmlab.metrics import semantic_retrieval
from itmlab.samplers import Random
from tests.train.test_objective import Listened

PUBLIC = load_file(Path(__file__).parent / "sam.safetensors")
NAMES = {"soft": "softest", "hard": "hardest", "random": "random"}
ROWS = torch.arange(len(PUBLIC["images"]))


def sam(images, captions, **settings):
    """Return loss and choices of SAM's term alone for the fixture's pairs; pairs 2 and 3 share an image."""
    margin = {"preset": "released", "with_triplet": False, **settings}
    recipe = itmlab.recipe("sam").replace(data__warm_up_epochs=0, adaptive_margin=margin)
    relevance = lambda captions, images: PUBLIC["relevance"][images, captions]  # noqa: E731
    objective = Listened(recipe, None, torch.Generator(), relevance=relevance)
    return objective(images, captions, ROWS, ROWS, None, epoch=1)


@pytest.mark.parametrize("temperature", [3, 6, 10])
@pytest.mark.parametrize("samples", NAMES)
def test_the_released_preset_is_the_public_loss(samples, temperature, monkeypatch):
    public = {name: PUBLIC[f"{samples}.{temperature}.{name}"] for name in ("first", "second", "loss")}
    if samples == "random":  # replayed: Python's `random` there, a generator of torch's here
        drawn = iter((public["first"], public["second"]))
        monkeypatch.setattr(Random, "choose", lambda *arguments, **options: next(drawn))
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
@pytest.mark.parametrize(("mark", "of"), [("", "kept"), ("(N)", "without")])
def test_sr_and_ncs_are_the_public_metrics(mark, of, images):
    similarity, relevance = PUBLIC["similarity"], PUBLIC["semantic"]
    table = semantic_retrieval(similarity, relevance, relevant=images, relevant_items="images", unanswered="zero")
    for side in ("i2t", "t2i"):
        for measure, name in (("SR", f"hard{images}"), ("NCS", "NCS")):
            values = list(table[measure + mark][side].values())
            assert values == pytest.approx(PUBLIC[f"{of}.{name}.{side}"].tolist(), rel=1e-6)
    assert table["unanswered"]["NCS(N)"] == {"i2t": 2, "t2i": 2}  # captions and images that nothing else is like
