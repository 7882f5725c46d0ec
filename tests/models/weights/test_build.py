"""Fresh models come from a seed; published checkpoints give weights, sizes and picture preparation, or one line."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertModel,
    CLIPConfig,
    CLIPModel,
    ViTConfig,
    ViTModel,
)

from itmlab.models import DualEncoder, DualEncoderConfig, build_model
from itmlab.models.weights.build import CLIP_PICTURES
from itmlab.text.tokens import train_wordpiece
from tests.refusals import refused

SIZES = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40)
WORDS = ["a dog runs", "two red cars", "a man rides a horse"]


def test_weights_come_from_the_seed_and_a_vocabulary_from_captions(configure, kind, captions):
    first, again, other = (build_model(configure(kind), captions, seed=seed).state_dict() for seed in (4, 4, 5))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in other)
    refused("no vocabulary", build_model, configure(kind))


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
    patches = ViTModel.from_pretrained(vit).eval()(pixels).last_hidden_state[:, 1:]
    images, captions = model.encode_images(pixels), model.encode_captions(tokens)
    torch.testing.assert_close(images.local, model.towers.image_projection(patches))
    reference = BertModel.from_pretrained(bert).eval()
    states = reference(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"]).last_hidden_state
    torch.testing.assert_close(captions.local, model.towers.text_projection(states))
    model.save(tmp_path / "saved")  # which no longer needs the checkpoints
    for name in ("vit", "b"):
        (tmp_path / name).rename(tmp_path / f"gone-{name}")
    again = DualEncoder.load(tmp_path / "saved")
    assert torch.equal(again.encode_images(pixels).pooled, images.pooled)
    assert torch.equal(again.encode_captions(again.prepare_captions(WORDS)).pooled, captions.pooled)


def test_clip_gives_its_projected_features(tmp_path, tokenizer, pictures):
    name = clip_in(tmp_path / "clip", tokenizer)
    model, reference = build_model(DualEncoderConfig.clip(name)).eval(), CLIPModel.from_pretrained(name).eval()
    pixels, tokens = model.prepare_images(pictures), model.prepare_captions(WORDS)
    output = reference(pixel_values=pixels, input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"])
    images, captions = model.encode_images(pixels).pooled, model.encode_captions(tokens).pooled
    torch.testing.assert_close(images, output.image_embeds)
    torch.testing.assert_close(captions, output.text_embeds)
    prepare = model.prepare_images  # without a preprocessor_config.json CLIP cuts out the centre
    assert (prepare.size, prepare.shortest_edge, prepare.interpolation) == (48, 48, "bicubic")
    model.save(tmp_path / "saved")
    again = DualEncoder.load(tmp_path / "saved")
    assert torch.equal(again.encode_captions(tokens).pooled, captions)
    assert torch.equal(again.encode_images(pixels).pooled, images)


@pytest.mark.parametrize(
    ("folder", "stated", "needed"),
    [
        ("clip", ("gelu", "gelu"), "quick_gelu"),
        ("clip", ("quick_gelu", "quick_gelu"), "gelu"),
        ("clip", ("quick_gelu", "gelu"), None),
        ("openai/clip-vit-tiny", ("gelu", "gelu"), None),  # a copy of a known family with a wrong activation
    ],
)
def test_gelu_and_quick_gelu_are_never_mixed(tmp_path, tokenizer, folder, stated, needed):
    name = clip_in(tmp_path / folder, tokenizer, *stated)
    refused("activation|asks for|trained with", build_model, replace(DualEncoderConfig.clip(name), activation=needed))


def test_the_picture_preparation_of_the_checkpoint_is_used_unless_another_is_given(vit, tmp_path, captions):
    assert build_model(DualEncoderConfig(image_pretrained=vit), captions).prepare_images.shortest_edge is None
    stated = {"size": 48, "resample": 3, "image_mean": [0.1, 0.2, 0.3], "image_std": [0.4, 0.5, 0.6]}
    (tmp_path / "vit" / "preprocessor_config.json").write_text(json.dumps(stated))
    prepare = build_model(DualEncoderConfig(image_pretrained=vit), captions).prepare_images
    assert (prepare.size, prepare.shortest_edge, prepare.interpolation) == (48, None, "bicubic")
    assert prepare.mean == (0.1, 0.2, 0.3) and prepare.std == (0.4, 0.5, 0.6)
    released = DualEncoderConfig.base("released")
    config = replace(released, image_pretrained=vit, projection="linear", text_pretrained=None)
    assert build_model(config, captions).prepare_images.mean == tuple(CLIP_PICTURES["image_mean"])


def test_checkpoints_that_cannot_be_used_are_refused_in_one_line(vit, bert, tmp_path, captions):
    def load(name):
        return build_model(DualEncoderConfig(image_pretrained=str(name)), captions)

    refused("folder must hold", load, tmp_path)
    refused("a bert checkpoint, not a vit one", load, bert)
    path = tmp_path / "vit" / "model.safetensors"
    weights = load_file(path)
    save_file({name: weights[name] for name in weights if "cls_token" not in name}, path, metadata={"format": "pt"})
    refused(r"checkpoint lacks .*cls_token", load, vit)
    path.unlink()
    torch.save({}, tmp_path / "vit" / "pytorch_model.bin")
    refused("cannot load the pretrained model", load, vit)
    config = tmp_path / "vit" / "config.json"
    code = {"auto_map": {"AutoConfig": "evil.Config"}, "model_type": "evil"}
    config.write_text(json.dumps(json.loads(config.read_text()) | code))
    (tmp_path / "vit" / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    refused("cannot load", load, vit)
    assert not (tmp_path / "ran").exists()
