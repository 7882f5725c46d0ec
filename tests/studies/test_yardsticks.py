"""A yardstick that the drawn world confirms, runs on it, and negatives judged without a picture."""

from copy import copy

import pytest
import torch

import itmlab
from itmlab.metrics import CausalModel, NgramModel, Yardstick, YardstickItem, fluency
from itmlab.runs.scores import similarity
from itmlab.studies import tags
from itmlab.studies.yardsticks import (
    KINDS,
    as_yardstick,
    draw_negative_quality,
    negative_quality,
    run_on_yardstick,
    scenes_yardstick,
)
from itmlab.synthesis import Negative
from itmlab.text.graph import tokenise
from tests.refusals import refused
from tests.studies.small_world import small_set


@pytest.fixture(scope="module")
def data():
    return itmlab.load("scenes", images=72).select(range(60))


@pytest.fixture(scope="module")
def made(data) -> Yardstick:
    return scenes_yardstick(data, balanced_by=None)


def test_each_item_has_a_true_caption_and_a_sentence_that_the_world_calls_false(data, made) -> None:
    assert set(made.kinds) == set(KINDS) and len(made.items) > 150
    for item in made.items:
        image = made.number(item.image)
        assert item.true[0] in data.captions_of([image])[0]
        assert data.world.entails(image, item.false[0]) is False and item.truth is False
    one_each = {(item.image, item.kind) for item in made.items}
    assert len(one_each) == len(made.items)
    missing = {kind: len(data) - count for kind, count in made.kinds.items()}
    assert made.left_out == {
        f"pictures without a sentence of the kind {kind}": count for kind, count in missing.items() if count
    }


def words(sentence: str) -> list[str]:
    """Without articles, which follow the word behind them."""
    return [word for word in tokenise(sentence.lower()) if word not in ("a", "an")]


def test_sentences_are_changed_as_their_kind_says(made) -> None:
    for item in made.items:
        true, false = words(item.true[0]), words(item.false[0])
        if item.kind.startswith("swap"):
            assert sorted(true) == sorted(false) and true != false
        elif item.kind.startswith("add"):
            at = iter(false)
            assert all(word in at for word in true) and len(false) - len(true) >= 1 + (item.kind == "add_obj")
        elif item.kind != "replace_rel":
            assert sum(one != other for one, other in zip(true, false, strict=True)) == 1
        else:
            assert true[0] == false[0] and true[-1] == false[-1] and true != false


def test_draws_follow_the_seed_alone(data, made) -> None:
    few = {"kinds": ("replace_att",), "balanced_by": None}
    again, other = scenes_yardstick(data, **few), scenes_yardstick(data, **few, seed=1)
    assert again.items == tuple(item for item in made.items if item.kind == "replace_att") != other.items


def test_a_language_model_balances_what_it_can(data) -> None:
    letters = [*"abcdefghijklmnopqrstuvwxyz "]

    def encode(sentences):
        return [[1 + letters.index(letter) for letter in one.lower() if letter in letters] for one in sentences]

    def logits(ids, mask):  # "e" and "a" are likely, and nothing else is known
        found = torch.zeros(*ids.shape, 28)
        found[..., [1 + letters.index("e"), 1 + letters.index("a")]] = 2.0
        return found

    language = CausalModel(encode, logits, beginning=0)
    said = []
    for balanced_by in (None, language):
        found = scenes_yardstick(data, kinds=("replace_obj",), balanced_by=balanced_by)
        perplexity = fluency(found.sentences, language).perplexity.view(-1, 2)
        said.append([item.false for item in found.items])
        assert len(found.items) == len(data)  # it chooses among sentences, and loses none
    assert said[0] != said[1] and 0.35 < float((perplexity[:, 1] < perplexity[:, 0]).double().mean()) < 0.65


def test_a_runs_right_items_are_those_that_its_similarities_tell(data, made) -> None:
    run = itmlab.pretrained("fne")
    table = run_on_yardstick(run, made, text=["own"])
    with torch.no_grad():
        images = run.model.encode_images(run.model.prepare_images(list(data.images))).pooled
        said = run.model.encode_captions(run.model.prepare_captions(made.sentences)).pooled
    scores = run.model.similarity(images, said)
    own = torch.tensor([made.number(item.image) for item in made.items])
    pairs = scores[own.repeat_interleave(2), torch.arange(len(made.sentences))].view(-1, 2)
    assert table.rows["all"].right.count == int((pairs[:, 0] > pairs[:, 1]).sum())
    assert list(table.rows["all"].controls) == ["wrong picture", "text only (own)", "shorter"]
    assert similarity(run.model, data).shape == (60, 300)
    alone = run_on_yardstick(None, made, text=["own"]).rows["all"]
    assert alone.right is None and alone.controls["text only (own)"] == table.rows["all"].controls["text only (own)"]


def test_data_without_a_world_and_unknown_kinds_are_refused(data) -> None:
    bare = copy(data)
    bare.world = None
    refused("no ground truth", scenes_yardstick, bare)
    refused("no kind 'swap'", scenes_yardstick, data, kinds=("swap",))


def test_negatives_become_items_of_the_kind_that_was_changed() -> None:
    world = small_set()
    kinds = [("object",), ("relation", "relation"), ("object", "attribute"), (), ("number",)]
    rows = [[Negative(f"sentence {at}", 0, 1, kind=kind, truth=at == 0) for at, kind in enumerate(kinds)]]
    found = as_yardstick(tags.SyntheticNegatives(world, "mine", (1,), rows, None))
    named = [item.kind for item in found.items]
    assert named == ["replace_obj", "replace_rel", "several", "replace_word", "replace_number"]
    assert [item.truth for item in found.items] == [True, False, False, False, False] and found.pictures is world
    refused("there are no negatives", as_yardstick, tags.SyntheticNegatives(world, "mine", (1,), [[]], None))


def test_negatives_are_judged_by_fluency_without_a_picture_and_by_truth(tmp_path) -> None:
    said = [("a cat sees a dog", "swap", False), ("dog cat sees a a", "swap", None), ("a dog sees a dog", "add", True)]
    items = [
        YardstickItem(f"{at}.jpg", ("a dog sees a cat",), (false,), kind, truth=truth)
        for at, (false, kind, truth) in enumerate(said)
    ]
    file = tmp_path / "captions.txt"
    file.write_text("a dog sees a boy\na boy sees a cat\nthe cat sees a dog\n")
    table = negative_quality({"mine": Yardstick("mine", tuple(items))}, by=file)["mine"]
    assert list(table) == ["add", "swap", "all"] and table["all"].negatives == 3
    assert table["swap"].truth.share.count == 1 and table["swap"].truth.undecided == 1
    assert table["add"].truth.share.percent == 0 and table["all"].shorter.percent == 50
    language = NgramModel(file.read_text().splitlines())
    values = language.fluency([item.sentences[side] for item in items[:2] for side in (0, 1)]).perplexity.view(2, 2)
    assert table["swap"].fluency.value == pytest.approx(float((values[:, 1] / values[:, 0]).mean()))
    assert table["swap"].text_only.percent == 100 * float((values[:, 0] < values[:, 1]).double().mean())
    figure = draw_negative_quality({"mine": table}, title="x")
    assert "mine" in str(figure.layout.yaxis.ticktext) and figure.layout.xaxis3.title.text
