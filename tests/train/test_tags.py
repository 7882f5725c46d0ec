"""The loss of a cross-encoder batch against single pairs read one by one, each term written from its equation."""

import copy
from contextlib import closing
from dataclasses import replace

import pytest
import torch
from accelerate import Accelerator
from torch.nn.functional import cosine_similarity, log_softmax, logsigmoid

from itmlab.data.batches import PairBatches
from itmlab.data.captionset import CaptionSet
from itmlab.models import build_model
from itmlab.scenes.categories import noun_swaps, relation_swaps
from itmlab.synthesis import Negative, generate_negatives, write_negatives
from itmlab.synthesis.negative import UnreadNegatives
from itmlab.synthesis.rules import RuleSwaps
from itmlab.text.parsing import parse
from itmlab.train import step_cross
from itmlab.train.step_cross import BINS, CrossEncoderTask
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
    """The tower asked for one pair at a time, without padding and without sharing anything."""

    def __init__(self, task):
        self.model, self.data = task.model, task.data

    def said(self, image, ids, heads):
        parts = self.model.embed_regions(**self.model.prepare_images([self.data.images[image]]))
        return self.model(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.bool), parts, heads=heads)

    def ids(self, sentence):
        tokens = self.model.prepare_captions([sentence])
        return tokens["input_ids"][0].tolist()

    def logit(self, image, sentence):
        return self.said(image, self.ids(sentence), ("itm",)).itm[0]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def remembering(found, name, call):
    """`call`, whose answers are put into `found`."""

    def remembered(*given, **options):
        found[name] = call(*given, **options)
        return found[name]

    return remembered


def with_one_as_it_was(sentences):
    """As if the second word had always been masked, and then perhaps filled with itself."""

    def made(*given, **options):
        found = sentences(*given, **options)
        return [[replace(one, masked=(*one.masked, 2)) for one in row] for row in found]

    return made


@pytest.fixture
def seen(monkeypatch):
    """What was mined and masked for the last batch."""
    found = {}
    for home, name in ((CrossEncoderTask, "mine"), (step_cross, "mask_pieces")):
        monkeypatch.setattr(home, name, remembering(found, name, getattr(home, name)))
    return found


TERMS = [("triplet", "all", "tokens"), ("binary", "replaced", "tokens"), ("contrast", "masked", "tokens"),
         ("triplet", "masked", "captions")]  # fmt: skip


@pytest.mark.parametrize(("matching", "correction", "means"), TERMS)
def test_each_term_is_its_equation_over_single_pairs(matching, correction, means, data, seen, monkeypatch):
    words = {"replaced_weight": 1.0, "kept_weight": 0.11, "matching": matching, "correction": correction}
    words["word_means"] = means
    if matching == "triplet":
        words["margin"] = 0.3
    recipe = tower(model__dropout=0.0, **{f"tags__{name}": value for name, value in words.items()})
    training = data.split("train")
    task, batch = task_of(recipe, training), first_batch(training)
    monkeypatch.setattr(task, "sentences", remembering(seen, "sentences", with_one_as_it_was(task.sentences)))
    found = task(batch, epoch=0)
    slow, pairs = Slow(task), list(zip(batch.image_indices.tolist(), batch.caption_indices.tolist(), strict=True))
    texts = training.captions

    def one_way(positive, negatives):
        if matching == "triplet":
            scores = [one.sigmoid() for one in negatives]
            return mean((0.3 - positive.sigmoid() + score).clamp(min=0) for score in scores)
        if matching == "binary":
            return (-logsigmoid(positive) + mean(-logsigmoid(-one) for one in negatives)) / 2
        return -log_softmax(torch.stack([positive, *negatives]), 0)[0]

    positives = [slow.logit(image, texts[caption]) for image, caption in pairs]
    expected = {}
    to_captions, to_images = [], []
    for (image, caption), captions, images in zip(pairs, *(side.tolist() for side in seen["mine"]), strict=True):
        to_captions.append([slow.logit(image, texts[number]) for number in captions])
        to_images.append([slow.logit(number, texts[caption]) for number in images])
    expected["retrieved"] = mean(map(one_way, positives, to_captions)) + mean(map(one_way, positives, to_images))

    sentences = seen["sentences"]
    assert all(1 <= len(row) <= 2 for row in sentences)
    logits = [
        [slow.logit(image, one.sentence) for one in row] for (image, _), row in zip(pairs, sentences, strict=True)
    ]
    expected["synthetic"] = mean(map(one_way, positives, logits))

    told, corrections, special = [], [], set(task.model.tokenizer.all_special_ids)
    for (image, caption), row in zip(pairs, sentences, strict=True):
        original, of_caption, corrected = slow.ids(texts[caption]), [], []
        for one in row:
            ids = slow.ids(one.sentence)
            if len(ids) != len(original):
                continue
            output = slow.said(image, ids, ("wod", "woc"))
            for at in range(len(ids)):
                kept, framing = ids[at] == original[at], {ids[at], original[at]} & special  # [CLS], [SEP], unknown
                if not framing or means == "captions":
                    share = 0.11 if kept else 1.0
                    of_caption.append((-log_softmax(output.wod[0, at], 0)[1 if kept else 0] * share, share))
                if not framing and (correction == "all" or not kept or (correction == "masked" and at in one.masked)):
                    corrected.append(-log_softmax(output.woc[0, at], 0)[original[at]])
        told.append(of_caption)
        corrections.append(corrected)
    if means == "captions":
        expected["discrimination"] = mean(mean(loss for loss, _ in one) for one in told if one)
        expected["correction"] = mean(mean(one) for one in corrections if one)
    else:
        total = [sum(values) for values in zip(*(pair for one in told for pair in one), strict=True)]
        expected["discrimination"] = total[0] / total[1]
        expected["correction"] = mean(loss for one in corrections for loss in one)

    masked, hidden = seen["mask_pieces"], []
    for (image, _), ids, labels, mask in zip(
        pairs, masked.input_ids.tolist(), masked.labels.tolist(), masked.attention_mask.tolist(), strict=True
    ):
        output = slow.said(image, ids[: sum(mask)], ("mlm",))
        hidden.append([-log_softmax(output.mlm[0, at], 0)[label] for at, label in enumerate(labels) if label != -100])
    each = [mean(one) for one in hidden] if means == "captions" else [loss for one in hidden for loss in one]
    expected["masked_language"] = mean(each)

    assert found.losses.keys() == expected.keys()
    for name, value in expected.items():
        assert found.losses[name] == pytest.approx(value.item(), rel=2e-4, abs=1e-5), name
    total = sum(getattr(recipe.tags.weights, name) * value for name, value in expected.items())
    assert found.loss.item() == pytest.approx(total.item(), rel=2e-4)
    gradients(task.model, found.loss, total)


def gradients(model, ours, slow):
    """Both roads move every weight alike."""
    names = [name for name, _ in model.named_parameters()]
    first, second = (
        torch.autograd.grad(loss, list(model.parameters()), allow_unused=True, retain_graph=True)
        for loss in (ours, slow)
    )
    for name, one, other in zip(names, first, second, strict=True):
        if one is not None or other is not None:
            torch.testing.assert_close(one, other, rtol=2e-3, atol=2e-5, msg=name)


def test_alignment_is_info_nce_of_the_two_sides_read_alone(data):
    training = data.split("train")
    changes = {"alignment": 0.5, "alignment_temperature": 0.07, "matching_begins": 0.6}
    changes = {f"tags__{name}": value for name, value in changes.items()}
    task = task_of(tower("uniter_pretraining", model__dropout=0.0, **changes), training)
    batch = first_batch(training, size=8, captions_per_image="all", seed=4)
    assert len(batch.image_indices.unique()) < 8, "two captions of one image are in it"
    found, slow = task(batch, epoch=0), Slow(task)
    images, captions = [], []
    for image, caption in zip(batch.image_indices.tolist(), batch.caption_indices.tolist(), strict=True):
        parts = task.model.embed_regions(**task.model.prepare_images([training.images[image]]))
        images.append(task.model.encoder(parts.values, parts.mask)[0].mean(dim=0))
        ids = torch.tensor([slow.ids(training.captions[caption])])
        states = task.model.encoder(task.model.text(ids), torch.ones_like(ids).bool())[0]
        captions.append(states[1:-1].mean(dim=0))  # without [CLS] and [SEP]
    expected = 0
    for anchors, candidates in ((images, captions), (captions, images)):
        for row, anchor in enumerate(anchors):
            scores = [cosine_similarity(anchor, one, dim=0) / 0.07 for one in candidates]
            others = [n for n in range(8) if batch.image_indices[n] != batch.image_indices[row]]
            denominator = torch.stack([scores[row], *(scores[n] for n in others)])
            expected = expected + (denominator.logsumexp(0) - scores[row]) / 8
    assert set(found.losses) == {"masked_language", "alignment"}, "matching begins later"
    assert found.losses["alignment"] == pytest.approx(expected.item(), rel=1e-4)
    assert found.loss.item() == pytest.approx(found.losses["masked_language"] + 0.5 * expected.item(), rel=1e-4)
    task.step, task.total_steps = 6, 10
    assert set(task(batch, epoch=0).losses) == {"masked_language", "alignment", "retrieved"}


def test_negatives_are_of_other_images_and_the_hardest_of_those_drawn(data, seen):
    training = data.split("train")
    task = task_of(tower("uniter", model__dropout=0.0, tags__candidates=10**4, tags__top_k=3), training)
    batch = first_batch(training)
    task(batch, epoch=0)
    slow = Slow(task)
    for image, caption, captions, images in zip(
        batch.image_indices.tolist(),
        batch.caption_indices.tolist(),
        *(side.tolist() for side in seen["mine"]),
        strict=True,
    ):
        with torch.no_grad():
            to_all = [slow.logit(image, text).item() for text in training.captions]
            of_all = [slow.logit(number, training.captions[caption]).item() for number in range(len(training))]
        others = [n for n in range(len(training.captions)) if training.image_of_caption[n] != image]
        best = sorted(others, key=lambda n: -to_all[n])[:3]
        assert [to_all[n] for n in captions] == pytest.approx([to_all[n] for n in best], abs=1e-4)
        best = sorted((n for n in range(len(training)) if n != image), key=lambda n: -of_all[n])[:3]
        assert [of_all[n] for n in images] == pytest.approx([of_all[n] for n in best], abs=1e-4)


@pytest.mark.parametrize(
    "losses", [("retrieved",), ("masked_language",), ("synthetic",), ("discrimination", "correction")]
)
def test_any_loss_may_be_switched_off(losses, data):
    off = {name: 0.0 for name in tower().tags.weights.named() if name not in losses}
    recipe = tower(**{f"tags__weights__{name}": value for name, value in off.items()})
    training = data.split("train")
    task = task_of(recipe, training)
    found = task(first_batch(training), epoch=0)
    assert set(found.losses) == set(losses) and found.loss.requires_grad and found.loss.isfinite()
    assert ("synthesis" in task.clock.seconds) == recipe.tags.makes_sentences


def test_histograms_count_every_negative_of_the_step(data):
    training = data.split("train")
    task = task_of(tower(), training)
    found = task(first_batch(training), epoch=0)
    assert {name: len(counts) for name, counts in found.counts.items()} == {"retrieved": BINS, "synthetic": BINS}
    assert sum(found.counts["retrieved"]) == 5 * 2 and 5 <= sum(found.counts["synthetic"]) <= 5 * 2


def test_making_and_mining_leave_no_gradient_and_no_mode_behind(data):
    training = data.split("train")
    task = task_of(tower("sg"), training)
    task.model.train()
    before = copy.deepcopy(task.frozen.state_dict())
    task(first_batch(training), epoch=0).loss.backward()
    assert all(part.training for part in task.model.modules())
    assert not any(part.training for part in task.frozen.modules())
    assert all(weights.grad is None for weights in task.frozen.parameters())
    assert all(value.equal(task.frozen.state_dict()[name]) for name, value in before.items())


def test_dynamic_sentences_come_from_the_model_as_it_is_and_static_ones_from_where_it_began(data):
    training, batch = data.split("train"), first_batch(data.split("train"))

    def sentences(name, moved):
        task = task_of(tower(name, tags__hardest=6), training)
        if moved:
            with torch.no_grad():
                task.model.heads.mlm.transform.weight.neg_()
        made = task.sentences(batch.caption_indices, generator=torch.Generator().manual_seed(0))
        return [{one.sentence for one in row} for row in made]

    assert sentences("sg", moved=False) == sentences("sg", moved=True) == sentences("tags", moved=False)
    assert sentences("tags", moved=False) != sentences("tags", moved=True)


def test_sentences_of_a_file_that_the_model_reads_as_their_caption_are_left_out(data, tmp_path):
    training = data.split("train")

    long = [f"{one}{' and so on' * 30}" for one in training.captions]
    kept = {
        name: getattr(training, name) for name in ("images", "image_ids", "caption_ids", "image_of_caption", "regions")
    }
    longer = CaptionSet(name="long", captions=long, splits={}, **kept)

    def generate(captions, *given, generator):
        return [[Negative(f"{one} red"), Negative(f"no {one}")] for one in captions]

    done = write_negatives(tmp_path / "file.jsonl", longer, generate_negatives(longer, generate))
    recipe = tower(tags__generator="file", extra_negatives={"path": str(done.path)})
    task = task_of(recipe, longer)
    with pytest.warns(UnreadNegatives, match="3 so far left out"):
        made = task.sentences(torch.arange(3), generator=torch.Generator())
    assert [[one.sentence for one in row] for row in made] == [[f"no {one}"] for one in long[:3]]
    assert task.sentences.readable.left_out == 3


def test_sentences_of_a_file_are_scored_anew_and_the_hardest_taken(data, tmp_path):
    training, rules = data.split("train"), RuleSwaps(noun_swaps(), relation_swaps())

    def generate(*given, generator):
        return [row[:4] for row in rules(*given, generator=generator)]

    done = write_negatives(tmp_path / "file.jsonl", training, generate_negatives(training, generate))
    recipe = tower(tags__generator="file", extra_negatives={"path": str(done.path)}, model__dropout=0.0)
    task, batch = task_of(recipe, training), first_batch(training)
    task.model.eval()
    made = task.sentences(batch.caption_indices, generator=torch.Generator())
    slow = Slow(task)
    for image, caption, row in zip(batch.image_indices.tolist(), batch.caption_indices.tolist(), made, strict=True):
        (all_of_it,) = generate(
            [training.captions[caption]], parse([training.captions[caption]]), [[]], generator=torch.Generator()
        )
        scores = sorted((slow.logit(image, one.sentence).item() for one in all_of_it), reverse=True)
        assert [one.score for one in row] == pytest.approx(scores[:2], abs=1e-4)
    assert task(batch, epoch=0).losses["synthetic"] > 0
