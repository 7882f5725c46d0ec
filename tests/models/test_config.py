"""A model configuration is plain values: to JSON and back, with one clear line for a value that does not fit."""

import json
import subprocess
import sys

import pytest

from itmlab.fields import to_plain, typed
from itmlab.models import build_model
from itmlab.models.config import CrossEncoderConfig, DualEncoderConfig, LateInteractionConfig
from tests.refusals import refused

CONFIGS = [
    DualEncoderConfig.base("released"),
    LateInteractionConfig.tiny("sgraf", aggregation="mean"),
    LateInteractionConfig.base("vsrn", preset="released"),
    CrossEncoderConfig.large(),
    CrossEncoderConfig.base("oscar"),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_json_and_back(config):
    assert typed(type(config), json.loads(json.dumps(to_plain(config))), "model") == config


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        (DualEncoderConfig, {"image_sise": 96}, "did you mean image_size"),
        (DualEncoderConfig, {"image_size": 2**20}, "image_size must be 1 to 4096, got 1048576"),
        (DualEncoderConfig, {"dropout": 10**400}, "dropout"),
        (DualEncoderConfig, {"std": [0.5, 0.5, float("nan")]}, "finite"),
        (DualEncoderConfig, {"patch_size": 11}, "image_size must be a multiple"),
        (DualEncoderConfig, {"image_pretrained": "one"}, "both, or neither"),
        (DualEncoderConfig, {"image_pretrained": "one", "text_pretrained": "two", "stem": "convolutional"}, "scratch"),
        (LateInteractionConfig, {"kind": "vsepp", "preset": "released"}, "released"),
        (LateInteractionConfig, {"graph_layers": 257}, "1 to 256"),
        (CrossEncoderConfig, {"heads": 5}, "heads"),
        (CrossEncoderConfig, {"positions": 3}, "positions"),
        (CrossEncoderConfig, {"form": "uniter", "object_tags": True}, "oscar"),
    ],
)
def test_a_wrong_value_is_named(kind, values, words):
    refused(words, typed, kind, values, "model")


@pytest.mark.parametrize(
    "config",
    [
        DualEncoderConfig(dimension=2**20, text_hidden=2**20, text_heads=1),
        LateInteractionConfig("sgr", dimension=2**20, similarity_dimension=2**20),
        CrossEncoderConfig(hidden=2**20, heads=1, layers=2),
    ],
)
def test_sizes_that_do_not_fit_into_memory_are_refused_before_they_are_allocated(config):
    refused("GiB", build_model, config, ["a dog runs", "a cat"] * 2)


def test_naming_a_configuration_does_not_load_torch():
    program = "import sys, itmlab.models as m; m.DualEncoderConfig.tiny(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
