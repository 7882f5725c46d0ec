"""A fresh model comes from a seed; a published checkpoint gives weights, sizes and picture preparation, or one line."""

import json
from dataclasses import replace

import pytest
import torch
from tokenizers.pre_tokenizers import ByteLevel
from transformers import (
    BertConfig,
    BertModel,
    CLIPConfig,
    CLIPModel,
    CLIPTokenizerFast,
    ViTConfig,
    ViTForImageClassification,
    ViTModel,
)

from itmlab.errors import ItmlabError
from itmlab.models import DualEncoder, DualEncoderConfig, build_model
from itmlab.models.weights.build import CLIP_PICTURES
from itmlab.text.tokens import as_plain_text, caption_words, encode_captions, train_wordpiece
from tests.refusals import refused

SIZES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40)
WORDS = ["a dog runs", "two red cars", "a man rides a horse"]


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(configure, kind, captions):
    same = [build_model(configure(kind), captions, seed=4).state_dict() for _ in range(2)]
    assert all(torch.equal(same[0][name], same[1][name]) for name in same[0])
    other = build_model(configure(kind), captions, seed=5).state_dict()
    assert any(not torch.equal(same[0][name], other[name]) for name in other)


def test_a_vocabulary_has_to_come_from_somewhere(configure):
    refused("no vocabulary", build_model, configure("vit"))


@pytest.fixture
def tokenizer():
    return train_wordpiece(WORDS, 90)


@pytest.fixture
def vit(tmp_path):
    ViTModel(ViTConfig(**SIZES, image_size=48, patch_size=16, layer_norm_eps=1e-3)).save_pretrained(tmp_path / "vit")
    return str(tmp_path / "vit")


@pytest.fixture
def bert(tmp_path, tokenizer):
    model = BertModel(BertConfig(**SIZES, vocab_size=len(tokenizer), max_position_embeddings=20))
    model.save_pretrained(tmp_path / "b")
    tokenizer.save_pretrained(tmp_path / "b")
    return str(tmp_path / "b")


def clip_in(directory, tokenizer, image_activation="quick_gelu", text_activation="quick_gelu"):
    torch.manual_seed(0)
    text = dict(vocab_size=len(tokenizer), max_position_embeddings=20, hidden_act=text_activation, projection_dim=24,
                eos_token_id=tokenizer.sep_token_id, bos_token_id=tokenizer.cls_token_id, pad_token_id=0)  # fmt: skip
    image = dict(image_size=48, patch_size=16, hidden_act=image_activation, projection_dim=24)
    model = CLIPModel(CLIPConfig(text_config=SIZES | text, vision_config=SIZES | image, projection_dim=24))
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return str(directory)


def test_vit_and_bert_from_local_checkpoints(vit, bert, tmp_path, pictures):
    model = build_model(DualEncoderConfig(image_pretrained=vit, text_pretrained=bert, dimension=24)).eval()
    assert (model.config.image_size, model.config.patch_size, model.config.image_hidden) == (48, 16, 32)
    assert model.config.maximum_tokens == 20 and model.patch_grid == (3, 3)
    pixels, tokens = model.prepare_images(pictures), model.prepare_captions(WORDS)
    theirs = ViTModel.from_pretrained(vit).eval()(pixels).last_hidden_state[:, 1:]
    torch.testing.assert_close(model.encode_images(pixels).local, model.towers.image_projection(theirs))
    theirs = BertModel.from_pretrained(bert).eval()
    states = theirs(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]).last_hidden_state
    torch.testing.assert_close(model.encode_captions(tokens).local, model.towers.text_projection(states))


def test_a_saved_model_no_longer_needs_its_checkpoints(vit, bert, tmp_path, pictures):
    model = build_model(DualEncoderConfig(image_pretrained=vit, text_pretrained=bert, dimension=24)).eval()
    model.save(tmp_path / "saved")
    for name in ("vit", "b"):
        (tmp_path / name).rename(tmp_path / f"gone-{name}")
    again, pixels = DualEncoder.load(tmp_path / "saved"), model.prepare_images(pictures)
    assert torch.equal(again.encode_images(pixels).pooled, model.encode_images(pixels).pooled)
    tokens = again.prepare_captions(WORDS)
    assert torch.equal(again.encode_captions(tokens).pooled, model.encode_captions(tokens).pooled)


def test_the_backbone_of_a_classifier_is_a_tower_too(tmp_path, captions):
    ViTForImageClassification(ViTConfig(**SIZES, image_size=48)).save_pretrained(tmp_path)
    theirs = ViTForImageClassification.from_pretrained(tmp_path).vit.embeddings.cls_token
    model = build_model(DualEncoderConfig(image_pretrained=str(tmp_path)), captions)
    assert torch.equal(model.towers.image.embeddings.cls_token, theirs)


def test_clip_gives_its_projected_features(tmp_path, tokenizer, pictures):
    name = clip_in(tmp_path / "clip", tokenizer)
    model, theirs = build_model(DualEncoderConfig.clip(name)).eval(), CLIPModel.from_pretrained(name).eval()
    pixels, tokens = model.prepare_images(pictures), model.prepare_captions(WORDS)
    output = theirs(pixel_values=pixels, input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"])
    torch.testing.assert_close(model.encode_images(pixels).pooled, output.image_embeds)
    torch.testing.assert_close(model.encode_captions(tokens).pooled, output.text_embeds)
    model.save(tmp_path / "saved")
    again = DualEncoder.load(tmp_path / "saved")
    assert torch.equal(again.encode_captions(tokens).pooled, model.encode_captions(tokens).pooled)
    assert torch.equal(again.encode_images(pixels).pooled, model.encode_images(pixels).pooled)


def test_a_clip_tokeniser_by_bytes_frames_cuts_and_aligns_words(tmp_path):
    letters = sorted(ByteLevel.alphabet())
    pieces = ["<|startoftext|>", "<|endoftext|>", *letters, *(f"{letter}</w>" for letter in letters)]
    pieces += ["do", "dog</w>", "ca", "cat</w>"]
    (tmp_path / "vocab.json").write_text(json.dumps({piece: at for at, piece in enumerate(pieces)}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\nd o\ndo g</w>\nc a\nca t</w>\n")
    tokenizer = as_plain_text(CLIPTokenizerFast.from_pretrained(tmp_path))
    tokens, cut = encode_captions(tokenizer, ["dog cat", "dog dog dog dog dog", "<|endoftext|>"], 6)
    ids, end = tokens["input_ids"].tolist(), pieces.index("<|endoftext|>")
    assert ids[0][:4] == [0, pieces.index("dog</w>"), pieces.index("cat</w>"), end]
    assert cut == 2 and ids[1][-1] == end and tokens["word_mask"][1].tolist() == [False, *[True] * 4, False]
    assert ids[2].index(end) == 5  # written in a caption it is text, and not where the text is pooled
    assert caption_words(tokenizer, "Dog cat", 6) == [("Dog", [1]), ("cat", [2])]


@pytest.mark.parametrize(
    ("stated", "needed"),
    [(("gelu", "gelu"), "quick_gelu"), (("quick_gelu", "quick_gelu"), "gelu"), (("quick_gelu", "gelu"), None)],
)
def test_gelu_and_quick_gelu_are_never_mixed(tmp_path, tokenizer, stated, needed):
    name = clip_in(tmp_path / "clip", tokenizer, *stated)
    refused("activation|asks for", build_model, replace(DualEncoderConfig.clip(name), activation=needed))


def test_a_copy_of_a_known_family_with_the_wrong_activation_is_refused(tmp_path, tokenizer):
    name = clip_in(tmp_path / "openai" / "clip-vit-tiny", tokenizer, "gelu", "gelu")
    refused("trained with quick_gelu", build_model, DualEncoderConfig.clip(name))


def test_the_checkpoints_own_picture_preparation_is_used(vit, tmp_path, captions):
    stated = {"size": 48, "resample": 3, "image_mean": [0.1, 0.2, 0.3], "image_std": [0.4, 0.5, 0.6]}
    (tmp_path / "vit" / "preprocessor_config.json").write_text(json.dumps(stated))
    prepare = build_model(DualEncoderConfig(image_pretrained=vit), captions).prepare_images
    assert (prepare.size, prepare.shortest_edge, prepare.interpolation) == (48, None, "bicubic")
    assert prepare.mean == (0.1, 0.2, 0.3) and prepare.std == (0.4, 0.5, 0.6)
    config = replace(
        DualEncoderConfig.base("released"), image_pretrained=vit, projection="linear", text_pretrained=None
    )
    given = build_model(config, captions).prepare_images
    assert (given.size, given.shortest_edge, given.interpolation) == (48, None, "bicubic")
    assert [given.mean, given.std] == [tuple(CLIP_PICTURES[f"image_{what}"]) for what in ("mean", "std")]


def test_without_one_clip_cuts_the_centre_and_vit_squeezes(vit, tmp_path, tokenizer, captions):
    clip = build_model(DualEncoderConfig.clip(clip_in(tmp_path / "clip", tokenizer))).prepare_images
    assert (clip.size, clip.shortest_edge, clip.interpolation) == (48, 48, "bicubic")
    assert build_model(DualEncoderConfig(image_pretrained=vit), captions).prepare_images.shortest_edge is None


def test_what_is_not_there_is_one_line_with_the_remedy(tmp_path, captions):
    with pytest.raises(ItmlabError) as caught:
        build_model(DualEncoderConfig(image_pretrained=str(tmp_path)), captions)
    assert "folder must hold" in str(caught.value) and "\n" not in str(caught.value)


def test_pickled_weights_are_not_read(vit, tmp_path, captions):
    (tmp_path / "vit" / "model.safetensors").unlink()
    torch.save({}, tmp_path / "vit" / "pytorch_model.bin")
    refused("cannot load the pretrained model", build_model, DualEncoderConfig(image_pretrained=vit), captions)


def test_a_checkpoint_of_another_kind_and_one_with_holes_are_refused(vit, bert, tmp_path, captions):
    from safetensors.torch import load_file, save_file

    refused("a bert checkpoint, not a vit one", build_model, DualEncoderConfig(image_pretrained=bert), captions)
    weights = load_file(tmp_path / "vit" / "model.safetensors")
    name = next(name for name in weights if "cls_token" in name)
    del weights[name]
    save_file(weights, tmp_path / "vit" / "model.safetensors", metadata={"format": "pt"})
    refused(r"checkpoint lacks .*cls_token", build_model, DualEncoderConfig(image_pretrained=vit), captions)


def test_code_in_a_checkpoint_is_not_run(vit, tmp_path, captions):
    path = tmp_path / "vit" / "config.json"
    values = json.loads(path.read_text()) | {"auto_map": {"AutoConfig": "evil.Config"}, "model_type": "evil"}
    path.write_text(json.dumps(values))
    (tmp_path / "vit" / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    refused("cannot load", build_model, DualEncoderConfig(image_pretrained=vit), captions)
    assert not (tmp_path / "ran").exists()
