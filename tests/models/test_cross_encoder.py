"""What the cross-encoder says of a pair is a function of that pair, and its heads are those of TAGS-DC."""

from types import SimpleNamespace

import pytest
import torch

from itmlab.models import CrossEncoder
from tests.models.cross_encoders import CLOSE, build, inputs, records
from tests.refusals import refused

HEADS = ("itm", "mlm", "wod", "woc")
FORMS = [("uniter", "regions"), ("oscar", "regions"), ("uniter", "patches"), ("oscar", "patches")]


def said(model: CrossEncoder, tokens: dict, image: dict, **asked):
    with torch.no_grad():
        regions = model.embed_regions(**image)
        return model(tokens["input_ids"], tokens["attention_mask"], regions, heads=HEADS, **asked)


@pytest.fixture(params=FORMS, ids="-".join)
def model(request) -> CrossEncoder:
    return build(*request.param)


def test_each_head_answers_in_its_shape_and_only_when_asked(model):
    tokens, image = inputs(model)
    pairs, length = tokens["input_ids"].shape
    output = said(model, tokens, image)
    vocabulary = model.config.vocabulary_size
    assert output.itm.shape == (pairs,) and output.wod.shape == (pairs, length, 2)
    assert output.mlm.shape == output.woc.shape == (pairs, length, vocabulary)
    assert output.hidden.shape == (pairs, length, 24)
    alone = model(tokens["input_ids"], tokens["attention_mask"], model.embed_regions(**image))
    assert alone.mlm is alone.wod is alone.woc is None


def test_a_pair_is_judged_alike_alone_and_in_company(model):
    tokens, image = inputs(model)
    together = said(model, tokens, image)
    for row in range(4):
        length = int(tokens["attention_mask"][row].sum())
        own_tokens = {name: value[row : row + 1, :length] for name, value in tokens.items()}
        own_image = {name: value[row : row + 1] for name, value in image.items()}
        for name, mask in (("regions", "region_mask"), ("boxes", "region_mask"), ("tags", "tag_mask")):
            if name in own_image:
                own_image[name] = own_image[name][:, : int(image[mask][row].sum())]
        for mask in {"region_mask", "tag_mask"} & set(own_image):
            own_image[mask] = own_image[mask][own_image[mask]][None]
        alone = said(model, own_tokens, own_image)
        torch.testing.assert_close(alone.itm[0], together.itm[row], **CLOSE)
        for head in ("mlm", "wod", "woc"):
            torch.testing.assert_close(getattr(alone, head)[0], getattr(together, head)[row, :length], **CLOSE)


def test_what_stands_in_the_padding_does_not_matter(model):
    tokens, image = inputs(model)
    before = said(model, tokens, image)
    spoilt = {name: value.clone() for name, value in (tokens | image).items()}
    spoilt["input_ids"][tokens["attention_mask"] == 0] = 7
    for name, mask in (("regions", "region_mask"), ("boxes", "region_mask"), ("tags", "tag_mask")):
        if name in image:
            spoilt[name][~image[mask].bool()] = 3
    after = said(model, spoilt, {name: spoilt[name] for name in image})
    torch.testing.assert_close(after.itm, before.itm, **CLOSE)
    real = tokens["attention_mask"].bool()
    torch.testing.assert_close(after.mlm[real], before.mlm[real], **CLOSE)


def test_an_embedded_image_is_shared_by_its_sentences_and_gets_all_their_gradients(model):
    tokens, image = inputs(model)
    embedded = model.embed_regions(**{name: value[:1] for name, value in image.items()})
    embedded.values.retain_grad()
    pairs = embedded.take(torch.zeros(4, dtype=torch.long))
    shared = model(tokens["input_ids"], tokens["attention_mask"], pairs).itm
    again = {name: value[:1].expand(4, *value.shape[1:]) for name, value in image.items()}
    torch.testing.assert_close(shared, said(model, tokens, again).itm, **CLOSE)
    shared.sum().backward()
    parts = []
    for row in range(4):
        alone = embedded.values.detach().clone().requires_grad_()
        tokens_of_row = tokens["input_ids"][row : row + 1], tokens["attention_mask"][row : row + 1]
        model(*tokens_of_row, embedded._replace(values=alone)).itm.sum().backward()
        parts.append(alone.grad)
    torch.testing.assert_close(embedded.values.grad, sum(parts), rtol=1e-3, atol=1e-5)


def test_the_quick_score_is_the_matching_logit(model):
    tokens, image = inputs(model)
    score = model.score(tokens["input_ids"], tokens["attention_mask"], model.embed_regions(**image))
    torch.testing.assert_close(score, said(model, tokens, image).itm, **CLOSE)


def test_the_vocabulary_is_scored_at_chosen_places_only(model):
    tokens, image = inputs(model)
    places = torch.zeros_like(tokens["input_ids"], dtype=torch.bool)
    places[0, 2] = places[3, 1] = True
    chosen, full = said(model, tokens, image, positions=places), said(model, tokens, image)
    assert chosen.mlm.shape == (2, model.config.vocabulary_size)
    torch.testing.assert_close(chosen.mlm, full.mlm[places], **CLOSE)
    torch.testing.assert_close(chosen.woc, full.woc[places], **CLOSE)


def test_without_the_setting_the_tags_of_regions_are_left_out():
    assert "tags" not in build("oscar", object_tags=False).prepare_images(records([3, 2]))
    assert "tags" in build("oscar").prepare_images(records([3, 2]))
    refused("only the OSCAR form reads object tags", build, "uniter", object_tags=True)


def test_bad_regions_are_refused_in_one_line():
    model, good = build(), records([2])[0]
    for changes, what in (
        ({"features": torch.zeros(2, 5)}, "features of shape"),
        ({"boxes": None}, "no boxes"),
    ):
        refused(what, model.prepare_images, [SimpleNamespace(**(vars(good) | changes))])


def test_a_saved_model_says_the_same(model, tmp_path):
    tokens, image = inputs(model)
    model.save(tmp_path)
    again = CrossEncoder.load(tmp_path)
    assert again.config == model.config and not again.training
    assert torch.equal(said(again, tokens, image).itm, said(model, tokens, image).itm)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_a_cuda_device_gives_the_same_scores(model):
    tokens, image = inputs(model)
    expected = model.similarity(image, tokens, chunk=5)
    torch.testing.assert_close(model.cuda().similarity(image, tokens, chunk=5), expected, rtol=1e-3, atol=1e-3)
    on_device = [{name: value.cuda() for name, value in part.items()} for part in (image, tokens)]
    torch.testing.assert_close(model.similarity(*on_device, chunk=5), expected, rtol=1e-3, atol=1e-3)
    with torch.autocast("cuda", torch.bfloat16):
        half = said(model, on_device[1], on_device[0])
    assert half.itm.isfinite().all() and half.mlm.isfinite().all()


def pair_by_pair(model: CrossEncoder, images: dict, captions: dict) -> torch.Tensor:
    rows = []
    with torch.no_grad():
        for row in range(4):
            image = {name: value[row : row + 1] for name, value in images.items()}
            each = zip(captions["input_ids"], captions["attention_mask"], strict=True)
            rows.append([float(model(ids[None], mask[None], model.embed_regions(**image)).itm) for ids, mask in each])
    return torch.tensor(rows)


@pytest.mark.parametrize("chunk", [1, 3, 8, 1000])
@pytest.mark.parametrize("model", FORMS[:3], ids="-".join, indirect=True)
def test_the_matrix_holds_the_scores_of_the_pairs(model, chunk):
    captions, images = inputs(model)
    expected = pair_by_pair(model, images, captions)
    torch.testing.assert_close(model.similarity(images, captions, chunk=chunk), expected, **CLOSE)
    embedded = model.embed_regions(**images)
    torch.testing.assert_close(model.similarity(embedded, captions, chunk=chunk), expected, **CLOSE)


def test_dropout_stays_out_and_the_mode_comes_back():
    model = build(dropout=0.5).train()
    captions, images = inputs(model)
    assert torch.equal(model.similarity(images, captions), model.similarity(images, captions)) and model.training


def test_scores_that_are_not_finite_are_refused():
    model = build()
    captions, images = inputs(model)
    model.heads.itm.bias.data.fill_(float("nan"))
    refused("not finite", model.similarity, images, captions)
