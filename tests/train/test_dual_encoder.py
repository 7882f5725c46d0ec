"""Encoders of regions and words, with synthetic negatives of features, and InfoCMR."""

from dataclasses import replace

import pytest
import torch
from accelerate import Accelerator

import itmlab
from itmlab.losses import InfoCMR, gaussian_noise
from itmlab.models import OscarDualEncoder, build_model
from itmlab.samplers import Hardest
from itmlab.scenes import load
from itmlab.synthesis import SynHNC
from itmlab.train.directory import first_model
from itmlab.train.loop import train
from itmlab.train.scores import similarity
from itmlab.train.state import lengthened
from itmlab.train.step_dual import DualEncoderTask
from tests.refusals import refused
from tests.train.test_extra_negatives import extras
from tests.train.test_objective import IDS, ROWS, features, objective
from tests.train.test_resume import same_bytes
from tests.train.test_tags import first_batch

SMALL = {"dimension": 12, "word_dimension": 10, "similarity_dimension": 8, "vocabulary_size": 150}
SMALL_OSCAR = {"hidden": 16, "layers": 1, "heads": 2, "intermediate": 24, "vocabulary_size": 150}
SMALL_MATCHER = {"similarity_dimension": 8}
ALL = ("scan+syn+info", "vsrn+info", "vsepp+syn", "itcontrast", "oscar_sgraf")


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return load(images=36, cache=tmp_path_factory.mktemp("scenes"), regions=True)


def small(name, **changes):
    """A named recipe that trains in a second: batches of 6 pictures with 2 captions, 2 epochs, 1 of them warm-up."""
    sizes = SMALL_OSCAR if name.startswith(("oscar", "itcontrast")) else SMALL
    sizes = sizes | SMALL_MATCHER if name == "oscar_sgraf" else sizes
    recipe = itmlab.recipe(name).replace(**{f"model__{field}": value for field, value in sizes.items()})
    recipe = recipe.replace(data__batch_size=6, data__epochs=2, data__warm_up_epochs=1, data__captions_per_image=2)
    recipe = recipe.replace(data__validation=None, data__validate_every=1, start=None)
    return recipe.replace(**({"synthesis__clusters": 3} if recipe.synthesis else {})).replace(**changes)


def task_and_batch(recipe, data):
    model = build_model(recipe.model, data.captions)
    task = DualEncoderTask(recipe, data, model, Accelerator(), torch.Generator().manual_seed(0))
    return task, first_batch(data, size=6, seed=1, captions_per_image=2, **task.preparation())


@pytest.mark.parametrize("name", ALL)
def test_every_encoder_trains_resumes_and_searches(name, scenes, tmp_path):
    recipe = small(name)
    once = train(recipe, scenes, tmp_path / "once", progress=False)
    train(recipe, scenes, tmp_path / "twice", max_steps=7, progress=False)  # of 5 an epoch
    assert same_bytes(train(recipe, scenes, tmp_path / "twice", progress=False), once) and len(once.epochs) == 2
    held_out = scenes.split("test")
    hits = once.search(held_out.captions[0], k=2, data=held_out)
    best = similarity(once.model, held_out)[:, 0].topk(2)
    assert hits.image_indices == best.indices.tolist() and hits.scores == pytest.approx(best.values.tolist(), abs=1e-4)
    refused("reads regions", once.search, held_out.images[0], data=held_out)


def test_a_dual_encoder_begins_with_the_transformer_of_a_cross_encoder(scenes, tmp_path):
    tower = build_model(replace(itmlab.recipe("uniter").model, **SMALL_OSCAR), scenes.captions).eval()
    tower.save(tmp_path / "tower")
    begun = first_model(small("oscar", start=str(tmp_path / "tower")), [])
    begun.save(tmp_path / "apart")
    again = first_model(small("oscar", start=str(tmp_path / "apart")), [])
    above = first_model(small("oscar_sgraf", start=str(tmp_path / "apart")), [])
    tokens, expected = tower.prepare_captions(scenes.captions[:3]), OscarDualEncoder.converted(tower)
    assert above.matcher is not None and above.compares_parts and not again.compares_parts
    for model in (begun, again, above):
        assert model.training and torch.equal(
            model.encode_captions(tokens).pooled, expected.encode_captions(tokens).pooled
        )


def slow(name, matrix, images, captions, extra=(None, None), noise=None):
    """The loss anchor by anchor: with candidates of other images, its own further negatives, and the noise."""
    total = 0
    for scores, anchors, further in ((matrix, images, extra[0]), (matrix.T, captions, extra[1])):
        for row in range(6):
            positive, negatives = scores[row, row], [scores[row, n] for n in range(6) if IDS[n] != IDS[row]]
            if further is not None:
                negatives += [anchors[row] @ feature for feature in further.features[row][further.allowed[row]]]
            if name in ("info_nce", "info_cmr"):
                far = [] if noise is None else [anchors[row] @ feature for feature in noise]
                values = torch.stack([positive, *negatives, *far]) / 0.05
                total = total + (values.logsumexp(0) - values[0]) / 6
            else:
                hinges = [(0.2 - positive + score).clamp(min=0) for score in negatives]
                total = total + (sum(hinges) if name == "triplet" else max(hinges)) / 6
    return total


def scores_of_parts():
    return (2 * torch.rand(6, 6, generator=torch.Generator().manual_seed(3)) - 1).requires_grad_()


@pytest.mark.parametrize("name", ["triplet", "hardest", "semi_hard", "info_nce", "info_cmr"])
@pytest.mark.parametrize("with_extra", [False, True])
def test_losses_take_scores_of_parts_and_of_features_where_something_has_no_parts(name, with_extra):
    (images, captions), matrix = features(0), scores_of_parts()
    extra = (extras(5), extras(6)) if with_extra else (None, None)
    noise = None
    if name == "info_cmr":
        asked = objective("info_nce", loss=InfoCMR(noise=7))
        noise = gaussian_noise(7, images, generator=torch.Generator().manual_seed(0))
    else:
        asked = objective(name, **({"sampler": Hardest()} if name == "semi_hard" else {}))
    loss = asked(images, captions, IDS, ROWS, None, 1, extra, matrix).loss
    expected = slow(name, matrix, images, captions)
    if with_extra or noise is not None:
        expected = expected + slow(name, images @ captions.T, images, captions, extra, noise)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    gradients = [
        torch.autograd.grad(value, (matrix, images, captions), allow_unused=True) for value in (loss, expected)
    ]
    for gradient, slow_gradient in zip(*gradients, strict=True):
        assert (gradient is None) == (slow_gradient is None)  # without features only parts are learnt from
        if gradient is not None:
            torch.testing.assert_close(gradient, slow_gradient)


@pytest.fixture
def synthesised(monkeypatch):
    """What the synthesiser was called with: anchors, candidates and positives."""
    calls, call = [], SynHNC.__call__
    monkeypatch.setattr(
        SynHNC, "__call__", lambda self, *sides, **options: calls.append(sides) or call(self, *sides, **options)
    )
    return calls


@pytest.mark.parametrize("name", ["scan+syn", "itcontrast"])
def test_negatives_are_synthesised_from_each_picture_once(name, scenes, monkeypatch, synthesised):
    task, batch = task_and_batch(small(name), scenes.split("train"))
    arguments = []
    monkeypatch.setattr(task, "objective", lambda *inputs: arguments.append(inputs) or torch.zeros(()))
    task(batch, epoch=0)
    assert not synthesised and arguments.pop()[3] == (None, None), "not in the warm-up"
    task(batch, epoch=1)
    (images, captions, *_), _, _, extra, matrix = arguments[0]
    assert len(images) == 12 and [len(side) for side in synthesised[0]] == [6, 12, 6]
    assert (matrix is not None) == (name == "scan+syn")
    pictures, positives = images[::2], scenes.split("train").matches(batch.image_indices[::2], batch.caption_indices)
    assert synthesised[0][2].equal(positives) and synthesised[1][2].equal(positives.T)
    generator = torch.Generator().manual_seed(0)
    expected = SynHNC(clusters=3, detach=False)(pictures, captions, positives, generator=generator)
    assert extra[0].features.equal(expected.features.repeat_interleave(2, dim=0))
    expected = SynHNC(clusters=3, detach=False)(captions, pictures, positives.T, generator=generator)
    assert extra[1].features.equal(expected.features) and extra[1].allowed.equal(expected.allowed)


def test_with_the_oracle_only_surely_false_items_are_prototypes(scenes, monkeypatch, synthesised):
    data = scenes.split("train")
    task, batch = task_and_batch(small("itcontrast", synthesis__oracle=True), data)
    labels = torch.randint(-1, 2, (len(data.captions), len(data)), generator=torch.Generator().manual_seed(2))
    monkeypatch.setattr(task, "truth", lambda captions, images: labels[captions][:, images].to(torch.int8))
    assert task(batch, epoch=1).loss.isfinite()
    images, captions = batch.image_indices[::2], batch.caption_indices
    not_false = data.matches(images, captions) | (labels[captions][:, images].T != 0)
    assert synthesised[0][2].equal(not_false) and synthesised[1][2].equal(not_false.T)


def test_pictures_without_regions_are_refused(scenes, tmp_path):
    plain, recipe = scenes.select(range(12)), small("scan")
    plain.regions = None
    refused("looks at regions and the data have none", train, recipe, plain, tmp_path / "run", progress=False)


def test_padding_to_few_lengths_changes_no_feature(scenes):
    model = build_model(small("vsepp").model, scenes.captions).eval()
    tokens = model.prepare_captions(scenes.captions[:4])
    longer = {name: lengthened(values, model.config.maximum_tokens) for name, values in tokens.items()}
    assert longer["input_ids"].shape[1] % 8 == 0
    torch.testing.assert_close(model.encode_captions(longer).pooled, model.encode_captions(tokens).pooled)
