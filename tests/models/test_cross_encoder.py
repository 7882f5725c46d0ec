"""The cross-encoder's output for a pair depends on that pair only, and its heads are those of TAGS-DC."""

from types import SimpleNamespace

import pytest
import torch

from itmlab.models import CrossEncoder, cross_encoder
from tests.models.cross_encoders import CLOSE, build, inputs, records
from tests.refusals import refused

HEADS = ("itm", "mlm", "wod", "woc")
FORMS = [("uniter", "regions"), ("oscar", "regions"), ("uniter", "patches")]


def output_of(model: CrossEncoder, tokens: dict, image: dict, **options):
    with torch.no_grad():
        regions = model.embed_regions(**image)
        return model(tokens["input_ids"], tokens["attention_mask"], regions, heads=HEADS, **options)


@pytest.fixture(params=FORMS, ids="-".join)
def model(request) -> CrossEncoder:
    return build(*request.param)


def test_each_head_answers_only_on_request_and_only_where_asked(model):
    tokens, image = inputs(model)
    output = output_of(model, tokens, image)
    alone = model(tokens["input_ids"], tokens["attention_mask"], model.embed_regions(**image))
    assert alone.mlm is alone.wod is alone.woc is None
    score = model.score(tokens["input_ids"], tokens["attention_mask"], model.embed_regions(**image))
    torch.testing.assert_close(score, output.itm, **CLOSE)
    places = torch.zeros_like(tokens["input_ids"], dtype=torch.bool)
    places[0, 2] = places[3, 1] = True
    chosen = output_of(model, tokens, image, positions=places)
    torch.testing.assert_close(chosen.mlm, output.mlm[places], **CLOSE)
    torch.testing.assert_close(chosen.woc, output.woc[places], **CLOSE)


def test_a_pair_has_the_same_output_alone_and_in_a_batch(model):
    tokens, image = inputs(model)
    together = output_of(model, tokens, image)
    for row in range(4):
        length = int(tokens["attention_mask"][row].sum())
        tokens_of_row = {name: value[row : row + 1, :length] for name, value in tokens.items()}
        image_of_row = {name: value[row : row + 1] for name, value in image.items()}
        for name, mask in (("regions", "region_mask"), ("boxes", "region_mask"), ("tags", "tag_mask")):
            if name in image_of_row:
                image_of_row[name] = image_of_row[name][:, : int(image[mask][row].sum())]
        for mask in {"region_mask", "tag_mask"} & set(image_of_row):
            image_of_row[mask] = image_of_row[mask][image_of_row[mask]][None]
        alone = output_of(model, tokens_of_row, image_of_row)
        torch.testing.assert_close(alone.itm[0], together.itm[row], **CLOSE)
        for head in ("mlm", "wod", "woc"):
            torch.testing.assert_close(getattr(alone, head)[0], getattr(together, head)[row, :length], **CLOSE)


def test_the_content_of_padding_does_not_matter(model):
    tokens, image = inputs(model)
    before = output_of(model, tokens, image)
    changed = {name: value.clone() for name, value in (tokens | image).items()}
    changed["input_ids"][tokens["attention_mask"] == 0] = 7
    for name, mask in (("regions", "region_mask"), ("boxes", "region_mask"), ("tags", "tag_mask")):
        if name in image:
            changed[name][~image[mask].bool()] = 3
    after = output_of(model, changed, {name: changed[name] for name in image})
    torch.testing.assert_close(after.itm, before.itm, **CLOSE)


def test_bad_regions_and_tags_without_their_form_are_refused():
    assert "tags" not in build("oscar", object_tags=False).prepare_images(records([3, 2]))
    refused("form must be oscar", build, "uniter", object_tags=True)
    model, record = build(), records([2])[0]
    for changes, words in (({"features": torch.zeros(2, 5)}, "features of shape"), ({"boxes": None}, "no boxes")):
        refused(words, model.prepare_images, [SimpleNamespace(**(vars(record) | changes))])


def pair_by_pair(model: CrossEncoder, images: dict, captions: dict) -> torch.Tensor:
    rows = []
    with torch.no_grad():
        for row in range(4):
            image = model.embed_regions(**{name: value[row : row + 1] for name, value in images.items()})
            sentences = zip(captions["input_ids"], captions["attention_mask"], strict=True)
            rows.append([float(model(ids[None], mask[None], image).itm) for ids, mask in sentences])
    return torch.tensor(rows)


def test_similarity_is_the_matrix_of_pairs_for_any_chunk(model, tmp_path, monkeypatch):
    captions, images = inputs(model)
    expected = pair_by_pair(model, images, captions)
    for chunk in (1, 3, 1000):
        monkeypatch.setattr(cross_encoder, "PAIR_BATCH_SIZE", chunk)
        torch.testing.assert_close(model.similarity(images, captions), expected, **CLOSE)
    scores = model.similarity(images, captions)
    model.save(tmp_path)
    again = CrossEncoder.load(tmp_path)
    assert again.config == model.config and torch.equal(again.similarity(images, captions), scores)


def test_similarity_uses_no_dropout():
    model = build(dropout=0.5).train()
    captions, images = inputs(model)
    assert torch.equal(model.similarity(images, captions), model.similarity(images, captions)) and model.training
