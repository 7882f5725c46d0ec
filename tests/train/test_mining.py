"""Mined negatives against a slow reference: never an anchor's own or what is the same, and past every filter."""

import io

import pytest
import torch
from datasets import Dataset, Features
from datasets import Image as Picture
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torch.nn.functional import normalize

import itmlab
from itmlab.data.captionset import CaptionSet
from itmlab.data.pictures import Pictures
from itmlab.samplers.fne import posterior
from itmlab.synthesis.files import read_negatives
from itmlab.train import mining
from itmlab.train.mining import Mined, mine
from tests.plain_model import PlainModel
from tests.refusals import refused


def png(shade: int) -> bytes:
    file = io.BytesIO()
    Image.new("L", (4, 4), shade).save(file, format="PNG")
    return file.getvalue()


def made(shades: list[int], texts: list[int], seed: int = 0, dimension: int = 6) -> tuple[CaptionSet, tuple]:
    """Pictures of these shades, those of one shade the same, with two captions each, of these numbers; and features.

    Captions of one number read the same, and, as what reads or looks the same, have the same feature.
    """
    cells = [{"bytes": png(shade), "path": None} for shade in shades]
    table = Dataset.from_dict({"image": cells}, features=Features({"image": Picture(decode=False)}))
    data = CaptionSet(
        name="made",
        images=Pictures(table),
        image_ids=[f"p{at}" for at in range(len(shades))],
        captions=[f"{'A' if at % 2 else 'a'} thing  {text}" for at, text in enumerate(texts)],
        caption_ids=[f"c{at}" for at in range(len(texts))],
        image_of_caption=torch.arange(len(texts)) // 2,
        splits={},
    )
    draws = torch.randn(2, 100, dimension, generator=torch.Generator().manual_seed(seed))
    return data, (draws[0][shades], draws[1][texts])


sets = st.integers(1, 8).flatmap(
    lambda count: st.tuples(
        st.lists(st.integers(0, 9), min_size=count, max_size=count),
        st.lists(st.integers(0, 12), min_size=2 * count, max_size=2 * count),
        st.integers(0, 1000),
    )
)


def obvious(data, features, shades, texts, anchor, kind, passes, *, number, skip=0, up_to=None):
    """The negatives of one anchor, by loops over pairs."""
    up_to = skip + 10 * number if up_to is None else up_to
    images, captions = (normalize(side, dim=1).double() for side in features)
    scores = (images @ captions.T).float().tolist()
    written = {(shades[caption // 2], text) for caption, text in enumerate(texts)}
    found, seen = [], set()
    for other in range(len(texts) if kind == "captions" else len(shades)):
        image, caption = (anchor, other) if kind == "captions" else (other, anchor)
        same = texts[other] if kind == "captions" else shades[other]
        if (shades[image], texts[caption]) not in written and same not in seen:
            found.append((-scores[image][caption], other))
        seen.add(same)
    found = sorted(found)[skip:up_to]
    own = [scores[anchor][caption] for caption in range(len(texts)) if caption // 2 == anchor]
    positive = min(own) if kind == "captions" else scores[anchor // 2][anchor]
    return [other for score, other in found if passes(-score, positive)][:number]


def mined_or_none(features, data, **options) -> Mined | None:
    try:
        return mine(features, data, **options)
    except itmlab.ItmlabError as error:
        assert "nothing is left to mine" in str(error)
        return None


@settings(deadline=None, max_examples=40)
@given(sets, st.integers(1, 4), st.integers(0, 3), st.sampled_from([None, 0.1, 0.3]))
def test_it_is_what_loops_over_all_pairs_find(found, number, skip, margin) -> None:
    shades, texts, seed = found
    data, features = made(shades, texts, seed)

    def passes(score: float, positive: float) -> bool:
        return margin is None or score <= positive - margin * abs(positive)

    mined = mined_or_none(features, data, number=number, skip=skip, relative_margin=margin)
    for kind, count in (("captions", len(shades)), ("images", len(texts))):
        for anchor in range(count):
            expected = obvious(data, features, shades, texts, anchor, kind, passes, number=number, skip=skip)
            assert expected == ([] if mined is None else getattr(mined, kind).of(anchor))


@settings(deadline=None, max_examples=40)
@given(sets, st.integers(1, 5))
def test_never_its_own_nor_what_is_the_same_nor_the_same_twice(found, number) -> None:
    shades, texts, seed = found
    data, features = made(shades, texts, seed)
    written = {(shades[caption // 2], text) for caption, text in enumerate(texts)}
    mined = mined_or_none(features, data, number=number)
    if mined is None:
        return
    for image in range(len(shades)):
        taken = [texts[caption] for caption in mined.captions.of(image)]
        assert len(set(taken)) == len(taken) and all((shades[image], text) not in written for text in taken)
    for caption in range(len(texts)):
        taken = [shades[image] for image in mined.images.of(caption)]
        assert len(set(taken)) == len(taken) and all((shade, texts[caption]) not in written for shade in taken)
    for nearest in (mined.captions, mined.images):
        there = nearest.negatives >= 0
        assert there.equal(nearest.scores.isfinite()) and there.equal(there.sort(dim=1, descending=True).values)
        assert all(
            row[one].equal(row[one].sort(descending=True).values)
            for row, one in zip(nearest.scores, there, strict=True)
        )


def test_another_order_of_pictures_and_captions_gives_the_same() -> None:
    data, features = made(list(range(9)), list(range(18)))
    order = torch.randperm(9, generator=torch.Generator().manual_seed(1))
    other = data.select(order)
    captions = [data.captions.index(caption) for caption in other.captions]
    given = {"number": 4, "relative_margin": 0.05, "truth": False}
    first, second = mine(features, data, **given), mine((features[0][order], features[1][captions]), other, **given)
    for place, image in enumerate(order.tolist()):
        assert [captions[one] for one in second.captions.of(place)] == first.captions.of(image)
    for place, caption in enumerate(captions):
        assert [int(order[one]) for one in second.images.of(place)] == first.images.of(caption)


def test_chunks_change_nothing(monkeypatch) -> None:
    data, features = made([at % 30 for at in range(40)], [at % 37 for at in range(80)])
    given = {"number": 5, "skip": 1, "relative_margin": 0.0}
    whole = mine(features, data, **given)
    monkeypatch.setattr(mining, "SCORES_AT_ONCE", 300)
    chunked = mine(features, data, **given)
    for one, two in ((whole.captions, chunked.captions), (whole.images, chunked.images)):
        assert one.negatives.equal(two.negatives) and one.left_out == two.left_out
        torch.testing.assert_close(one.scores, two.scores, rtol=0, atol=0, equal_nan=True)


def test_what_the_posterior_takes_for_matches_goes(monkeypatch) -> None:
    data, features = made(list(range(30)), list(range(60)), dimension=3)
    features = (features[0], features[0].repeat_interleave(2, dim=0) + 0.6 * features[1])  # near their own
    plain = mine(features, data, number=8)
    kept = []
    monkeypatch.setattr(mining, "posterior", lambda *given, **more: kept.append(given[1]) or posterior(*given, **more))
    found = mine(features, data, number=8, probability=0.3, prior=0.05)
    assert kept[0].positive_mean > kept[0].negative_mean
    for one, all_of_it in ((found.captions, plain.captions), (found.images, plain.images)):
        there = one.negatives >= 0
        assert (posterior(one.scores[there].double(), kept[0], prior=0.05) < 0.3).all() and one.left_out[
            "posterior"
        ] > 0
        nearest = all_of_it.scores[:, 0].double()
        suspect = posterior(nearest, kept[0], prior=0.05) >= 0.3
        assert suspect.any() and (one.negatives[suspect, 0] != all_of_it.negatives[suspect, 0]).all()


def test_the_truth_is_counted_and_everything_written_is_read_back(tmp_path) -> None:
    data = itmlab.load("scenes", images=24, unannotated=1.0, cache=tmp_path / "scenes")
    features = torch.randn(2, 120, 8, generator=torch.Generator().manual_seed(0))
    mined = itmlab.mine((features[0][:24], features[1]), data, number=4)
    for row, nearest in zip(mined.statistics(), (mined.captions, mined.images), strict=True):
        assert row["true"] + row["false"] + row["undecided"] == row["negatives"] == int((nearest.negatives >= 0).sum())
        assert row["true"] > 0 and f"{row['true']}" in str(mined)
    labels = data.world.truth()
    anchors = torch.arange(24)[:, None].expand_as(mined.captions.negatives)
    assert mined.captions.truth.equal(labels[anchors, mined.captions.negatives])
    anchors = torch.arange(120)[:, None].expand_as(mined.images.negatives)
    assert mined.images.truth.equal(labels[mined.images.negatives, anchors])
    read = read_negatives(mined.write(tmp_path / "mined.jsonl").path)
    for caption, negatives in enumerate(read.of(data)):
        image = caption // 5
        assert [one.sentence for one in negatives] == [data.captions[at] for at in mined.captions.of(image)]
        assert [one.score for one in negatives] == pytest.approx(mined.captions.scores[image].tolist())
    rows = mined.dataset()
    assert len(rows) == len(read) and rows[0]["negative"] == data.captions[mined.captions.of(0)[0]]


def test_an_earlier_file_is_overwritten_and_another_programs_is_not(tmp_path) -> None:
    data, features = made(list(range(9)), list(range(18)))
    for encoder in (features, (features[0].flip(0), features[1])):
        mined = mine(encoder, data)
        rows = read_negatives(mined.write(tmp_path / "mined.jsonl").path).of(data)
        for image, row in zip(data.image_of_caption.tolist(), rows, strict=True):
            assert [negative.sentence for negative in row] == [data.captions[at] for at in mined.captions.of(image)]
    (tmp_path / "notes.jsonl").write_text("mine\n")
    refused("not written by itmlab", mined.write, tmp_path / "notes.jsonl")


def test_a_model_with_features_and_one_that_scores_pairs_are_both_encoders(tmp_path) -> None:
    run = itmlab.pretrained("triplet")
    data = itmlab.load("scenes", images=12, cache=tmp_path)
    found = mine(run, data, truth=False)
    features = itmlab.train.scores.embed(run.model, data)
    by_features = mine((features.images, features.captions), data, truth=False)
    assert found.captions.negatives.equal(by_features.captions.negatives)

    class Pairs(PlainModel):
        encodes_apart, seen = False, 0

        def prepare_captions(self, captions):
            return torch.arange(len(data.captions))[: len(captions)]

        def prepare_images(self, images):
            self.seen += len(images)
            return torch.arange(self.seen - len(images), self.seen)

        def similarity(self, images, captions):
            return (features.images @ features.captions.T)[images][:, captions]

    read = mine(Pairs(), data, truth=False)
    assert read.captions.negatives.equal(found.captions.negatives) and read.images.negatives.equal(
        found.images.negatives
    )


def test_what_cannot_be_mined_is_said_in_one_line() -> None:
    data, features = made([0, 1, 2], [0, 1, 2, 3, 4, 5])
    for options in ({"number": 0}, {"skip": -1}, {"up_to": 2}, {"relative_margin": -0.1}):
        refused(next(iter(options)), mine, features, data, **options)
    refused("unknown field numbers — did you mean number", mine, features, data, numbers=3)
    refused("skip", mine, features, data, skip="two")
    refused("probability=0", mine, features, data, probability=0)
    refused("features .* for 3 images and 6 captions", mine, (features[0], features[1][:5]), data)
    one, its = made([0], [0, 1])
    refused("nothing is left to mine", mine, its, one)
    same, of_one = made([4, 4, 4], [0, 1, 2, 3, 4, 5])  # one picture three times
    refused("nothing is left to mine", mine, of_one, same)
    refused("no pair is the best", mine, (features[0], -features[0].repeat_interleave(2, 0)), data, probability=0.5)
