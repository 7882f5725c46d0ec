"""FNE's public code on equal inputs: posterior, weights (`preset="released"`), and steps of training (see README)."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.nn.functional import normalize

import itmlab
from itmlab.samplers import FalseNegativeEliminating, MomentumQueue
from itmlab.samplers.base import best
from itmlab.samplers.fne import Statistics, posterior, sampling_weights
from tests.parity.test_sam import OneCaptionEach
from tests.train.test_objective import Listened

PUBLIC = load_file(Path(__file__).parent / "fne.safetensors")
FIRST = 3  # steps before the memory is used


def statistics_of(numbers):
    """The public code keeps variances."""
    return Statistics(*(numbers[:4] ** torch.tensor([1, 0.5, 1, 0.5])).tolist())


@pytest.mark.parametrize("case", ["wider", "narrower", "alike"])  # σ⁻ beside σ⁺
def test_posterior_and_weights_are_the_public_ones(case):
    scores, statistics = PUBLIC["similarity"], statistics_of(PUBLIC[f"{case}.statistics"])
    torch.testing.assert_close(posterior(scores, statistics, monotone=False), PUBLIC[f"{case}.posterior"])
    settings = {"preset": "released", "margin": 0.25, "monotone": False}
    weights = sampling_weights(scores, PUBLIC["positive"], statistics, **settings).masked_fill(PUBLIC["mask"], 0)
    empty = weights.sum(dim=1) == 0  # the public code gives weight 1 to the candidate that such an anchor takes
    torch.testing.assert_close(weights[~empty], PUBLIC[f"{case}.weights"][~empty])
    sampler = FalseNegativeEliminating(**settings, minimum_positives=1)
    means = {"positive": statistics.positive_mean, "negative": statistics.negative_mean}
    sampler.load_state_dict({side: torch.tensor([500, mean, 0], dtype=torch.float64) for side, mean in means.items()})
    arguments = scores, PUBLIC["mask"], PUBLIC["positive"]
    assert empty.any() and weights[PUBLIC["similarity"] == 0.5].eq(0).all()  # 0.5 is μ⁺ - margin
    chosen = sampler(*arguments, generator=torch.Generator())
    assert chosen[empty].equal(PUBLIC[f"{case}.weights"][empty].argmax(dim=1))


class Recorded(FalseNegativeEliminating):
    """Takes what the public code drew, after its weights were compared."""

    def choose(self, scores, positives, positive_scores, *, generator):
        step, side = divmod(self.asked, 2)
        self.asked += 1
        statistics = statistics_of(PUBLIC["steps.statistics"][step])
        weights = sampling_weights(scores, positive_scores, statistics, preset="released", monotone=False)
        weights = weights.masked_fill(positives, 0)
        has_weight = weights.sum(dim=1) > 0
        torch.testing.assert_close(
            weights[has_weight], PUBLIC["steps.weights"][step, side][has_weight], rtol=1e-4, atol=1e-5
        )
        chosen = PUBLIC["steps.chosen"][step].view(2, -1)[side]
        is_positive = positives.gather(1, chosen[:, None]).squeeze(
            1
        )  # taken there, at no cost, where no hinge is above 0
        return torch.where(is_positive, best(scores, ~positives), chosen)


def test_steps_of_training_are_the_public_ones():
    """Linear encoders in the place of ViT and BERT, three steps without the memory and nine with it.

    Loss, means of the statistics and weights at every step, and the encoders at the end; the random draws are replayed.
    """
    live, slow = ([torch.nn.Linear(6, 8) for _ in range(2)] for _ in range(2))
    names = ("visual_encoder", "text_encoder")
    for models in (live, slow):
        for model, name in zip(models, names, strict=True):
            model.load_state_dict({part: PUBLIC[f"start.{name}.{part}"] for part in ("weight", "bias")})
    memory = MomentumQueue(16, 8)
    memory.enqueue(PUBLIC["start.image_queue"].T, PUBLIC["start.text_queue"].T, *[torch.full((16,), -100)] * 2)
    changes = {"data__warm_up_epochs": 0, "loss__margin": 0.2}
    with_memory = Listened(itmlab.recipe("fne").replace(**changes), memory, torch.Generator(), OneCaptionEach())
    with_memory.sampler = sampler = Recorded(preset="released", monotone=False, minimum_positives=1)
    sampler.asked = 0
    in_batch = Listened(itmlab.recipe("hardest").replace(**changes), None, torch.Generator(), OneCaptionEach())
    optimiser = torch.optim.Adam([weight for model in live for weight in model.parameters()], lr=3e-3)
    for step, ids in enumerate(PUBLIC["steps.ids"]):
        inputs = PUBLIC["steps.images"][step], PUBLIC["steps.captions"][step]
        sides = [normalize(model(side).mean(dim=1), dim=-1) for model, side in zip(live, inputs, strict=True)]
        with torch.no_grad():
            for model, other in zip(live, slow, strict=True):
                for weight, slow_weight in zip(model.parameters(), other.parameters(), strict=True):
                    slow_weight.mul_(0.9).add_(0.1 * weight)
            follow = [normalize(model(side).mean(dim=1), dim=-1) for model, side in zip(slow, inputs, strict=True)]
        if step < FIRST:
            loss = in_batch(*sides, ids, ids, None, epoch=1).loss
        else:
            loss = with_memory(*sides, ids, ids, tuple(follow), epoch=1).loss
            means = sampler.statistics.positive_mean, sampler.statistics.negative_mean
            assert means == pytest.approx(PUBLIC["steps.statistics"][step - FIRST][[0, 2]].tolist(), rel=1e-5)
        assert loss.item() == pytest.approx(PUBLIC["steps.loss"][step].item(), rel=1e-5)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    for model, name in zip(live, names, strict=True):
        for part, weight in model.named_parameters():
            torch.testing.assert_close(weight.detach(), PUBLIC[f"end.{name}.{part}"], rtol=1e-4, atol=1e-5)
