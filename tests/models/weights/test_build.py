"""Fresh models come from a seed; published checkpoints give weights, sizes and picture preparation, or one line."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertModel,
    ViTConfig,
    ViTModel,
)

from itmlab.models import DualEncoder, DualEncoderConfig, build_model
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


def test_checkpoints_that_cannot_be_used_are_refused_in_one_line(vit, bert, tmp_path):
    def load(name):
        return build_model(DualEncoderConfig(image_pretrained=str(name), text_pretrained=bert))

    refused("folder must hold", load, tmp_path)
    refused("the checkpoint lacks embeddings.cls_token", load, bert)
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
