"""SCAN, SGR, SAF and VSRN under the released preset: public weights give the public similarities."""

import json
from argparse import Namespace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from itmlab.errors import ItmlabError
from itmlab.models import LateInteraction, LateInteractionConfig, load_matcher
from itmlab.text.tokens import load_words

PUBLIC = load_file(Path(__file__).with_name("fragment.safetensors"))
CLOSE = {"rtol": 0, "atol": 1e-5}
# what is loaded from, the options that its checkpoint would hold, and what it is to say
CASES = {
    **{
        f"scan_{way}.{pooling}": ("scan", dict(cross_attn=way, agg_func=name, lambda_softmax=first, lambda_lse=second))
        for way, first, second in (("t2i", 9.0, 6.0), ("i2t", 4.0, 5.0))
        for pooling, name in (("lse", "LogSumExp"), ("mean", "Mean"))
    },
    **{name: (name, {}) for name in ("sgr", "saf", "vsrn_coco", "vsrn_f30k")},
}


def states(name: str) -> list[dict[str, torch.Tensor]]:
    """Return the weights in a public checkpoint: of the networks of images, captions, similarities."""
    networks: list[dict[str, torch.Tensor]] = [{}, {}, {}]
    for key, value in PUBLIC.items():
        if key.startswith(f"{name}.") and key.split(".")[1].isdigit():
            number, rest = key.removeprefix(f"{name}.").split(".", 1)
            networks[int(number)][rest] = value
    return [network for network in networks if network]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    words = ["<pad>", "<start>", "<end>", "<unk>", *"abcdefghijkl"]
    path = tmp_path_factory.mktemp("vocabulary") / "f30k_precomp_vocab.json"
    path.write_text(json.dumps({"word2idx": {word: number for number, word in enumerate(words)}, "idx": len(words)}))
    return load_words(path)


def loaded(case: str, folder: Path, tokenizer, **changes) -> LateInteraction:
    name, options = CASES[case]
    torch.save({"epoch": 3, "model": states(name), "opt": Namespace(**options)}, folder / "model_best.pth.tar")
    return load_matcher(folder / "model_best.pth.tar", tokenizer, **changes)


def similarity(model: LateInteraction) -> torch.Tensor:
    ids, lengths = PUBLIC["input_ids"], PUBLIC["lengths"][:, None]
    places, everywhere = torch.arange(ids.shape[1]), torch.ones(PUBLIC["regions"].shape[:2], dtype=torch.bool)
    words = (places > 0) & (places < lengths - 1)  # our reading: the frame is no word
    tokens = {"input_ids": ids, "attention_mask": (places < lengths).long(), "word_mask": words}
    images = {"regions": PUBLIC["regions"], "region_mask": everywhere}
    with torch.no_grad():
        return model.similarity(model.encode_images(images), model.encode_captions(tokens))


@pytest.mark.parametrize("case", CASES)
def test_public_weights_give_the_public_similarity(case, tmp_path, tokenizer):
    model = loaded(case, tmp_path, tokenizer)
    torch.testing.assert_close(similarity(model), PUBLIC[f"{case}.similarity"], **CLOSE)
    assert torch.equal(PUBLIC["regions"][2], PUBLIC["regions"][3])  # a tie in every column
    model.save(tmp_path)
    assert torch.equal(similarity(LateInteraction.load(tmp_path)), similarity(model))


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("scan")])
def test_the_paper_says_otherwise_of_the_same_weights(case, tmp_path, tokenizer):
    assert (
        similarity(loaded(case, tmp_path, tokenizer, preset="paper")) - PUBLIC[f"{case}.similarity"]
    ).abs().max() > 0.01


def test_both_models_of_sgraf_and_of_scan_are_averaged_as_runs_are(tmp_path, tokenizer):
    for pair in (("sgr", "saf"), ("scan_t2i.lse", "scan_i2t.lse")):
        ours = sum(similarity(loaded(case, tmp_path, tokenizer)) for case in pair) / 2
        torch.testing.assert_close(ours, sum(PUBLIC[f"{case}.similarity"] for case in pair) / 2, **CLOSE)
    with pytest.raises(ItmlabError, match="no released sgraf"):
        LateInteractionConfig.base("sgraf", preset="released")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ({"model": [{"cnn.weight": torch.ones(1)}, {}]}, "not a checkpoint .*images.map.0.weight"),
        ({"model": [{"fc.weight": torch.ones(2, 2)}, {}]}, "not a checkpoint .*captions.embedding.weight"),
        (
            {"model": states("scan"), "opt": Namespace(agg_func="Max")},
            "agg_func is 'Max' — only LogSumExp or Mean",
        ),
        ({"state_dict": {}}, "not a checkpoint of SCAN, SGRAF or VSRN"),
        (Path, "not a file of plain tensors .it may hold code"),
    ],
)
def test_what_is_no_such_checkpoint_is_one_line(content, line, tmp_path, tokenizer):
    torch.save(content, tmp_path / "one.pth.tar")
    with pytest.raises(ItmlabError, match=line):
        load_matcher(tmp_path / "one.pth.tar", tokenizer)
