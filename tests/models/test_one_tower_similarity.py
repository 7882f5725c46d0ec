"""All images against all captions: the scores of the single pairs, in any order of work, stopped and taken up again."""

import warnings

import pytest
import torch

from itmlab.data import load
from itmlab.errors import ItmlabError
from itmlab.models import OneTower
from itmlab.models.caption_input import CutCaptions
from itmlab.training import evaluation

from .one_towers import CAPTIONS, build, inputs

CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def pair_by_pair(model: OneTower, images: dict, captions: dict) -> torch.Tensor:
    rows = []
    with torch.no_grad():
        for row in range(4):
            image = {name: value[row : row + 1] for name, value in images.items()}
            each = zip(captions["input_ids"], captions["attention_mask"], strict=True)
            rows.append([float(model(ids[None], mask[None], **image).itm) for ids, mask in each])
    return torch.tensor(rows)


@pytest.fixture(params=[("uniter", "regions"), ("oscar", "regions"), ("uniter", "patches")], ids="-".join)
def model(request) -> OneTower:
    return build(*request.param)


@pytest.mark.parametrize("chunk", [1, 3, 8, 1000])
def test_the_matrix_holds_the_scores_of_the_pairs(model, chunk):
    captions, images = inputs(model)
    expected = pair_by_pair(model, images, captions)
    torch.testing.assert_close(model.similarity(images, captions, chunk=chunk), expected, **CLOSE)
    torch.testing.assert_close(
        model.similarity(model.embed_regions(**images), captions, chunk=chunk), expected, **CLOSE
    )


def test_each_image_is_embedded_once_and_captions_are_read_at_their_own_length(monkeypatch):
    model = build()
    captions, images = inputs(model)
    embedded, read = [], []
    embed, score = model.embed_regions, model.score

    def counted(*args, **named):
        embedded.append(len(named["regions"]))
        return embed(*args, **named)

    def noted(tokens, mask, parts):
        read.append((tokens.shape[1], int(mask.sum(1).max())))
        return score(tokens, mask, parts)

    monkeypatch.setattr(model, "embed_regions", counted)
    monkeypatch.setattr(model, "score", noted)
    model.similarity(images, captions, chunk=1)
    assert embedded == [1, 1, 1, 1] and len(read) == 16
    assert all(width == longest for width, longest in read)


def test_dropout_stays_out_and_the_mode_comes_back():
    model = build(dropout=0.5).train()
    captions, images = inputs(model)
    assert torch.equal(model.similarity(images, captions), model.similarity(images, captions)) and model.training


class Stopped(Exception):
    pass


def test_stopped_scoring_goes_on_where_it_was_and_ends_in_the_same_numbers(tmp_path, monkeypatch):
    model, file = build(), tmp_path / "kept" / "scores"
    captions, images = inputs(model)
    expected = model.similarity(images, captions, chunk=2)
    embed, calls = model.embed_regions, []

    def stopping(*args, **named):
        calls.append(1)
        if len(calls) == 3:
            raise Stopped
        return embed(*args, **named)

    monkeypatch.setattr(model, "embed_regions", stopping)
    with pytest.raises(Stopped):
        model.similarity(images, captions, chunk=2, resume=file)
    assert torch.equal(model.similarity(images, captions, chunk=2, resume=file), expected)
    assert len(calls) == 3 + 2  # two of four images were kept
    assert torch.equal(model.similarity(images, captions, chunk=2, resume=file), expected) and len(calls) == 5


def test_kept_scores_of_another_model_or_other_data_are_refused(tmp_path):
    model, file = build(), tmp_path / "scores"
    captions, images = inputs(model)
    model.similarity(images, captions, resume=file)
    others = model.prepare_captions([*CAPTIONS[:3], "a red dog"])
    trained = build()
    trained.heads.itm.bias.data += 1
    for changed in (
        lambda: trained.similarity(images, captions, resume=file),
        lambda: model.similarity(images, others, resume=file),
        lambda: model.similarity(images, captions, chunk=3, resume=file),
        lambda: model.similarity(images | {"boxes": images["boxes"] + 1}, captions, resume=file),
    ):
        with pytest.raises(ItmlabError, match="another model or other data"):
            changed()


def test_a_note_without_its_scores_and_a_cut_file_begin_anew(tmp_path):
    model, file = build(), tmp_path / "scores"
    captions, images = inputs(model)
    expected = model.similarity(images, captions, resume=file)
    file.write_bytes(file.read_bytes()[:10])
    assert torch.equal(model.similarity(images, captions, resume=file), expected)
    file.unlink()
    assert torch.equal(model.similarity(images, captions, resume=file), expected)


def test_the_bar_says_the_time_left(capsys):
    model = build()
    model.similarity(*reversed(inputs(model)), progress=True)
    shown = capsys.readouterr().err
    assert "scoring" in shown and "4/4" in shown and "<" in shown


def test_scores_that_are_not_finite_and_empty_chunks_are_refused():
    model = build()
    captions, images = inputs(model)
    with pytest.raises(ItmlabError, match="chunk of 0"):
        model.similarity(images, captions, chunk=0)
    model.heads.itm.bias.data.fill_(float("nan"))
    with pytest.raises(ItmlabError, match="not finite"):
        model.similarity(images, captions)


@pytest.mark.parametrize("visual", ["regions", "patches"])
def test_scenes_are_scored_from_their_regions_or_their_patches(visual):
    data = load("scenes", images=12, regions=True)
    width = data.regions[0].features.shape[1]
    model = build(visual=visual, maximum_tokens=40, **({"region_dimension": width} if visual == "regions" else {}))
    images = model.prepare_images([(data.regions if visual == "regions" else data.images)[at] for at in range(4)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutCaptions)
        captions = model.prepare_captions(data.captions[:20])
    assert model.similarity(images, captions).shape == (4, 20)


def test_the_evaluation_of_this_package_takes_it_as_it_is():
    data = load("scenes", images=12)
    model = build(visual="patches", maximum_tokens=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutCaptions)
        found = evaluation.similarity(model, data)
        few = model.similarity(model.prepare_images([data.images[1]]), model.prepare_captions(data.captions[:3]))
    torch.testing.assert_close(found[1:2, :3], few, **CLOSE)
    assert found.shape == (len(data.images), len(data.captions))
