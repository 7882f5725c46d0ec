"""What SAM's adaptive margins cost: to set up, and beside a step of `tiny`, by times taken in turns in one run."""

import time

import torch

import itmlab
from itmlab.models import build_model
from itmlab.samplers import Pool
from itmlab.train.relevance import CaptionRelevance
from itmlab.train.step_dual import Objective
from tests.benchmarks.test_choosing import best_of

PICTURES, CAPTIONS = (
    itmlab.recipe("sam").data.batch_size,
    itmlab.recipe("sam").data.captions_per_image,
)  # of a tiny batch


def test_margins_add_a_few_per_cent_to_a_tiny_step(benchmark, tmp_path, monkeypatch, capsys):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    data = itmlab.load("scenes", images=1200).split("train")
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path))
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        relevance = CaptionRelevance(data)
        seconds.append(time.perf_counter() - began)

    model = build_model(itmlab.recipe("sam").model, data.captions)
    source, image_ids = torch.Generator().manual_seed(0), torch.arange(PICTURES).repeat_interleave(CAPTIONS)
    caption_ids = torch.cat([data.captions_of_image[image][:CAPTIONS] for image in range(PICTURES)])
    pixels = model.prepare_images([data.images[image] for image in range(PICTURES)])
    tokens = model.prepare_captions([data.captions[row] for row in caption_ids.tolist()])
    made = {
        name: Objective(itmlab.recipe(name).replace(data__warm_up_epochs=0), None, source, data, relevance)
        for name in ("sam", "hardest")
    }

    def encoded() -> tuple[torch.Tensor, torch.Tensor]:
        return model.encode_images(pixels).pooled[image_ids], model.encode_captions(tokens).pooled

    def loss(name: str, features: tuple[torch.Tensor, torch.Tensor]) -> None:
        made[name](Pool(*features, image_ids, caption_ids), None, 1, (None, None), None).backward()

    apart = [side.detach().requires_grad_() for side in encoded()]
    margins, plain = best_of(20, lambda: loss("sam", apart), lambda: loss("hardest", apart))
    (whole,) = best_of(3, lambda: loss("hardest", encoded()))
    benchmark.pedantic(loss, args=("sam", apart), rounds=5)
    torch.set_num_threads(threads)
    share = (margins - plain) / whole
    benchmark.extra_info["share_of_a_tiny_step"] = share
    with capsys.disabled():
        print(
            f"\nφ of {len(data.captions)} captions: {seconds[0]:.2f} s once, {seconds[1]:.2f} s from the cache"
            f"\nSAM's triplets of {len(caption_ids)} pairs add {(margins - plain) * 1e3:.1f} ms to a tiny step's "
            f"{whole * 1e3:.0f} ms: {share:.1%}"
        )
