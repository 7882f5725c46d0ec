"""A model configuration is plain values: to JSON and back, with one clear line for a value that does not fit."""

import json
import subprocess
import sys

import pytest

from itmlab.models.config import CrossEncoderConfig, DualEncoderConfig, LateInteractionConfig
from tests.refusals import refused

CONFIGS = [
    DualEncoderConfig.tiny(),
    DualEncoderConfig.base("released"),
    DualEncoderConfig.clip("openai/clip-vit-base-patch16"),
    LateInteractionConfig.tiny("sgraf", aggregation="mean"),
    LateInteractionConfig.base("vsrn", preset="released"),
    CrossEncoderConfig.tiny(),
    CrossEncoderConfig.base("oscar"),
    CrossEncoderConfig.large(),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_json_and_back(config):
    assert type(config).from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        (DualEncoderConfig, {"image_sise": 96}, "did you mean image_size"),
        (DualEncoderConfig, {"image_size": "96"}, "image_size"),
        (DualEncoderConfig, {"image_size": True}, "image_size"),
        (DualEncoderConfig, {"dimension": 0}, "dimension"),
        (DualEncoderConfig, {"dropout": 1.5}, "dropout"),
        (DualEncoderConfig, {"dropout": 10**400}, "dropout"),
        (DualEncoderConfig, {"stem": "fancy"}, "convolutional"),
        (DualEncoderConfig, {"mean": [0.5, 0.5]}, "mean"),
        (DualEncoderConfig, {"std": [0.5, 0.5, float("nan")]}, "finite"),
        (DualEncoderConfig, {"patch_size": 11}, "divide"),
        (DualEncoderConfig, {"text_tower": "clip"}, "bert"),
        (DualEncoderConfig, {"image_tower": "clip", "text_tower": "clip", "image_pretrained": "one"}, "same"),
        (DualEncoderConfig, {"stem": "convolutional", "image_pretrained": "google/vit"}, "scratch"),
        (LateInteractionConfig, {"kind": "cvse"}, "kind"),
        (LateInteractionConfig, {"lambda_lse": 0}, "lambda_lse"),
        (LateInteractionConfig, {"boxes": 1}, "boxes"),
        (LateInteractionConfig, {"kind": "vsepp", "preset": "released"}, "released"),
        (CrossEncoderConfig, {"heads": 5}, "heads"),
        (CrossEncoderConfig, {"form": "bert"}, "form"),
        (CrossEncoderConfig, {"positions": 3}, "positions"),
        (CrossEncoderConfig, {"form": "uniter", "object_tags": True}, "OSCAR"),
    ],
)
def test_a_wrong_value_is_named(kind, values, words):
    refused(words, kind.from_dict, values)


def test_naming_a_configuration_does_not_load_torch():
    program = "import sys, itmlab.models as m; m.DualEncoderConfig.tiny(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
