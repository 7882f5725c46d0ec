"""Negatives from a file as candidates of their own for the image anchors of any two-feature recipe."""

import pytest
import torch

import itmlab
from itmlab.errors import ItmlabError
from itmlab.samplers import Hardest
from itmlab.synthesis import FeatureNegatives, Negative, generate_negatives, write_negatives
from itmlab.train.loop import train
from itmlab.train.settings import ExtraNegatives
from itmlab.train.step_dual import ExtraCaptions
from tests.train.test_objective import IDS, ROWS, features, hinges, objective
from tests.train.test_resume import same_bytes
from tests.train.world import COLOURS, micro


@pytest.fixture(scope="module")
def file(data, tmp_path_factory):
    """Each caption with other colours: three negatives, but one of every fourth caption and none of every fifth."""

    def recoloured(captions, graphs, image_captions, *, generator):
        made = []
        for number, caption in enumerate(captions):
            said = next(colour for colour in COLOURS if colour in caption)
            row = [Negative(caption.replace(said, other)) for other in COLOURS if other != said]
            made.append(row[: 0 if number % 5 == 0 else 1 if number % 4 == 0 else 3])
        return made

    training = data.split("train")
    path = tmp_path_factory.mktemp("file") / "negatives.jsonl"
    file = write_negatives(path, training, generate_negatives(training, recoloured))
    return file.path


def extras(seed=5, count=3):
    generator = torch.Generator().manual_seed(seed)
    values = torch.nn.functional.normalize(torch.randn(6, count, 8, generator=generator), dim=-1).requires_grad_()
    allowed = torch.ones(6, count, dtype=torch.bool)
    allowed[2, 1:] = allowed[4] = False
    return FeatureNegatives(values, allowed)


def slow_hinges(images, captions, extra):
    """All hinges of each image anchor with its own extra negatives behind, and of each caption anchor without."""
    to_captions = hinges(images, captions, captions, IDS, IDS)
    for row, own in enumerate(to_captions):
        positive = images[row] @ captions[row]
        for candidate, there in zip(extra.features[row], extra.allowed[row], strict=True):
            if there:
                own.append((0.2 - positive + images[row] @ candidate).clamp(min=0))
    return to_captions, hinges(captions, images, images, IDS, IDS)


@pytest.mark.parametrize(("name", "take"), [("triplet", sum), ("hardest", max)])
def test_losses_over_all_negatives_see_them(name, take, data):
    (images, captions), extra = features(0), extras()
    expected = sum(sum(map(take, side)) / 6 for side in slow_hinges(images, captions, extra))
    found = objective(name)(images, captions, IDS, ROWS, None, 1, (extra, None))
    assert found.loss.item() == pytest.approx(expected.item(), rel=1e-5)
    ours = torch.autograd.grad(found.loss, [images, captions, extra.features])
    theirs = torch.autograd.grad(expected, [images, captions, extra.features])
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)


def test_a_sampler_chooses_among_them_and_the_chosen_gets_the_gradient():
    (images, captions), extra = features(0), extras()
    found = objective("semi_hard", sampler=Hardest())(images, captions, IDS, ROWS, None, 1, (extra, None))
    expected = sum(sum(map(max, side)) / 6 for side in slow_hinges(images, captions, extra))
    assert found.loss.item() == pytest.approx(expected.item(), rel=1e-5)
    assert bool((found.chosen[:6] >= 6).any()) and bool((found.chosen[6:] < 6).all())
    ours, theirs = (torch.autograd.grad(loss, extra.features)[0] for loss in (found.loss, expected))
    torch.testing.assert_close(ours, theirs)
    assert bool((ours[~extra.allowed] == 0).all())


def test_info_nce_has_them_in_its_denominator():
    (images, captions), extra = features(0), extras()
    plain = objective("info_nce")(images, captions, IDS, ROWS, None, 1).loss
    none = FeatureNegatives(extra.features, torch.zeros_like(extra.allowed))
    assert objective("info_nce")(images, captions, IDS, ROWS, None, 1, (none, None)).loss.item() == pytest.approx(
        plain.item()
    )
    expected = 0
    for row in range(6):
        others = [images[row] @ captions[n] for n in range(6) if IDS[n] != IDS[row]]
        others += [
            images[row] @ one for one, there in zip(extra.features[row], extra.allowed[row], strict=True) if there
        ]
        scores = torch.stack([images[row] @ captions[row], *others]) / 0.05
        expected = expected + (scores.logsumexp(0) - scores[0]) / 6
        others = [captions[row] @ images[n] for n in range(6) if IDS[n] != IDS[row]]
        scores = torch.stack([images[row] @ captions[row], *others]) / 0.05
        expected = expected + (scores.logsumexp(0) - scores[0]) / 6
    found = objective("info_nce")(images, captions, IDS, ROWS, None, 1, (extra, None)).loss
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)


def test_different_negatives_are_drawn_and_gaps_marked(data, file):
    training = data.split("train")
    source = ExtraCaptions(ExtraNegatives(str(file), number=2), training)
    numbers, generator = torch.arange(20), torch.Generator().manual_seed(0)
    seen = [set() for _ in range(20)]
    for _ in range(12):
        rows, allowed = source.drawn(numbers, generator=generator)
        for row, (sentences, there) in enumerate(zip(rows, allowed.tolist(), strict=True)):
            taken = sentences[: sum(there)]
            assert there == sorted(there, reverse=True) and len(set(taken)) == len(taken) and len(sentences) == 2
            assert set(taken) <= set(source.sentences[row]) and len(taken) == min(2, len(source.sentences[row]))
            assert sentences[len(taken) :] == [training.captions[row]] * (2 - len(taken))
            seen[row] |= set(taken)
    assert [len(one) for one in seen] == [len(source.sentences[row]) for row in range(20)], "each gets its turn"


@pytest.mark.parametrize("name", ["triplet", "fne", "sam", "info_nce"])
def test_every_recipe_takes_them_and_resumes(name, data, file, tmp_path):
    recipe = micro(name, extra_negatives={"path": str(file), "number": 2})
    once = train(recipe, data, tmp_path / "once", progress=False)
    for steps in (3, 7):
        train(recipe, data, tmp_path / "twice", max_steps=steps, progress=False)
    assert same_bytes(train(recipe, data, tmp_path / "twice", progress=False), once)
    plain = train(micro(name), data, tmp_path / "plain", progress=False)
    first, other = (run.history[0]["loss"] for run in (once, plain))
    assert first == other, "the first epoch is warm-up, without them"
    assert once.history[-1]["loss"] != plain.history[-1]["loss"]


def test_another_file_is_not_gone_on_with(data, file, tmp_path):
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(file.read_bytes())
    recipe = micro("triplet", extra_negatives={"path": str(copy)})
    train(recipe, data, tmp_path / "run", max_steps=2, progress=False)
    copy.write_bytes(file.read_bytes().replace(b"red", b"sad"))
    with pytest.raises(ItmlabError, match="extra_negatives is"):
        train(recipe, data, tmp_path / "run", progress=False)


def test_a_file_that_is_not_there_or_of_other_captions_is_one_line(data, file, tmp_path):
    missing = micro("triplet", extra_negatives={"path": str(tmp_path / "none.jsonl")})
    with pytest.raises(ItmlabError, match="no such file"):
        train(missing, data, tmp_path / "a", progress=False)
    with pytest.raises(ItmlabError, match="no negative belongs to a caption"):
        ExtraCaptions(ExtraNegatives(str(file)), data.split("test"))
    with pytest.raises(ItmlabError, match=r"extra_negatives\.number is 0"):
        itmlab.recipe("triplet").replace(extra_negatives={"path": "x", "number": 0})
