"""What the cross-encoder says of a pair is a function of that pair, and its heads are those of TAGS-DC."""

import warnings
from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional

from itmlab.data import load
from itmlab.errors import ItmlabError
from itmlab.models import CrossEncoder, CrossEncoderConfig, build_cross_encoder
from itmlab.models.base import CutCaptions
from itmlab.models.cross_encoder import HEADS
from itmlab.runs import scores
from tests.models.cross_encoders import CAPTIONS, CLOSE, build, inputs, records

FORMS = [("uniter", "regions"), ("oscar", "regions"), ("uniter", "patches"), ("oscar", "patches")]


def said(model: CrossEncoder, tokens: dict, image: dict, **asked):
    with torch.no_grad():
        return model(tokens["input_ids"], tokens["attention_mask"], heads=HEADS, **image, **asked)


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
    assert output.hidden.shape == (pairs, length, 24) and output.attentions is None
    alone = model(tokens["input_ids"], tokens["attention_mask"], **image)
    assert alone.mlm is alone.wod is alone.woc is None
    with pytest.raises(ItmlabError, match="no head 'nsp'"):
        model(tokens["input_ids"], tokens["attention_mask"], heads=("nsp",), **image)


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


def test_the_image_and_every_word_matter(model):
    tokens, image = inputs(model)
    before = said(model, tokens, image).itm
    swapped = said(model, tokens, {name: value.flip(0) for name, value in image.items()}).itm
    assert (swapped - before).abs().min() > 1e-5
    changed = {name: value.clone() for name, value in tokens.items()}
    changed["input_ids"][:, 1] = model.tokenizer.mask_token_id
    assert (said(model, changed, image).itm - before).abs().min() > 1e-5


def test_attention_maps_are_of_the_same_computation_and_leave_padding_out(model):
    tokens, image = inputs(model)
    output, usual = said(model, tokens, image, attentions=True), said(model, tokens, image)
    torch.testing.assert_close(output.itm, usual.itm, **CLOSE)
    parts = model.tagged(model.embed_regions(**image), tokens["attention_mask"].sum(dim=1)).mask
    mask = torch.cat([tokens["attention_mask"].bool(), parts], dim=1)
    for weights in output.attentions:
        assert weights.shape == (4, 3, mask.shape[1], mask.shape[1])
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
        assert (weights.transpose(1, -1)[~mask] == 0).all()


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


def test_the_word_head_has_two_layers_the_second_tied_to_the_embeddings(model):
    tokens, image = inputs(model)
    output, head = said(model, tokens, image), model.heads.mlm
    expected = head.norm(functional.gelu(head.transform(output.hidden))) @ model.text.words.weight.T + head.bias
    torch.testing.assert_close(output.mlm, expected, **CLOSE)
    assert not [name for name in model.state_dict() if "decoder" in name]


def test_uniter_reads_seven_box_numbers_and_oscar_six():
    for form, reads in (("uniter", True), ("oscar", False)):
        model = build(form)
        tokens, image = inputs(model)
        seven = functional.pad(image["boxes"], (0, 7 - image["boxes"].shape[-1]))
        other = seven.clone()
        other[..., 6] += 1.0
        scores = [said(model, tokens, image | {"boxes": one}).itm for one in (seven, other)]
        assert torch.allclose(*scores) != reads


def test_object_tags_change_the_score_and_stand_at_their_own_positions():
    model = build("oscar")
    tokens, image = inputs(model)
    usual = said(model, tokens, image).itm
    assert not torch.allclose(usual, said(model, tokens, image | {"tags": image["tags"] * 0 + 9}).itm)
    longer = {name: functional.pad(value, (0, 5)) for name, value in tokens.items()}
    torch.testing.assert_close(said(model, longer, image).itm, usual, **CLOSE)
    with pytest.raises(ItmlabError, match="only with the OSCAR form"):
        build("uniter").prepare_images(records([2]), ["dog"])


def by_hand(model: CrossEncoder, caption: str, tags: str, record) -> torch.Tensor:
    """The matching logit of one pair whose text is put together as OSCAR's two fine-tunings do, without padding."""
    config, special = model.config, {"add_special_tokens": False}
    first, last = model.tokenizer.cls_token_id, model.tokenizer.sep_token_id
    said = [first, *model.tokenizer(caption, **special)["input_ids"][: config.maximum_tokens - 2], last]
    after = config.tag_positions == "after_caption"
    start, most = len(said) if after else config.maximum_tokens, config.maximum_tokens if after else config.longest_text
    seen = [*model.tokenizer(tags, **special)["input_ids"][: most - start - 1], last] if tags and most > start else []
    text, places = torch.tensor([said + seen]), [*range(len(said)), *range(start, start + len(seen))]
    kinds = torch.tensor([0] * len(said) + [1] * len(seen))
    states = model.text.words(text) + model.text.positions(torch.tensor(places)) + model.text.types(kinds)
    states = torch.cat(
        [model.text.norm(states), model.embed_regions(record.features[None], record.boxes[None]).values], 1
    )
    hidden = model.encoder(states, torch.ones(states.shape[:2], dtype=torch.bool))[0]
    return model.heads.itm(torch.tanh(model.pooler(hidden[:, 0])))[0, 0]


@pytest.mark.parametrize("places", [12, 30])
@pytest.mark.parametrize("layout", ["after_caption", "padded"])
def test_object_tags_follow_the_caption_or_have_places_of_their_own(layout, places):
    """Lengths of captions and tags differ, so that with few places some tags are cut and one caption leaves none."""
    model = build("oscar", tag_positions=layout, maximum_tokens=places, object_tags=True)
    images, tags = records([3, 5, 1, 4]), ["dog", "car car tree tree grass man", "", "man horse field grass a"]
    named = [SimpleNamespace(**vars(one), tags=tuple(of.split()) or None) for one, of in zip(images, tags, strict=True)]
    captions = [*CAPTIONS, "a man rides a horse in a green field next to a tree on the grass"]
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", CutCaptions)
        found = model.similarity(model.prepare_images(named), model.prepare_captions(captions), chunk=3)
        once = model.similarity(scores.image_side(model, named), model.prepare_captions(captions))
        pairs = zip(images, tags, strict=True)
        expected = [[by_hand(model, caption, of, one) for caption in captions] for one, of in pairs]
    torch.testing.assert_close(found, torch.tensor(expected), **CLOSE)
    torch.testing.assert_close(once, found, **CLOSE)
    apart = scores.joined_regions([model.embed_regions(**model.prepare_images([one])) for one in named])
    torch.testing.assert_close(model.similarity(apart, model.prepare_captions(captions[:4])), found[:, :4], **CLOSE)


def test_without_the_setting_the_tags_of_regions_are_left_out():
    named = [SimpleNamespace(**vars(one), tags=("dog", "tree")) for one in records([3, 2])]
    assert "tags" not in build("oscar").prepare_images(named)
    assert "tags" in build("oscar", object_tags=True).prepare_images(named)
    with pytest.raises(ItmlabError, match="only the OSCAR form reads object tags"):
        build("uniter", object_tags=True)


def test_one_layer_is_the_textbook_computation():
    """BERT's layer, head by head and pair by pair, as a loop."""
    model = build(layers=1)
    layer, states = model.encoder[0], torch.randn(1, 5, 24)
    query, key, value = (part(states)[0] for part in (layer.query, layer.key, layer.value))
    mixed = torch.zeros(5, 24)
    for head in range(3):
        own = slice(8 * head, 8 * head + 8)
        for place in range(5):
            weights = torch.softmax(torch.stack([query[place, own] @ key[k, own] / 8**0.5 for k in range(5)]), dim=0)
            mixed[place, own] = sum(weights[k] * value[k, own] for k in range(5))
    attended = layer.attended_norm(states[0] + layer.attended(mixed))
    expected = layer.output_norm(attended + layer.output(functional.gelu(layer.intermediate(attended))))
    found, _ = model.encoder(states, torch.ones(1, 5, dtype=torch.bool))
    torch.testing.assert_close(found[0], expected, **CLOSE)


def test_bad_regions_are_refused_in_one_line():
    model, good = build(), records([2])[0]
    for changes, what in (
        ({"features": torch.zeros(2, 5)}, "features of shape"),
        ({"boxes": None}, "no boxes"),
        ({"boxes": torch.zeros(3, 7)}, "boxes of shape"),
        ({"features": good.features * float("nan")}, "not finite"),
    ):
        with pytest.raises(ItmlabError, match=what):
            model.prepare_images([SimpleNamespace(**(vars(good) | changes))])
    with pytest.raises(ItmlabError, match="patches"):
        build(visual="patches").embed_regions(torch.zeros(1, 2, 16), torch.zeros(1, 2, 7))


def test_a_saved_model_says_the_same(model, tmp_path):
    tokens, image = inputs(model)
    model.save(tmp_path)
    again = CrossEncoder.load(tmp_path)
    assert again.config == model.config and not again.training
    assert torch.equal(said(again, tokens, image).itm, said(model, tokens, image).itm)


def test_configurations_travel_as_json_and_bad_ones_are_refused():
    for config in (CrossEncoderConfig.tiny(), CrossEncoderConfig.base("oscar"), CrossEncoderConfig.large()):
        assert CrossEncoderConfig.from_dict(config.to_dict()) == config
    large = CrossEncoderConfig.large()
    assert (large.layers, large.hidden, large.heads) == (24, 1024, 16)
    for bad in ({"heads": 5}, {"form": "bert"}, {"dropout": 2.0}, {"positions": 3}, {"colour": 1}, {"hidden": True}):
        with pytest.raises(ItmlabError, match="model configuration"):
            CrossEncoderConfig.from_dict(bad)


def test_training_learns_to_tell_pairs_apart():
    model = build()
    tokens, image = inputs(model)
    optimiser = torch.optim.AdamW(model.train().parameters(), lr=3e-3)
    wrong = {name: value.roll(1, 0) for name, value in image.items()}
    for _ in range(40):
        good = model(tokens["input_ids"], tokens["attention_mask"], **image).itm
        bad = model(tokens["input_ids"], tokens["attention_mask"], **wrong).itm
        loss = (0.2 - good.sigmoid() + bad.sigmoid()).relu().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.eval()
    assert (said(model, tokens, image).itm > said(model, tokens, wrong).itm).all()


def test_fresh_models_come_from_captions_and_a_seed():
    captions = ["a dog runs on the grass", "a cat sleeps"] * 3
    first, same, other = (build_cross_encoder(CrossEncoderConfig.tiny(), captions, seed=seed) for seed in (1, 1, 2))
    assert first.training and first.config.vocabulary_size == len(first.tokenizer) < 1000
    assert all(torch.equal(*pair) for pair in zip(first.parameters(), same.parameters(), strict=True))
    assert not torch.equal(first.pooler.weight, other.pooler.weight)
    with pytest.raises(ItmlabError, match="no vocabulary"):
        build_cross_encoder(CrossEncoderConfig.tiny())


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
            rows.append([float(model(ids[None], mask[None], **image).itm) for ids, mask in each])
    return torch.tensor(rows)


@pytest.mark.parametrize("chunk", [1, 3, 8, 1000])
@pytest.mark.parametrize("model", FORMS[:3], ids="-".join, indirect=True)
def test_the_matrix_holds_the_scores_of_the_pairs(model, chunk):
    captions, images = inputs(model)
    expected = pair_by_pair(model, images, captions)
    torch.testing.assert_close(model.similarity(images, captions, chunk=chunk), expected, **CLOSE)
    embedded = model.embed_regions(**images)
    torch.testing.assert_close(model.similarity(embedded, captions, chunk=chunk), expected, **CLOSE)


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


def test_the_bar_says_the_time_left(capsys):
    model = build()
    model.similarity(*reversed(inputs(model)), progress=True)
    shown = capsys.readouterr().err
    assert "scoring" in shown and "4/4" in shown and "<" in shown


def test_scores_that_are_not_finite_and_empty_chunks_are_refused():
    model = build()
    captions, images = inputs(model)
    with pytest.raises(ItmlabError, match="chunk"):
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
        found = scores.similarity(model, data)
        few = model.similarity(model.prepare_images([data.images[1]]), model.prepare_captions(data.captions[:3]))
    torch.testing.assert_close(found[1:2, :3], few, **CLOSE)
    assert found.shape == (len(data.images), len(data.captions))
