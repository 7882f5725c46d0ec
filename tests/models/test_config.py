"""A model configuration is plain values: to JSON and back, with one clear line for a value that does not fit."""

import json
import subprocess
import sys

import pytest

from itmlab.errors import ItmlabError
from itmlab.models.config import CrossEncoderConfig, DualEncoderConfig, LateInteractionConfig

NAMED = {
    "tiny": DualEncoderConfig.tiny(),
    "base": DualEncoderConfig.base(),
    "large": DualEncoderConfig.large(),
    "clip": DualEncoderConfig.clip("openai/clip-vit-base-patch16"),
}


@pytest.mark.parametrize("name", NAMED)
def test_json_and_back(name):
    assert DualEncoderConfig.from_dict(json.loads(json.dumps(NAMED[name].to_dict()))) == NAMED[name]


def test_the_papers_encoders_are_the_base_size():
    assert NAMED["base"].image_pretrained.endswith("vit-base-patch16-224-in21k")
    assert NAMED["base"].text_pretrained.endswith("bert-base-uncased")


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"image_sise": 96}, "unknown setting 'image_sise'"),
        ({"image_size": "96"}, "image_size cannot be '96'"),
        ({"image_size": True}, "image_size cannot be True"),
        ({"dimension": 0}, "dimension cannot be 0"),
        ({"dropout": 1.5}, r"dropout cannot be 1\.5"),
        ({"dropout": 10**400}, "dropout cannot be 1000"),
        ({"stem": "fancy"}, "stem is 'fancy', not one of"),
        ({"activation": "swish"}, "activation is 'swish', not one of"),
        ({"mean": [0.5, 0.5]}, "mean is .* not three numbers"),
        ({"std": [0.5, 0.5, float("nan")]}, "std is .* not three numbers"),
        ({"patch_size": 11}, "do not divide"),
        ({"text_tower": "clip"}, "vit image tower goes with a bert"),
        ({"image_tower": "clip", "text_tower": "clip", "image_pretrained": "one"}, "both names must be the same"),
        ({"stem": "convolutional", "image_pretrained": "google/vit"}, "from scratch"),
    ],
)
def test_a_wrong_value_is_named(values, line):
    with pytest.raises(ItmlabError, match=line):
        DualEncoderConfig.from_dict(values)


def test_a_whole_number_given_for_a_real_one_is_the_same_configuration():
    for kind in (DualEncoderConfig, LateInteractionConfig, CrossEncoderConfig):
        assert json.dumps(kind(dropout=0).to_dict()) == json.dumps(kind(dropout=0.0).to_dict())


def test_naming_a_configuration_does_not_load_torch():
    program = "import sys, itmlab.models as m; m.DualEncoderConfig.tiny(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    import itmlab.models

    with pytest.raises(AttributeError, match="attribute ThreeTower"):
        _ = itmlab.models.ThreeTower
