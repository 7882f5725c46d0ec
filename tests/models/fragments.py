"""Small models of late interaction, captions of different lengths, and images with different numbers of regions."""

from types import SimpleNamespace

import torch

from itmlab.models import Encoded, LateInteraction, LateInteractionConfig, build_model

CAPTIONS = ["a dog runs on the grass", "two red cars next to a tree", "cat", "a man rides a horse in a green field"]
KINDS = ["scan_t2i", "scan_i2t", "sgr", "saf", "sgraf", "vsrn", "vsepp"]
RELEASED = [f"{kind}, released" for kind in ("scan_t2i", "scan_i2t", "vsrn")]
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def build(kind: str, **changes) -> LateInteraction:
    kind, _, preset = kind.partition(", ")
    changes = changes | ({"preset": preset} if preset else {})
    sizes = dict(region_dimension=10, dimension=16, word_dimension=12, vocabulary_size=120, maximum_tokens=20,
                 similarity_dimension=8, graph_layers=2)  # fmt: skip
    model = build_model(LateInteractionConfig(kind=kind, **(sizes | changes)), CAPTIONS * 2, seed=0)
    torch.manual_seed(5)
    with torch.no_grad():  # away from fresh weights, with which words are all alike
        for weights in model.parameters():
            weights += 0.3 * torch.randn_like(weights)
    return model.eval()


def records(counts: list[int], dimension: int = 10) -> list[SimpleNamespace]:
    torch.manual_seed(1)
    return [SimpleNamespace(features=torch.randn(n, dimension), boxes=torch.rand(n, 7)) for n in counts]


def encoded(
    model: LateInteraction, counts: list[int] = (3, 5, 1, 4), captions: list[str] = CAPTIONS
) -> tuple[Encoded, Encoded]:
    with torch.no_grad():
        images = model.encode_images(model.prepare_images(records(list(counts))))
        return images, model.encode_captions(model.prepare_captions(list(captions)))


def parts(items: Encoded, row: int) -> torch.Tensor:
    """Return the parts of one item that are not padding."""
    return items.local[row][items.mask[row]]


def direction(vector: torch.Tensor) -> torch.Tensor:
    return vector / vector.norm()
