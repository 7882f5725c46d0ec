"""What `python -m itmlab negatives` does: a generator by name, its model and options, named in every row."""

import json

import pytest
import torch

from itmlab.models import CrossEncoder, CrossEncoderConfig
from itmlab.scenes import load
from itmlab.synthesis.files import read_negatives
from itmlab.text.tokens import train_wordpiece
from itmlab.train.mining import write_negatives
from tests.refusals import refused


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return load(images=3, cache=tmp_path_factory.mktemp("scenes"))


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    tokenizer = train_wordpiece(data.captions, 150)
    torch.manual_seed(0)
    sizes = {"hidden": 24, "layers": 1, "heads": 3, "intermediate": 40, "region_dimension": 16, "positions": 80}
    pictures = {"visual": "patches", "image_size": 32, "patch_size": 8}
    path = tmp_path_factory.mktemp("tower")
    CrossEncoder(CrossEncoderConfig(vocabulary_size=len(tokenizer), **sizes, **pictures), tokenizer).save(path)
    return path


def written(data, path, *generator, **options):
    """The negatives of each caption in a file that is written, and how its first row says that they were made."""
    file = write_negatives(data, path, *generator, **options)
    return read_negatives(file.path).of(data), json.loads(file.path.read_text().splitlines()[0])["made_by"]


def test_tags_refills_and_scores_with_a_model(tmp_path, data, folder):
    options = {"model": folder, "options": {"maskings": 2, "samples": 3}, "truth": False}
    rows, made_by = written(data, tmp_path / "x.jsonl", "tags", **options)
    assert "generator=tags, maskings=2, samples=3, temperature=1.0, keep=31" in made_by and "weights=" in made_by
    assert sum(map(len, rows)) > 20 and all(negative.score is not None for row in rows for negative in row)


def test_swaps_are_made_by_rule_and_wrong_options_are_refused(tmp_path, data):
    rows, made_by = written(data, tmp_path / "x.jsonl", options={"number": 2})
    assert made_by == "generator=vse_c, number=2, seed=0" and 0 < max(map(len, rows)) <= 2
    refused("no generator", write_negatives, data, tmp_path / "y.jsonl", "other_colours")
    refused("vse_c: .*did you mean number", write_negatives, data, tmp_path / "y.jsonl", options={"numbers": 2})
