"""Public checkpoints of SCAN, SGRAF and VSRN in every form that a reader may have them."""

import argparse

import pytest
import torch
from safetensors.torch import save_file

from itmlab.errors import ItmlabError
from itmlab.models import load_matcher
from tests.parity.test_fragment import PUBLIC, similarity, states, tokenizer
from tests.refusals import refused

__all__ = ["tokenizer"]  # a fixture


def saved(networks: list[dict[str, torch.Tensor]], folder, **options):
    torch.save({"model": networks, "opt": argparse.Namespace(**options)}, folder / "model_best.pth.tar")
    return folder / "model_best.pth.tar"


@pytest.mark.parametrize("name", ["scan", "sgr", "vsrn_coco"])
@pytest.mark.parametrize("prefix", ["module.", "module.module.", "_orig_mod."])
def test_prefixes_of_wrappers_change_nothing(name, prefix, tmp_path, tokenizer):
    networks = states(name)
    plain = similarity(load_matcher(saved(networks, tmp_path), tokenizer))
    wrapped = [{f"{prefix}{key}": value for key, value in network.items()} for network in networks]
    assert torch.equal(similarity(load_matcher(saved(wrapped, tmp_path), tokenizer)), plain)
    twice = [networks[0] | wrapped[0], *networks[1:]]
    refused("several names", load_matcher, saved(twice, tmp_path), tokenizer)


def test_the_remedy_safetensors_can_be_read(tmp_path, tokenizer):
    weights = {
        f"{number}.{key}": value for number, network in enumerate(states("scan")) for key, value in network.items()
    }
    save_file(weights, tmp_path / "scan.safetensors")
    model = load_matcher(tmp_path / "scan.safetensors", tokenizer, lambda_softmax=9.0, lambda_lse=6.0)
    torch.testing.assert_close(similarity(model), PUBLIC["scan_t2i.lse.similarity"], rtol=0, atol=1e-5)
    assert load_matcher(tmp_path / "scan.safetensors", tokenizer, kind="scan_i2t").config.kind == "scan_i2t"


@pytest.mark.parametrize("name", ["scan", "saf"])
def test_a_gru_of_one_direction_is_named_and_no_configuration_file_is(name, tmp_path, tokenizer):
    images, captions, *similarities = states(name)
    one_way = {key: value for key, value in captions.items() if "reverse" not in key}
    path = saved([images, one_way, *similarities], tmp_path)
    (tmp_path / "config.json").write_text("{}")  # of something else
    refused("GRU of one direction", load_matcher, path, tokenizer)
    missing = {key: value for key, value in captions.items() if not key.endswith("weight_hh_l0")}
    with pytest.raises(ItmlabError, match=r"missing: captions\.network\.weight_hh_l0") as caught:
        load_matcher(saved([images, missing, *similarities], tmp_path), tokenizer)
    assert "config.json" not in str(caught.value)
