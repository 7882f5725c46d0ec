"""The world's answers: truth labels, pixels, words and regions agree with one another, and follow a selection."""

import pytest
import torch

from itmlab.errors import ItmlabError
from itmlab.scenes import load
from itmlab.scenes.captions import write_captions
from itmlab.scenes.entail import entails
from itmlab.scenes.world import TruthLabels


@pytest.fixture(scope="module")
def regions(cache):
    return load(images=30, cache=cache, regions="pixels")


def test_three_regions_are_spurious_and_the_others_lie_on_their_objects(regions):
    for at in range(30):
        numbers, region, entities = regions.regions.objects(at), regions.regions[at], regions.world.objects(at)
        assert (numbers == -1).sum() == 3 and region.tags == regions.regions[at].tags
        boxes = regions.world.boxes(at).float() / 96
        for number, box, tag in zip(numbers.tolist(), region.boxes, region.tags, strict=True):
            if number >= 0:
                assert (box[:4] - boxes[number]).abs().max() < 0.1 and tag == entities[number].kind


@pytest.mark.parametrize("kind", ["pixels", "detector"])
def test_regions_follow_their_images(kind, cache):
    regions = load(images=30, cache=cache, regions=kind)
    part = regions.select([7, 2])
    assert torch.equal(part.regions[0].features, regions.regions[7].features)
    assert torch.equal(part.regions[1].boxes, regions.regions[2].boxes)
    assert torch.equal(part.select([1]).regions[0].boxes, regions.regions[2].boxes)


def test_columns_are_the_labels_one_by_one(many):
    scenes = many[:30]
    labels = TruthLabels(scenes)
    for index in range(30):
        for caption in write_captions(many[index], seed=0, index=index, unannotated=0.8):
            one_by_one = [entails(facts, caption.graph) for facts in scenes]
            assert labels.column(caption.graph).tolist() == one_by_one


def test_own_captions_are_true(scenes):
    labels = scenes.world.truth()
    assert labels.shape == (120, 600) and labels.dtype == torch.int8
    assert (labels[scenes.image_of_caption, torch.arange(600)] == 1).all()


def test_every_pixel_belongs_to_something_and_masks_lie_in_their_boxes(scenes):
    for image in range(40):
        masks, boxes = scenes.world.masks(image), scenes.world.boxes(image)
        entities = scenes.world.objects(image)
        assert masks.shape == (len(entities), 96, 96) and boxes.shape == (len(entities), 4)
        assert masks.any(dim=0).all()
        for mask, (left, top, right, bottom) in zip(masks, boxes.tolist(), strict=True):
            assert mask.sum() == mask[top:bottom, left:right].sum()
            if mask.any():
                assert mask[top:bottom, left].any() and mask[top:bottom, right - 1].any()


def test_words_point_at_objects_of_their_own_image(scenes):
    pointed = 0
    for caption in range(200):
        graph, image = scenes.world.graphs[caption], int(scenes.image_of_caption[caption])
        for token in range(len(graph.tokens)):
            for number in scenes.world.object_of_word(caption, token):
                assert number < len(scenes.world.objects(image))
                pointed += 1
        for entity in graph.objects:
            assert scenes.world.object_of_word(caption, entity.span.start)
    assert pointed > 400
    with pytest.raises(ItmlabError, match="no token 99"):
        scenes.world.object_of_word(0, 99)


def test_select_renumbers_everything(scenes):
    part = scenes.select([30, 4])
    assert part.world.scenes[0] == scenes.world.scenes[30]
    assert part.world.graphs[0] == scenes.world.graphs[150] and part.world.graphs[5] == scenes.world.graphs[20]
    assert torch.equal(part.world.masks(1), scenes.world.masks(4))
    assert part.world.object_of_word(5, 1) == scenes.world.object_of_word(20, 1)
    truth = scenes.world.truth()
    rows, columns = torch.tensor([30, 4]), torch.tensor([*range(150, 155), *range(20, 25)])
    assert torch.equal(part.world.truth(), truth[rows][:, columns])
    assert torch.equal(scenes.world.truth(rows, columns), truth[rows][:, columns])
    scenes.world.truth().zero_()  # its own copy
    assert torch.equal(scenes.world.truth(), truth)


def test_the_share_that_is_not_annotated_is_reported(scenes):
    measured, labels = scenes.world.unannotated(), scenes.world.truth()
    annotated = int((labels[scenes.image_of_caption, torch.arange(600)] == 1).sum())
    extra = int((labels == 1).sum()) - annotated
    assert measured.per_caption == pytest.approx(extra / 600)
    assert measured.share == pytest.approx(extra / labels.numel())
    assert measured.true_share == pytest.approx(extra / (extra + annotated))
    assert measured.undecided == pytest.approx(int((labels == -1).sum()) / 600)
