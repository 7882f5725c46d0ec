"""The loss of a batch against slow loops written from the paper's equations, and which candidates it sees when."""

from typing import NamedTuple

import pytest
import torch
from torch.nn.functional import normalize

from itmlab.samplers import Hardest, MomentumQueue, Oracle, Pool, Sampler
from itmlab.scenes import load
from itmlab.train.loop import train
from itmlab.train.step_dual import Objective
from tests.train.world import micro


def features(seed, count=6, dimension=8):
    generator = torch.Generator().manual_seed(seed)
    return [normalize(torch.randn(count, dimension, generator=generator), dim=1).requires_grad_() for _ in range(2)]


IDS = torch.tensor([3, 1, 4, 1, 5, 9])  # rows 1 and 3 are of the same image
ROWS = torch.tensor([30, 10, 40, 11, 50, 90])  # their captions


class TenCaptionsEach:
    """Stands in for data: caption c is of image c // 10."""

    captions = ()

    def matches(self, images, captions):
        return images[:, None] == captions // 10


class Outcome(NamedTuple):
    """The loss, and what samplers chose in the order in which they were asked; None where none was asked."""

    loss: torch.Tensor
    chosen: torch.Tensor | None


class Listened(Objective):
    """An objective that also returns the choices of samplers; it takes the features and numbers of pairs."""

    def __call__(self, images, captions, image_ids, caption_ids, slow, epoch, per_anchor=(None, None), matrix=None):
        batch, slow = Pool(images, captions, image_ids, caption_ids), slow and Pool(*slow, image_ids, caption_ids)
        return self.ask(batch, slow, epoch, per_anchor, matrix)

    def ask(self, *arguments):
        chosen, choose = [], Sampler.__call__

        def listened(sampler, *inputs, **more):
            chosen.append(choose(sampler, *inputs, **more))
            return chosen[-1]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Sampler, "__call__", listened)
            loss = super().__call__(*arguments)
        return Outcome(loss, torch.cat(chosen) if chosen else None)


def objective(name, relevance=None, **changes):
    recipe = micro(name, **changes)
    memory = MomentumQueue(recipe.memory.length, 8) if recipe.memory else None
    return Listened(recipe, memory, torch.Generator().manual_seed(0), TenCaptionsEach(), relevance)


def hinges(anchors, positives, candidates, anchor_ids, candidate_ids, margin=0.2):
    """For each anchor the hinges of its negatives, in plain loops."""
    table = []
    for row, anchor in enumerate(anchors):
        match = anchor @ positives[row]
        others = [column for column in range(len(candidates)) if candidate_ids[column] != anchor_ids[row]]
        table.append([(margin - match + anchor @ candidates[column]).clamp(min=0) for column in others])
    return table


def test_the_triplet_loss_is_the_sum_of_hinges_of_the_batch():
    images, captions = features(0)
    both = hinges(images, captions, captions, IDS, IDS) + hinges(captions, images, images, IDS, IDS)
    loss, chosen = objective("triplet")(images, captions, IDS, ROWS, None, epoch=1)
    assert chosen is None and loss.item() == pytest.approx(sum(map(sum, both)).item() / 6, rel=1e-5)


def test_warm_up_is_info_nce_in_the_batch_whatever_the_recipe():
    images, captions = features(0)
    expected = 0
    for scores in (images @ captions.T / 0.05, captions @ images.T / 0.05):
        for row, values in enumerate(scores):
            others = [value for column, value in enumerate(values) if IDS[column] != IDS[row]]
            expected = expected + (torch.stack([values[row], *others]).logsumexp(0) - values[row]) / 6
    for name in ("triplet", "hardest", "fne", "info_nce"):
        slow = features(1) if name == "fne" else None
        loss, chosen = objective(name)(images, captions, IDS, ROWS, slow, epoch=0)
        assert chosen is None and loss.item() == pytest.approx(expected.item(), rel=1e-5)


def test_hardest_is_the_largest_hinge_by_either_road():
    sides = images, captions = features(0)
    expected = sum(map(max, hinges(images, captions, captions, IDS, IDS)))
    expected = (expected + sum(map(max, hinges(captions, images, images, IDS, IDS)))) / 6
    sampled = objective("semi_hard", sampler=Hardest())(images, captions, IDS, ROWS, None, epoch=1).loss
    plain = objective("hardest")(images, captions, IDS, ROWS, None, epoch=1).loss
    assert sampled.item() == pytest.approx(expected.item()) == pytest.approx(plain.item())
    for gradient, slow in zip(*(torch.autograd.grad(loss, sides) for loss in (sampled, expected)), strict=True):
        torch.testing.assert_close(gradient, slow)


def test_the_memory_is_filled_first_and_searched_from_the_epoch_after():
    """METHODS 1.4: the pool is the batch's momentum features and the queue; the first epoch stays in the batch."""
    chooser = objective("hardest_memory", data__warm_up_epochs=0)
    images, captions = features(0)
    first, second = features(1), features(2)
    in_batch = objective("hardest")(images, captions, IDS, ROWS, None, epoch=1).loss
    assert chooser(images, captions, IDS, ROWS, first, epoch=0).loss.item() == pytest.approx(in_batch.item())
    assert chooser.memory.filled == 6
    loss, chosen = chooser(images, captions, IDS, ROWS, second, epoch=1)
    pool_ids = torch.cat([IDS, IDS])
    pools = [torch.cat([second[side], first[side]]).detach() for side in (0, 1)]
    expected = 0
    for anchors, matches, pool in ((images, second[1], pools[1]), (captions, second[0], pools[0])):
        expected = expected + sum(map(max, hinges(anchors, matches, pool, IDS, pool_ids))) / 6
    assert loss.item() == pytest.approx(expected.item())
    assert len(chosen) == 12 and all(pool_ids[chosen[row]] != IDS[row % 6] for row in range(12))
    assert chooser.memory.filled == 12


def test_fne_observes_each_pair_once_and_the_negatives_of_both_directions():
    chooser = objective("fne", sampler__minimum_positives=1)
    images, _ = features(0)
    chooser(
        images, images, torch.arange(6), 10 * torch.arange(6), features(1), epoch=1
    )  # a perfect model: every positive is trusted
    moments = chooser.sampler.positive_moments, chooser.sampler.negative_moments
    assert [int(each.state[0]) for each in moments] == [6, 12]  # state: count, mean, squares
    assert chooser.sampler.statistics.positive_mean == pytest.approx(1.0)
    chooser.start_epoch(2)
    assert chooser.sampler.positive_moments.state[0] == 0


def test_a_batch_of_one_image_has_a_loss_of_zero_with_a_gradient():
    for name in ("triplet", "hardest", "fne", "info_nce"):
        images, captions = features(0, count=1)
        slow = features(1, count=1) if name == "fne" else None
        loss, _ = objective(name)(images, captions, IDS[:1], ROWS[:1], slow, epoch=1)
        loss.backward()
        assert loss.item() == 0 and images.grad.isfinite().all()


@pytest.mark.parametrize("name", ["semi_hard", "hardest_memory"])
@pytest.mark.parametrize("take", ["true_negatives", "false_negatives"])
def test_an_oracle_trains_on_what_the_world_calls_false_or_true(name, take, tmp_path, monkeypatch):
    """The label of each negative of a run is the one that the oracle takes, unless its candidates have none."""
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "cache"))
    data, choices, choose = load(images=48, size=64, unannotated=1.0), [], Oracle.__call__
    labels = data.split("train").world.truth()

    def listened(self, scores, positives, positive_scores, *, generator, context):
        chosen = choose(self, scores, positives, positive_scores, generator=generator, context=context)
        of_images = labels[context.anchor_images][:, context.candidate_captions]
        of_captions = labels[context.candidate_images][:, context.anchor_captions].T
        assert context.truth.equal(of_images) or context.truth.equal(of_captions)
        choices.extend(zip(chosen.tolist(), context.truth, positives, strict=True))
        return chosen

    monkeypatch.setattr(Oracle, "__call__", listened)
    recipe = micro(name, sampler=Oracle(take), data__warm_up_epochs=0, data__epochs=2)
    train(recipe.replace(data__captions_per_image=2), data, tmp_path / "run", progress=False)
    wanted_label, taken = int(take == "false_negatives"), 0
    for column, truth, positives in choices:
        wanted = (truth == wanted_label) & ~positives
        if wanted.any():
            assert column >= 0 and wanted[column]
            taken += 1
        else:
            assert column < 0 or take == "false_negatives"
    assert taken > 10
