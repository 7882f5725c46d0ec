"""SCAN, SGR, SAF and VSRN under the released preset: public weights give the public similarities."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from itmlab.models import LateInteraction, LateInteractionConfig
from itmlab.text.tokens import tokenizer_of_words
from tests.refusals import refused

PUBLIC = load_file(Path(__file__).with_name("fragment.safetensors"))
CLOSE = {"rtol": 0, "atol": 1e-5}
SGRAF = {"similarity_dimension": 8, "region_count": 5}
# The weights, and the configuration that they are for.
CASES = {
    **{
        f"scan_{way}.{pooling}": ("scan", {"kind": f"scan_{way}", "aggregation": pooling})
        for way in ("t2i", "i2t")
        for pooling in ("lse", "mean")
    },
    **{kind: (kind, {"kind": kind, **SGRAF}) for kind in ("sgr", "saf")},
    "vsrn_coco": ("vsrn_coco", {"kind": "vsrn"}),
    "vsrn_f30k": ("vsrn_f30k", {"kind": "vsrn", "batch_norm": True}),
}


def loaded(case: str, preset: str = "released") -> LateInteraction:
    name, settings = CASES[case]
    sizes = dict(region_dimension=7, dimension=12, word_dimension=6, vocabulary_size=16)
    config = LateInteractionConfig(**sizes, **settings, preset=preset)
    model = LateInteraction(config, tokenizer_of_words([*"abcdefghijk"])).eval()
    start = f"{name}.weights."
    model.load_state_dict({key.removeprefix(start): value for key, value in PUBLIC.items() if key.startswith(start)})
    return model


def similarity(model: LateInteraction) -> torch.Tensor:
    ids, lengths = PUBLIC["input_ids"], PUBLIC["lengths"][:, None]
    places, everywhere = torch.arange(ids.shape[1]), torch.ones(PUBLIC["regions"].shape[:2], dtype=torch.bool)
    words = (places > 0) & (places < lengths - 1)  # our reading: the frame is no word
    tokens = {"input_ids": ids, "attention_mask": (places < lengths).long(), "word_mask": words}
    images = {"regions": PUBLIC["regions"], "region_mask": everywhere}
    with torch.no_grad():
        return model.similarity(model.encode_images(images), model.encode_captions(tokens))


@pytest.mark.parametrize("case", CASES)
def test_public_weights_give_the_public_similarity(case):
    torch.testing.assert_close(similarity(loaded(case)), PUBLIC[f"{case}.similarity"], **CLOSE)
    assert torch.equal(PUBLIC["regions"][2], PUBLIC["regions"][3])  # a tie in every column


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("scan")])
def test_the_paper_says_otherwise_of_the_same_weights(case):
    assert (similarity(loaded(case, "paper")) - PUBLIC[f"{case}.similarity"]).abs().max() > 0.01


def test_the_released_sgraf_is_two_models():
    refused("no released sgraf", LateInteractionConfig.base, "sgraf", preset="released")
