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
    "released": DualEncoderConfig.base("released"),
    "clip": DualEncoderConfig.clip("openai/clip-vit-base-patch16"),
}


@pytest.mark.parametrize("name", NAMED)
def test_json_and_back(name):
    assert DualEncoderConfig.from_dict(json.loads(json.dumps(NAMED[name].to_dict()))) == NAMED[name]


def test_the_papers_encoders_are_the_base_size():
    assert NAMED["base"].image_pretrained.endswith("vit-base-patch16-224-in21k")
    assert NAMED["base"].text_pretrained.endswith("bert-base-uncased")
    released = NAMED["released"]
    assert released.image_pretrained == "google/vit-base-patch16-384" and released.image_size == 384
    assert (released.projection, released.maximum_words, released.interpolation) == ("none", 30, "bicubic")
    assert released.mean == (0.48145466, 0.4578275, 0.40821073) and released.std == (0.26862954, 0.26130258, 0.27577711)
    later = {"projection", "preparation", "maximum_words"}
    assert not later & set(NAMED["base"].to_dict()) and later <= set(released.to_dict())


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"image_sise": 96}, "unknown field image_sise — did you mean image_size?"),
        ({"image_size": "96"}, "image_size is '96', wanted a whole number"),
        ({"image_size": True}, "image_size is True, wanted a whole number"),
        ({"dimension": 0}, "dimension is 0, wanted 1 to 1048576 — see itmlab.models.DualEncoderConfig"),
        ({"dropout": 1.5}, r"dropout is 1\.5, wanted 0 to below 1"),
        ({"dropout": 10**400}, "dropout is too large a number"),
        ({"stem": "fancy"}, "stem is 'fancy', .*there are linear, convolutional"),
        ({"activation": "swish"}, "activation is 'swish', .*there are gelu, quick_gelu, relu"),
        ({"mean": [0.5, 0.5]}, r"mean is \[0\.5, 0\.5\], wanted a list of 3"),
        ({"std": [0.5, 0.5, float("nan")]}, r"std\[2\] is nan, wanted a finite number"),
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


def test_scan_takes_its_authors_numbers_in_both_directions_and_no_others_change():
    for of_size in (LateInteractionConfig.tiny, LateInteractionConfig.base):
        there, back = of_size("scan_t2i"), of_size("scan_i2t")
        assert (there.lambda_softmax, there.lambda_lse, back.lambda_softmax, back.lambda_lse) == (9, 6, 4, 5)
        assert there.of_kind("scan_i2t") == {"lambda_softmax": 4, "lambda_lse": 5}
        assert of_size("scan_i2t", lambda_lse=20.0).of_kind("saf") == {"lambda_softmax": 9}


def test_released_is_a_later_field_and_no_preset_of_every_kind():
    assert {"preset", "region_count", "writer_dimension"}.isdisjoint(LateInteractionConfig.base("sgr").to_dict())
    vsrn = LateInteractionConfig.base("vsrn", preset="released")
    assert (vsrn.writer_dimension, vsrn.dropout, vsrn.batch_norm) == (512, 0.2, True)
    assert LateInteractionConfig.from_dict(vsrn.to_dict()) == vsrn
    with pytest.raises(ItmlabError, match="vsepp has no preset 'released' — there are scan_t2i"):
        LateInteractionConfig.tiny("vsepp", preset="released")
