"""UNITER's forward (Chen et al., 2020) on equal weights and inputs; README.md says what made the numbers."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from itmlab.models import CrossEncoder, CrossEncoderConfig, load_public
from itmlab.text.tokens import train_wordpiece

CAPTIONS = ["a dog runs on the grass", "two red cars next to a tree", "a cat", "a man rides a horse in a green field"]
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
pytestmark = pytest.mark.filterwarnings("ignore::itmlab.models.weights.uniter.FreshHeads")


def public(name: str, folder: Path, **settings) -> tuple[CrossEncoder, dict[str, torch.Tensor]]:
    """Return the model of a fixture's public weights, and the fixture's other tensors."""
    tensors = load_file(Path(__file__).parent / f"{name}.safetensors")
    weights = {key.removeprefix("weights."): value for key, value in tensors.items() if key.startswith("weights.")}
    save_file(weights, folder / "public.safetensors")
    sizes = {"region_dimension": 6, "hidden": 16, "layers": 2, "heads": 2, "intermediate": 24}
    sizes |= {"vocabulary_size": 81, "positions": 40, "maximum_tokens": 20}
    config = CrossEncoderConfig(**(sizes | settings))
    model = load_public(folder / "public.safetensors", train_wordpiece(CAPTIONS * 2, 120), config)
    return model, {key: value for key, value in tensors.items() if not key.startswith("weights.")}


def test_states_scores_and_words_of_pairs_of_different_lengths(tmp_path):
    model, public_code = public("uniter", tmp_path)
    lengths, regions = public_code["txt_lens"], public_code["num_bbs"]
    token_mask = torch.arange(public_code["input_ids"].shape[1]) < lengths[:, None]
    region_mask = torch.arange(public_code["img_feat"].shape[1]) < regions[:, None]
    with torch.no_grad():
        embedded = model.embed_regions(public_code["img_feat"], public_code["img_pos_feat"], region_mask)
        output = model(public_code["input_ids"], token_mask, embedded, heads=("itm", "mlm"))
        hidden, image_hidden = model.states(public_code["input_ids"], token_mask, embedded).split(
            [token_mask.shape[1], region_mask.shape[1]], dim=1
        )
    torch.testing.assert_close(output.itm, public_code["rank_scores"], **CLOSE)
    for row, (words, parts) in enumerate(zip(lengths.tolist(), regions.tolist(), strict=True)):
        states = torch.cat([hidden[row, :words], image_hidden[row, :parts]])  # the public code packs them
        torch.testing.assert_close(states, public_code["hidden"][row, : words + parts], **CLOSE)
        torch.testing.assert_close(output.mlm[row, :words], public_code["mlm"][row, :words], **CLOSE)
