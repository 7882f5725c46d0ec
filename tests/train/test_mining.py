"""Mined negatives against a slow reference; and those that `python -m itmlab negatives` makes by a named generator."""

import io
import json

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
from itmlab.models import CrossEncoder, CrossEncoderConfig
from itmlab.synthesis.files import read_negatives
from itmlab.text.tokens import train_wordpiece
from itmlab.train.mining import Mined, mine, write_negatives
from itmlab.train.scores import embed
from tests.refusals import refused
from tests.train.world import caption_set


def png(shade: int) -> bytes:
    file = io.BytesIO()
    Image.new("L", (4, 4), shade).save(file, format="PNG")
    return file.getvalue()


def pairs_of(shades: list[int], texts: list[int], seed: int = 0) -> tuple[CaptionSet, tuple]:
    """Pictures of these shades, those of one shade the same, with two captions each, of these numbers; and features.

    Captions of one number read the same, and, as what reads or looks the same, have the same feature.
    """
    cells = [{"bytes": png(shade), "path": None} for shade in shades]
    table = Dataset.from_dict({"image": cells}, features=Features({"image": Picture(decode=False)}))
    captions = [f"{'A' if index % 2 else 'a'} thing  {text}" for index, text in enumerate(texts)]
    data = caption_set(Pictures(table), captions, torch.arange(len(texts)) // 2)
    draws = torch.randn(2, 100, 6, generator=torch.Generator().manual_seed(seed))
    return data, (draws[0][shades], draws[1][texts])


sets = st.integers(1, 8).flatmap(
    lambda count: st.tuples(
        st.lists(st.integers(0, 9), min_size=count, max_size=count),
        st.lists(st.integers(0, 12), min_size=2 * count, max_size=2 * count),
        st.integers(0, 1000),
    )
)


def by_loops(features, shades, texts, anchor, kind, passes, *, number, skip):
    """The negatives of one anchor, by loops over pairs."""
    images, captions = (normalize(side, dim=1).double() for side in features)
    scores = (images @ captions.T).float().tolist()
    written = {(shades[caption // 2], text) for caption, text in enumerate(texts)}
    candidates, positives, earlier = [], [], set()
    for other in range(len(texts) if kind == "captions" else len(shades)):
        image, caption = (anchor, other) if kind == "captions" else (other, anchor)
        same = texts[other] if kind == "captions" else shades[other]
        if (shades[image], texts[caption]) in written:
            positives.append(scores[image][caption])
        elif same not in earlier:
            candidates.append((-scores[image][caption], other))
        earlier.add(same)
    candidates = sorted(candidates)[skip : skip + 10 * number]
    return [other for score, other in candidates if passes(-score, min(positives))][:number]


def mined_or_none(features, data, **options) -> Mined | None:
    try:
        return mine(features, data, **options)
    except itmlab.ItmlabError as error:
        assert "nothing is left to mine" in str(error)
        return None


@settings(deadline=None, max_examples=40)
@given(sets, st.integers(1, 4), st.integers(0, 3), st.sampled_from([{}, {"margin": 0.2}, {"relative_margin": 0.1}]))
def test_it_is_what_loops_over_all_pairs_find(case, number, skip, margins) -> None:
    shades, texts, seed = case
    data, features = pairs_of(shades, texts, seed)

    def passes(score: float, positive: float) -> bool:
        return score <= positive - margins.get("margin", margins.get("relative_margin", 0.0) * abs(positive)) or (
            not margins
        )

    mined = mined_or_none(features, data, number=number, skip=skip, **margins)
    for kind, count in (("captions", len(shades)), ("images", len(texts))):
        for anchor in range(count):
            expected = by_loops(features, shades, texts, anchor, kind, passes, number=number, skip=skip)
            assert expected == ([] if mined is None else getattr(mined, kind).of(anchor))
        if mined is not None:
            nearest = getattr(mined, kind)
            assert (nearest.negatives >= 0).equal(nearest.scores.isfinite())


def test_everything_written_is_read_back(tmp_path) -> None:
    data = itmlab.load("scenes", images=24, cache=tmp_path / "scenes")
    features = torch.randn(2, 120, 8, generator=torch.Generator().manual_seed(0))
    mined = itmlab.mine((features[0][:24], features[1]), data, number=4)
    for row, nearest in zip(mined.statistics(), (mined.captions, mined.images), strict=True):
        assert row["negatives"] == int((nearest.negatives >= 0).sum()) and f"{row['negatives']}" in str(mined)
    (tmp_path / "notes.jsonl").write_text("mine\n")
    refused("not written by itmlab", mined.write, tmp_path / "notes.jsonl")
    mined.write(tmp_path / "mined.jsonl")
    read = read_negatives(mined.write(tmp_path / "mined.jsonl").path)  # over the earlier file
    for caption, negatives in enumerate(read.of(data)):
        image = caption // 5
        assert [negative.sentence for negative in negatives] == [data.captions[at] for at in mined.captions.of(image)]
        assert [negative.score for negative in negatives] == pytest.approx(mined.captions.scores[image].tolist())


def test_a_run_and_its_features_are_both_encoders(tmp_path) -> None:
    run, data = itmlab.pretrained("triplet"), itmlab.load("scenes", images=12, cache=tmp_path)
    by_run, by_features = (mine(encoder, data) for encoder in (run, tuple(embed(run.model, data))))
    assert by_run.captions.negatives.equal(by_features.captions.negatives)


def test_what_cannot_be_mined_is_refused_in_one_line() -> None:
    data, features = pairs_of([0, 1, 2], [0, 1, 2, 3, 4, 5])
    for options in ({"number": 0}, {"skip": -1}, {"margin": float("nan")}, {"relative_margin": -0.1}):
        refused(next(iter(options)), mine, features, data, **options)
    refused("unknown field numbers — did you mean number", mine, features, data, numbers=3)
    refused("skip", mine, features, data, skip="two")
    refused("features .* for 3 images and 6 captions", mine, (features[0], features[1][:5]), data)
    single, its = pairs_of([0], [0, 1])
    refused("nothing is left to mine", mine, its, single)
    same, of_one = pairs_of([4, 4, 4], [0, 1, 2, 3, 4, 5])  # one picture three times: issue 44, entry 6
    refused("nothing is left to mine", mine, of_one, same)


def test_an_image_without_captions_has_negatives_but_no_positive() -> None:
    """Issue 44, entry 21."""
    data, features = pairs_of([0, 1, 2], [0, 1, 2, 3, 4, 5])
    data.image_of_caption = data.image_of_caption.clamp(max=1)
    mined = mine(features, data, margin=0.1)
    assert len(mined.captions.of(2)) == 3 and mined.captions.positive_scores.isnan().tolist() == [False, False, True]
    assert "nan" not in str(mined)


# Made by a named generator.


@pytest.fixture(scope="module")
def three_scenes(tmp_path_factory):
    return itmlab.load("scenes", images=3, cache=tmp_path_factory.mktemp("scenes"))


@pytest.fixture(scope="module")
def folder(three_scenes, tmp_path_factory):
    tokenizer = train_wordpiece(three_scenes.captions, 150)
    torch.manual_seed(0)
    sizes = {"hidden": 24, "layers": 1, "heads": 3, "intermediate": 40, "region_dimension": 16, "positions": 80}
    pictures = {"visual": "patches", "image_size": 32, "patch_size": 8}
    path = tmp_path_factory.mktemp("tower")
    CrossEncoder(CrossEncoderConfig(vocabulary_size=len(tokenizer), **sizes, **pictures), tokenizer).save(path)
    return path


def written(data, path, *generator, **options):
    """The negatives of each caption in a file that is written, and how its first row says that they were made."""
    file = write_negatives(data, path, *generator, **options)
    return read_negatives(file.path).of(data), json.loads(file.path.read_text().splitlines()[0])["made_by"]


def test_tags_refills_and_scores_with_a_model(tmp_path, three_scenes, folder):
    options = {"model": folder, "options": {"maskings": 2, "samples": 3}, "truth": False}
    rows, made_by = written(three_scenes, tmp_path / "x.jsonl", "tags", **options)
    assert "generator=tags, maskings=2, samples=3, temperature=1.0, keep=31" in made_by and "weights=" in made_by
    assert sum(map(len, rows)) > 20 and all(negative.score is not None for row in rows for negative in row)


def test_swaps_are_made_by_rule_and_wrong_options_are_refused(tmp_path, three_scenes):
    rows, made_by = written(three_scenes, tmp_path / "x.jsonl", options={"number": 2})
    assert made_by == "generator=vse_c, number=2, seed=0" and 0 < max(map(len, rows)) <= 2
    refused("no generator", write_negatives, three_scenes, tmp_path / "y.jsonl", "other_colours")
    refused("vse_c: .*did you mean number", write_negatives, three_scenes, tmp_path / "y.jsonl", options={"numbers": 2})
