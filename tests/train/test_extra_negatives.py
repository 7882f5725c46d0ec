"""Negatives from a file are candidates of the image anchors of any dual encoder's recipe."""

import pytest
import torch

from itmlab.synthesis import FeatureNegatives, Negative, generate_negatives, write_negatives
from itmlab.synthesis.files import read_negatives
from itmlab.train.loop import train
from itmlab.train.settings import ExtraNegatives
from itmlab.train.step_dual import ExtraCaptions
from tests.refusals import refused
from tests.train.test_resume import same_bytes
from tests.train.world import COLOURS, micro


@pytest.fixture(scope="module")
def file(data, tmp_path_factory):
    """Each caption with other colours: three negatives, but one of every fourth caption and none of every fifth."""

    def recoloured(captions, graphs, image_captions, *, generator):
        rows = []
        for number, caption in enumerate(captions):
            colour = next(colour for colour in COLOURS if colour in caption)
            row = [Negative(caption.replace(colour, other)) for other in COLOURS if other != colour]
            rows.append(row[: 0 if number % 5 == 0 else 1 if number % 4 == 0 else 3])
        return rows

    training = data.split("train")
    path = tmp_path_factory.mktemp("file") / "negatives.jsonl"
    file = write_negatives(path, training, generate_negatives(training, recoloured))
    return file.path


def extras(seed=5, count=3):
    generator = torch.Generator().manual_seed(seed)
    values = torch.nn.functional.normalize(torch.randn(6, count, 8, generator=generator), dim=-1).requires_grad_()
    allowed = torch.ones(6, count, dtype=torch.bool)
    allowed[2, 1:] = allowed[4] = False
    return FeatureNegatives(values, allowed)


def test_different_negatives_are_drawn_and_gaps_marked(data, file):
    training = data.split("train")
    source, generator = ExtraCaptions(ExtraNegatives(str(file), number=2), training), torch.Generator()
    written = [{negative.sentence for negative in row} for row in read_negatives(file).of(training)]
    drawn = [set() for _ in range(20)]
    for _ in range(30):
        rows, allowed = source.drawn(torch.arange(20), generator=generator)
        for row, (sentences, mask) in enumerate(zip(rows, allowed.tolist(), strict=True)):
            negatives = sentences[: sum(mask)]
            assert mask == sorted(mask, reverse=True) and len(negatives) == min(2, len(written[row]))
            assert sentences[len(negatives) :] == [training.captions[row]] * (2 - len(negatives))
            assert len(set(negatives)) == len(negatives)
            drawn[row] |= set(negatives)
    assert drawn == written[:20], "each gets its turn"


def test_they_join_in_after_the_warm_up_and_a_run_resumes(data, file, tmp_path):
    recipe = micro("fne", extra_negatives={"path": str(file), "number": 2})
    once = train(recipe, data, tmp_path / "once", progress=False)
    for steps in (3, 7):
        train(recipe, data, tmp_path / "twice", max_steps=steps, progress=False)
    assert same_bytes(train(recipe, data, tmp_path / "twice", progress=False), once)
    plain = train(micro("fne"), data, tmp_path / "plain", progress=False)
    assert once.history[0]["loss"] == plain.history[0]["loss"]
    assert once.history[-1]["loss"] != plain.history[-1]["loss"]


def test_a_file_that_is_missing_or_of_other_captions_is_refused(data, file, tmp_path):
    missing = micro("triplet", extra_negatives={"path": str(tmp_path / "none.jsonl")})
    refused("no such file", train, missing, data, tmp_path / "a", progress=False)
    refused("no negative belongs to a caption", ExtraCaptions, ExtraNegatives(str(file)), data.split("test"))
