"""Runs on a benchmark of true and false sentences."""

import torch
from workshop.analysis import run_on_yardstick

import itmlab
from itmlab.metrics import Yardstick, YardstickItem


def test_a_runs_right_items_are_those_that_its_similarities_tell():
    data = itmlab.load("scenes", images=72).select(range(60))
    items = []
    for image, captions in enumerate(data.captions_of_image):
        other = data.captions[int(data.captions_of_image[(image + 1) % len(data)][0])]
        true = data.captions[int(captions[0])]
        items.append(YardstickItem(data.image_ids[image], (true,), (other,), "replace_obj"))
    yardstick = Yardstick("pairs", tuple(items), pictures=data)
    run = itmlab.pretrained("fne")
    table = run_on_yardstick(run, yardstick, text=["scenes"])
    with torch.no_grad():
        images = run.model.encode_images(run.model.prepare_images(list(data.images))).pooled
        sentences = run.model.encode_captions(run.model.prepare_captions(yardstick.sentences)).pooled
    scores = run.model.similarity(images, sentences)
    pairs = scores[torch.arange(60).repeat_interleave(2), torch.arange(120)].view(-1, 2)
    assert table.rows["all"].shares["right"].count == int((pairs[:, 0] > pairs[:, 1]).sum()) > 50
    assert list(table.rows["all"].shares) == ["right", "wrong picture", "text only (scenes)", "shorter"]
    alone = run_on_yardstick(None, yardstick, text=["scenes"]).rows["all"]
    assert alone.shares == {name: table.rows["all"].shares[name] for name in ("text only (scenes)", "shorter")}
