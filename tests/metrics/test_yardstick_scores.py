"""How often true sentences are told from false ones, counted item by item, and what the controls are worth."""

import random
from collections.abc import Sequence
from itertools import pairwise
from math import factorial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from itmlab.data.captionset import CaptionSet
from itmlab.data.pictures import NoPictures
from itmlab.metrics import NgramModel, Yardstick, YardstickItem, measure, outcomes, picture_key, text_scores
from itmlab.metrics.yardstick_scores import FOLDS, _part
from tests.refusals import refused


def pictures(names: Sequence[str]) -> CaptionSet:
    shown = NoPictures(len(names), why="they are not looked at", remedy="nothing")
    none = {"captions": [], "caption_ids": [], "image_of_caption": torch.empty(0, dtype=torch.int64), "splits": {}}
    return CaptionSet(name="few", images=shown, image_ids=list(names), **none)


def yardstick(items: Sequence[YardstickItem]) -> Yardstick:
    names = dict.fromkeys(name for item in items for name in (item.image, item.false_image) if name)
    return Yardstick("few", tuple(items), pictures=pictures(list(names)))


def sides(true: int, false: int, name: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(f"true {name} {at}" for at in range(true)), tuple(f"false {name} {at} more" for at in range(false))


@st.composite
def scored(draw) -> tuple[list[YardstickItem], dict[tuple[str, str], float]]:
    """Items of one or two true and one to three false sentences, and a score of each sentence beside each picture."""
    dice, items = random.Random(draw(st.integers(0, 2**32))), []
    for name in range(draw(st.integers(1, 12))):
        true, false = sides(dice.randint(1, 2), dice.randint(1, 3), name)
        items.append(YardstickItem(f"{dice.randint(0, 4)}.jpg", true, false, dice.choice("ab")))
    whole = yardstick(items)
    asked = [(picture, sentence) for picture in whole.pictures.image_ids for sentence in whole.sentences]
    return items, {pair: float(dice.randint(0, 3)) for pair in asked}  # so few different ones that many tie


def match_by(scores: dict[tuple[str, str], float], whole: Yardstick):
    names = whole.pictures.image_ids
    return lambda images, sentences: torch.tensor([scores[names[i], s] for i, s in zip(images, sentences, strict=True)])


@settings(deadline=None, max_examples=40)
@given(scored())
def test_right_are_the_items_whose_true_sentences_all_score_above_all_false_ones(case) -> None:
    items, scores = case
    found = measure(yardstick(items), match_by(scores, yardstick(items)))
    for kind, row in found.rows.items():
        right, tied, chance, short = [], [], [], []
        for item in items:
            if kind in ("all", item.kind):
                pairs = [(scores[item.image, t], scores[item.image, f]) for t in item.true for f in item.false]
                right.append(all(true > false for true, false in pairs))
                tied.append(all(true >= false for true, false in pairs) and not right[-1])
                a, b = len(item.true), len(item.false)
                chance.append(factorial(a) * factorial(b) / factorial(a + b))
                short.append(1)  # a false sentence has a word more
        assert (row.items, row.right.count, row.right.of, row.ties) == (len(right), sum(right), len(right), sum(tied))
        assert row.chance == pytest.approx(sum(chance) / len(chance))
        assert row.controls["shorter"].percent == 100 == 100 * sum(short) / len(short)


def numbers(value: object) -> list[float]:
    if isinstance(value, dict):
        return [number for name in sorted(value) for number in numbers(value[name])]
    return [value] if isinstance(value, int | float) else []


@settings(deadline=None, max_examples=40)
@given(scored(), st.randoms(use_true_random=False))
def test_the_order_of_the_items_changes_nothing(case, dice) -> None:
    items, scores = case
    whole = yardstick(items)
    shuffled = list(items)
    dice.shuffle(shuffled)
    again = Yardstick("few", tuple(shuffled), pictures=whole.pictures)
    match = match_by(scores, whole)
    assert numbers(measure(whole, match).to_dict()) == pytest.approx(numbers(measure(again, match).to_dict()))


def test_a_tie_counts_against_the_model_and_half_for_a_control() -> None:
    whole = yardstick([YardstickItem(f"{name}.jpg", *sides(1, 1, name), "a") for name in range(8)])
    same = torch.zeros(16)
    row = measure(whole, lambda images, sentences: torch.zeros(len(sentences)), text={"text only": same}).rows["all"]
    assert row.right.count == 0 and row.ties == 8
    assert row.controls["text only"].percent == row.controls["wrong picture"].percent == 50
    assert row.controls["text only"].of == 8 and 20 < row.controls["text only"].lower < 30


def test_beside_a_wrong_picture_only_what_the_words_say_is_left() -> None:
    items = [YardstickItem(f"{name}.jpg", *sides(1, 1, name), "a") for name in range(40)]
    whole = yardstick(items)

    def looks(images, sentences):
        return torch.tensor([float(f"true {image} " in f"{s} ") for image, s in zip(images, sentences, strict=True)])

    def reads(images, sentences):
        return torch.tensor([float(sentence.startswith("true")) for sentence in sentences])

    seen, read = measure(whole, looks).rows["all"], measure(whole, reads).rows["all"]
    assert seen.right.percent == 100 and seen.controls["wrong picture"].percent == 50
    assert read.right.percent == 100 and read.controls["wrong picture"].percent == 100
    asked: list[list[int]] = []
    measure(whole, lambda images, sentences: (asked.append(images), torch.zeros(len(images)))[1], seed=3)
    own, other = asked
    assert own != other and all(mine != wrong for mine, wrong in zip(own, other, strict=True))
    assert sorted(other) == sorted(own)  # each picture once more
    alone = Yardstick("one", tuple(items[:1]), pictures=pictures(["0.jpg"]))
    assert "wrong picture" not in measure(alone, reads).rows["all"].controls


def single(name: int, true: bool) -> YardstickItem:
    said = (f"sentence {name}",)
    return YardstickItem(f"{name % 23}.jpg", said if true else (), () if true else said, "a")


def best_cut(scores: list[float], true: list[bool]) -> float:
    """By trying every cut between two neighbouring scores, the lowest that is right most often."""
    values = sorted(set(scores))
    cuts = [values[0] - 1, *((a + b) / 2 for a, b in pairwise(values)), values[-1] + 1]
    return max(cuts, key=lambda cut: (sum((score > cut) == t for score, t in zip(scores, true, strict=True)), -cut))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=40))
def test_a_sentence_alone_is_judged_by_the_other_halfs_best_threshold(rows) -> None:
    items = [single(name, true) for name, (true, _) in enumerate(rows)]
    scores, truth = [float(score) for _, score in rows], [true for true, _ in rows]
    found = outcomes(items, torch.tensor(scores).double())
    half = [_part(item.image, 2) for item in items]
    for at, item in enumerate(items):
        others = [other for other in range(len(items)) if half[other] != half[at]]
        cut = best_cut([scores[o] for o in others], [truth[o] for o in others]) if others else 0.0
        assert bool(found.right[at]) == ((scores[at] > cut) == bool(item.true))
    row = measure(yardstick(items), lambda images, sentences: torch.tensor(scores)).rows["all"]
    assert row.chance == pytest.approx(max(sum(truth), len(truth) - sum(truth)) / len(truth))
    if len(set(truth)) == 2:
        assert row.auc == pytest.approx(roc_auc_score(truth, scores))
    else:
        assert row.auc is None


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=1, max_size=12))
def test_with_two_pictures_both_directions_count(rows) -> None:
    items = [
        YardstickItem(f"{at}.jpg", (f"{at}",), (f"not {at}",), "swap_att", "", f"{at} no") for at in range(len(rows))
    ]
    scores = {}
    for at, (tt, tf, ft, ff) in enumerate(rows):  # own picture with the true and the false one, then the other's
        scores |= {(f"{at}.jpg", f"{at}"): tt, (f"{at}.jpg", f"not {at}"): tf}
        scores |= {(f"{at} no", f"{at}"): ft, (f"{at} no", f"not {at}"): ff}
    whole = yardstick(items)
    full = {(p, s): 0.0 for p in whole.pictures.image_ids for s in whole.sentences} | scores
    row = measure(whole, match_by(full, whole)).rows["all"]
    text = [tt > tf and ff > ft for tt, tf, ft, ff in rows]
    image = [tt > ft and ff > tf for tt, tf, ft, ff in rows]
    assert row.right.count == sum(tt > tf for tt, tf, *_ in rows)
    assert row.parts["text given image"].count == sum(text) and row.parts["image given text"].count == sum(image)
    assert row.parts["both"].count == sum(t and i for t, i in zip(text, image, strict=True))


def language(count: int) -> list[YardstickItem]:
    dice = random.Random(1)
    nouns = ["dog", "cat", "cow", "man", "girl"]
    said = [[f"a {dice.choice(nouns)} sees the {dice.choice(nouns)}" for _ in range(2)] for _ in range(count)]
    return [
        YardstickItem(f"{at % (count // 2)}.jpg", (true,), (f"sees {false} a",), "swap")
        for at, (true, false) in enumerate(said)
    ]


def test_the_control_learns_from_the_captions_of_other_pictures_alone() -> None:
    whole = yardstick(language(60))
    found = text_scores(whole).split([2] * 60)
    for at, item in enumerate(whole.items):
        part = _part(item.image, FOLDS)
        others = {(one.image, one.true[0]) for one in whole.items if _part(one.image, FOLDS) != part}
        model = NgramModel(sorted(text for _, text in others))
        assert torch.equal(found[at], -model.fluency(list(item.sentences)).perplexity)
    few = Yardstick("few", whole.items[:20], pictures=whole.pictures, whole=whole.items)
    assert torch.equal(text_scores(few), torch.cat(found[:20]))  # fewer at hand: it learns from all that were read
    refused("too few pictures", text_scores, Yardstick("one", whole.items[:1]))
    told = measure(whole, text={"text only": text_scores(whole)}).rows["all"]
    assert told.right is None and told.controls["text only"].percent > 95


def test_of_a_file_of_captions_those_of_the_same_pictures_and_the_sets_own_go(tmp_path) -> None:
    whole = yardstick([YardstickItem("000000000007.jpg", ("a dog sees a cat",), ("a cat sees a dog",), "swap")])
    rows = [
        ("COCO_val2014_000000000007.jpg", "a dog and a cat"),
        ("8.jpg", "A dog sees  a cat"),
        ("9.jpg", "a dog runs"),
    ]
    table = tmp_path / "captions.csv"
    table.write_text("image,caption\n" + "".join(f"{image},{text}\n" for image, text in rows))
    left = NgramModel(["a dog runs"]).fluency(whole.sentences).perplexity
    assert torch.equal(text_scores(whole, table), -left)
    (tmp_path / "captions.txt").write_text("a dog runs\n\nA cat sees a dog\n")
    assert torch.equal(text_scores(whole, tmp_path / "captions.txt"), -left)
    assert picture_key(rows[0][0]) == picture_key("000000000007.jpg")


def test_what_cannot_be_measured_is_refused() -> None:
    whole = yardstick([YardstickItem("0.jpg", *sides(1, 1, 0), "a")])
    without = Yardstick("few", whole.items)
    refused("pictures are not at hand", measure, without, lambda images, sentences: torch.zeros(2))
    refused("2 sentences need as many scores", measure, whole, lambda images, sentences: torch.zeros(3))
    refused("2 sentences need as many scores", measure, whole, text={"text only": torch.tensor([0.0, float("nan")])})
    refused("stand among pairs", outcomes, [*whole.items, single(1, True)], torch.zeros(3))


def test_the_table_is_printed_with_what_was_left_out() -> None:
    items = yardstick([YardstickItem(f"{name}.jpg", *sides(1, 1, name), "swap_obj") for name in range(3)]).items
    whole = Yardstick("few", items, {"items whose picture is not at hand": 7})
    lines = str(measure(whole)).splitlines()
    assert [line.split()[0] for line in lines] == ["few", "swap_obj", "all", "left"]
    assert "50.0" in lines[1] and "100.0 [43.9, 100.0]" in lines[1]
    assert lines[-1] == "left out: 7 items whose picture is not at hand"
