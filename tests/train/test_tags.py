"""The loss of a cross-encoder batch against single pairs read one by one, each term written from its equation."""

import copy
from contextlib import closing
from dataclasses import replace

import pytest
import torch
from accelerate import Accelerator
from torch.nn.functional import log_softmax

from itmlab.data.batches import PairBatches
from itmlab.models import build_model
from itmlab.train import step_cross
from itmlab.train.step_cross import CrossEncoderTask
from tests.train.towers import tower


def task_of(recipe, data, seed=0):
    model = build_model(recipe.model, data.captions, seed=seed)
    with torch.no_grad():
        for weights in model.parameters():  # larger than at the start, so that every part has its say
            weights += 0.3 * torch.randn(weights.shape, generator=torch.Generator().manual_seed(seed))
    return CrossEncoderTask(recipe, data, model, Accelerator(), torch.Generator().manual_seed(seed))


def first_batch(data, size=5, **options):
    """What the batches bring first; the threads behind them are let go."""
    batches = PairBatches(data, **{"batch_size": size, "seed": 3, "images": None} | options).epoch(0)
    with closing(batches):
        return next(batches)


class Slow:
    """The model asked for one pair at a time, without padding and without sharing anything."""

    def __init__(self, task):
        self.model, self.data = task.model, task.data

    def output(self, image, ids, heads):
        parts = self.model.embed_regions(**self.model.prepare_images([self.data.images[image]]))
        return self.model(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.bool), parts, heads=heads)

    def ids(self, sentence):
        tokens = self.model.prepare_captions([sentence])
        return tokens["input_ids"][0].tolist()

    def logit(self, image, sentence):
        return self.output(image, self.ids(sentence), ("itm",)).itm[0]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def remembering(results, name, call):
    """Wrap `call`, so that its last result is in `results`."""

    def remembered(*arguments, **options):
        results[name] = call(*arguments, **options)
        return results[name]

    return remembered


def second_word_masked(sentences):
    """As if the second word had always been masked, and then perhaps filled with itself."""

    def generate(*arguments, **options):
        rows = sentences(*arguments, **options)
        return [[replace(negative, masked=(*negative.masked, 2)) for negative in row] for row in rows]

    return generate


@pytest.fixture
def results(monkeypatch):
    """What was mined and masked for the last batch."""
    last = {}
    for home, name in ((CrossEncoderTask, "mine"), (step_cross, "mask_pieces")):
        monkeypatch.setattr(home, name, remembering(last, name, getattr(home, name)))
    return last


TERMS = [("all", "tokens"), ("replaced", "tokens"), ("masked", "tokens"), ("masked", "captions")]


@pytest.mark.parametrize(("correction", "means"), TERMS)
def test_each_term_is_its_equation_over_single_pairs(correction, means, data, results, monkeypatch):
    words = {"margin": 0.3, "kept_weight": 0.11, "correction": correction, "word_means": means}
    recipe = tower(model__dropout=0.0, **{f"tags__{name}": value for name, value in words.items()})
    training = data.split("train")
    task, batch = task_of(recipe, training), first_batch(training)
    monkeypatch.setattr(task, "sentences", remembering(results, "sentences", second_word_masked(task.sentences)))
    result = task(batch, epoch=0)
    slow, pairs = Slow(task), list(zip(batch.image_indices.tolist(), batch.caption_indices.tolist(), strict=True))
    texts = training.captions

    def one_way(positive, negatives):
        return mean((0.3 - positive.sigmoid() + logit.sigmoid()).clamp(min=0) for logit in negatives)

    positives = [slow.logit(image, texts[caption]) for image, caption in pairs]
    expected = {}
    to_captions, to_images = [], []
    for (image, caption), captions, images in zip(pairs, *(side.tolist() for side in results["mine"]), strict=True):
        to_captions.append([slow.logit(image, texts[number]) for number in captions])
        to_images.append([slow.logit(number, texts[caption]) for number in images])
    expected["retrieved"] = mean(map(one_way, positives, to_captions)) + mean(map(one_way, positives, to_images))

    sentences = results["sentences"]
    assert all(1 <= len(row) <= 2 for row in sentences)
    logits = [
        [slow.logit(image, negative.sentence) for negative in row]
        for (image, _), row in zip(pairs, sentences, strict=True)
    ]
    expected["synthetic"] = mean(map(one_way, positives, logits))

    discriminations, corrections, special = [], [], set(task.model.tokenizer.all_special_ids)
    for (image, caption), row in zip(pairs, sentences, strict=True):
        original, of_caption, corrected = slow.ids(texts[caption]), [], []
        for negative in row:
            ids = slow.ids(negative.sentence)
            if len(ids) != len(original):
                continue
            output = slow.output(image, ids, ("wod", "woc"))
            for at in range(len(ids)):
                unchanged, framing = ids[at] == original[at], {ids[at], original[at]} & special  # [CLS], [SEP], unknown
                if not framing or means == "captions":
                    share = 0.11 if unchanged else 1.0
                    of_caption.append((-log_softmax(output.wod[0, at], 0)[1 if unchanged else 0] * share, share))
                if not framing and (
                    correction == "all" or not unchanged or (correction == "masked" and at in negative.masked)
                ):
                    corrected.append(-log_softmax(output.woc[0, at], 0)[original[at]])
        discriminations.append(of_caption)
        corrections.append(corrected)
    if means == "captions":
        expected["discrimination"] = mean(mean(loss for loss, _ in losses) for losses in discriminations if losses)
        expected["correction"] = mean(mean(losses) for losses in corrections if losses)
    else:
        total = [sum(values) for values in zip(*(pair for losses in discriminations for pair in losses), strict=True)]
        expected["discrimination"] = total[0] / total[1]
        expected["correction"] = mean(loss for losses in corrections for loss in losses)

    pieces, hidden = results["mask_pieces"], []
    for (image, _), ids, labels, mask in zip(
        pairs, pieces.input_ids.tolist(), pieces.labels.tolist(), pieces.attention_mask.tolist(), strict=True
    ):
        output = slow.output(image, ids[: sum(mask)], ("mlm",))
        hidden.append([-log_softmax(output.mlm[0, at], 0)[label] for at, label in enumerate(labels) if label != -100])
    expected["masked_language"] = mean(map(mean, hidden) if means == "captions" else (x for row in hidden for x in row))

    assert result.losses.keys() == expected.keys()
    for name, value in expected.items():
        assert result.losses[name] == pytest.approx(value.item(), rel=2e-4, abs=1e-5), name
    total = sum(getattr(recipe.tags.weights, name) * value for name, value in expected.items())
    assert result.loss.item() == pytest.approx(total.item(), rel=2e-4)
    equal_gradients(task.model, result.loss, total)


def equal_gradients(model, *both):
    """Assert that two losses move every weight alike."""
    weights = list(model.parameters())
    gradients = [torch.autograd.grad(loss, weights, allow_unused=True, retain_graph=True) for loss in both]
    for first, second in zip(*gradients, strict=True):
        if first is not None or second is not None:
            torch.testing.assert_close(first, second, rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize(
    "losses", [("retrieved",), ("masked_language",), ("synthetic",), ("discrimination", "correction")]
)
def test_any_loss_may_be_switched_off(losses, data):
    off = {name: 0.0 for name in tower().tags.weights.named() if name not in losses}
    training = data.split("train")
    task = task_of(tower(**{f"tags__weights__{name}": value for name, value in off.items()}), training)
    result = task(first_batch(training), epoch=0)
    assert set(result.losses) == set(losses) and result.loss.requires_grad and result.loss.isfinite()
    if losses == ("retrieved",):
        assert sum(result.counts["retrieved"]) == 5 * 2  # pairs, negatives kept


def test_making_and_mining_leave_no_gradient_and_no_mode_behind(data):
    training = data.split("train")
    task = task_of(tower("sg"), training)
    task.model.train()
    frozen = task.stateful["generator"]
    before = copy.deepcopy(frozen.state_dict())
    task(first_batch(training), epoch=0).loss.backward()
    assert all(part.training for part in task.model.modules())
    assert not any(part.training for part in frozen.modules())
    assert all(weights.grad is None for weights in frozen.parameters())
    assert all(value.equal(frozen.state_dict()[name]) for name, value in before.items())


def test_dynamic_sentences_come_from_the_model_as_it_is_and_static_ones_from_where_it_began(data):
    training, batch = data.split("train"), first_batch(data.split("train"))

    def sentences(name, moved):
        task = task_of(tower(name, tags__hardest=6), training)
        if moved:
            with torch.no_grad():
                task.model.heads.mlm.transform.weight.neg_()
        rows = task.sentences(batch.caption_indices, generator=torch.Generator().manual_seed(0))
        return [{negative.sentence for negative in row} for row in rows]

    assert sentences("sg", moved=False) == sentences("sg", moved=True) == sentences("tags", moved=False)
    assert sentences("tags", moved=False) != sentences("tags", moved=True)
