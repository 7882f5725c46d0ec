"""What it saves to compare captions of like length together, instead of all of them padded to the longest."""

import time

import torch

import itmlab
from itmlab.models import LateInteractionConfig, build_model
from itmlab.models.encoded import evaluating
from itmlab.train.scores import side_of
from tests.models import fragments


def test_sgraf_compares_captions_without_padding_in_less_than_three_quarters_of_the_time(one_thread, capsys):
    captions = itmlab.load("scenes", images=100).captions
    model = build_model(LateInteractionConfig(kind="sgraf", region_dimension=10), captions, seed=0).requires_grad_(
        False
    )
    with evaluating(model):
        images, sentences = fragments.encoded(model, [9] * 32)[0], side_of(model, captions, "captions")
    seconds = {}
    for way, learning in (("padded", True), ("by length", False)):
        with torch.set_grad_enabled(learning):
            model.similarity(images, sentences)
            began = time.perf_counter()
            model.similarity(images, sentences)
            seconds[way] = time.perf_counter() - began
    ratio = seconds["by length"] / seconds["padded"]
    with capsys.disabled():
        print(f"\nSGRAF, {len(images.mask)} pictures with {len(captions)} captions: {ratio:.2f} of the padded time")
    assert ratio < 0.75
