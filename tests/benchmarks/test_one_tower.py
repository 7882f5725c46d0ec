"""What it saves to score pairs in buckets of length over shared images, beside scoring padded pairs.

The model is `tiny`, the pairs are 6 images of 36 regions × 90 captions of 5 to 40 tokens. Only the ratio of times taken
in turns within one run is printed and compared.
"""

import math
import time

import torch

from itmlab.models import CrossEncoder, CrossEncoderConfig, build_model

IMAGES, CAPTIONS, TOGETHER = 6, 90, 64


@torch.no_grad()
def padded(model: CrossEncoder, images: dict, captions: dict) -> torch.Tensor:
    """The plain way: every pair is a row with its own regions, padded to the longest caption of all."""
    pairs = torch.cartesian_prod(torch.arange(IMAGES), torch.arange(CAPTIONS))
    scores = [
        model(
            captions["input_ids"][text],
            captions["attention_mask"][text],
            model.embed_regions(images["regions"][at], images["boxes"][at]),
        ).itm
        for at, text in (part.unbind(1) for part in pairs.split(TOGETHER))
    ]
    return torch.cat(scores).view(IMAGES, CAPTIONS)


def test_buckets_and_shared_images_are_faster_than_padded_pairs():
    generator = torch.Generator().manual_seed(0)
    words = [f"{a}{b}" for a in "bdfgklmn" for b in "aeiou"]

    def sentence() -> str:
        count = int(torch.randint(3, 12, (1,), generator=generator)) * (
            1 + 2 * (torch.rand(1, generator=generator) < 0.1).item()
        )
        return " ".join(words[int(at)] for at in torch.randint(0, len(words), (count,), generator=generator))

    texts = [sentence() for _ in range(CAPTIONS)]
    sizes = {"hidden": 96, "layers": 4, "heads": 4, "intermediate": 192, "region_dimension": 96}
    config = CrossEncoderConfig(**sizes, vocabulary_size=1000, maximum_tokens=48, positions=96, dropout=0.0)
    model = build_model(config, texts * 2, seed=0).eval()
    captions = model.prepare_captions(texts)
    images = {
        "regions": torch.randn(IMAGES, 36, config.region_dimension, generator=generator),
        "boxes": torch.rand(IMAGES, 36, 7, generator=generator),
    }
    best, results = [math.inf, math.inf], [torch.empty(0)] * 2
    for _ in range(3):
        for number, way in enumerate((padded, lambda *given: CrossEncoder.similarity(*given, chunk=TOGETHER))):
            start = time.perf_counter()
            results[number] = way(model, images, captions)
            best[number] = min(best[number], time.perf_counter() - start)
    torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)
    lengths = captions["attention_mask"].sum(1).float()
    print(
        f"\n{IMAGES} × {CAPTIONS} pairs, captions of {lengths.mean():.0f} tokens, the longest of {lengths.max():.0f}:"
    )
    print(f"buckets over shared images are {best[0] / best[1]:.2f} × as fast as padded pairs")
    assert best[1] < best[0]
