"""What `python -m itmlab negatives` does: a generator by name, its model and options, named in every row."""

import json
import sys
from pathlib import Path

import pytest
import torch

import itmlab
from itmlab.metrics.perplexity import CausalModel
from itmlab.models import CrossEncoder, CrossEncoderConfig
from itmlab.scenes import load
from itmlab.synthesis.files import read_negatives
from itmlab.text.tokens import train_wordpiece
from itmlab.train import checkpoint
from itmlab.train.negative_files import write_negatives
from tests.data.picture_files import load_captions
from tests.refusals import refused
from tests.train.components import COLOURS, OtherColour


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return load(images=3, cache=tmp_path_factory.mktemp("scenes"))


@pytest.fixture(scope="module")
def folder(data, tmp_path_factory):
    tokenizer = train_wordpiece(data.captions, 150)
    torch.manual_seed(0)
    config = CrossEncoderConfig(form="uniter", visual="patches", vocabulary_size=len(tokenizer), hidden=24, layers=1,
                            heads=3, intermediate=40, region_dimension=16, positions=80, image_size=32, patch_size=8)  # fmt: skip  # noqa: E501
    path = tmp_path_factory.mktemp("tower")
    CrossEncoder(config, tokenizer).save(path)
    return path


def written(data, path, *generator, **options):
    """The negatives of each caption in a file that is written, and how its first row says that they were made."""
    file = write_negatives(data, path, *generator, **options)
    return read_negatives(file.path).of(data), json.loads(file.path.read_text().splitlines()[0])["made_by"]


def test_tags_by_name(tmp_path, data, folder, monkeypatch):
    options = {"options": {"maskings": 2, "samples": 3}, "truth": False}
    rows, made_by = written(data, tmp_path / "x.jsonl", "tags", model=folder, **options)
    assert "generator=tags, maskings=2, samples=3, temperature=1.0, keep=31" in made_by and "weights=" in made_by
    assert sum(map(len, rows)) > 20 and all(negative.score is not None for row in rows for negative in row)
    monkeypatch.setattr(checkpoint, "HOME", tmp_path / "pretrained")
    refused("no shipped run", write_negatives, data, tmp_path / "y.jsonl", "tags")
    itmlab.recipe("tags").save(tmp_path / "pretrained" / "tags" / "recipe.json")
    CrossEncoder.load(folder).save(tmp_path / "pretrained" / "tags")
    assert "model=tags" in written(data, tmp_path / "y.jsonl", "tags", **options)[1]


def test_a_custom_generator_is_passed_as_it_is(tmp_path) -> None:
    data = load(images=12, cache=tmp_path / "scenes")
    rows, made_by = written(data, tmp_path / "custom.jsonl", OtherColour())
    assert "generator=tests.train.components:OtherColour" in made_by
    coloured = [any(colour in caption for colour in COLOURS) for caption in data.captions]
    assert sum(map(bool, rows)) > 5 and all(bool(row) <= has for row, has in zip(rows, coloured, strict=True))
    assert all(negative.truth is not True for row in rows for negative in row)
    refused("no generator", write_negatives, data, tmp_path / "x.jsonl", "other_colours")
    refused("vse_c: .*did you mean number", write_negatives, data, tmp_path / "x.jsonl", options={"numbers": 2})


def test_words_that_others_imply_are_filtered_in_a_world_unless_it_is_switched_off(tmp_path, data, folder):
    options = {"maskings": 6, "samples": 30, "keep": None}
    filtered, unfiltered = (
        write_negatives(data, tmp_path / "x.jsonl", "tags", model=folder, options=options | more, truth=False)
        for more in ({}, {"implied": False})
    )
    assert 0 < len(filtered) < len(unfiltered)
    outside = data.select(range(3))
    outside.world = None
    options = {"model": folder, "options": {"maskings": 1}}
    assert "implied=False" in written(outside, tmp_path / "plain.jsonl", "tags", **options)[1]
    options = {"model": folder, "options": {"implied": True}}
    refused("needs a world", write_negatives, outside, tmp_path / "y.jsonl", "tags", **options)


@pytest.mark.skipif(
    not Path("/usr/share/wordnet/data.noun").is_file(), reason="no WordNet: apt-get install wordnet-base"
)
def test_rules_for_captions_without_a_world_come_from_wordnet(tmp_path):
    captions = {"a.jpg": ["A man plays a guitar.", "Music is played."], "b.jpg": ["Two dogs run.", "A field."]}
    file = tmp_path / "few.jsonl"
    file.write_text("".join(json.dumps({"image": name, "captions": some}) + "\n" for name, some in captions.items()))
    rows, _ = written(load_captions(file), tmp_path / "x.jsonl")
    sentences = [negative.sentence for row in rows for negative in row]
    assert sentences == ["A woman plays a guitar.", "Three dogs run.", "Four dogs run.", "Five dogs run."]


def test_rules_are_scored_by_a_model_and_a_language_model(tmp_path, data, folder, monkeypatch):
    uniform = CausalModel(
        encode=lambda sentences: [[1] * len(sentence.split()) for sentence in sentences],
        logits=lambda ids, mask: torch.zeros(*ids.shape, 50),
        beginning=0,
    )
    monkeypatch.setattr(
        sys.modules["itmlab.metrics.perplexity"], "causal_model", lambda name, *_: {"50": uniform}.get(name, name)
    )
    options = {"model": folder, "options": {"number": 2}}
    rows, made_by = written(data, tmp_path / "x.jsonl", **options)
    assert f"number=2, seed=0, model={folder.name}" in made_by
    assert all(negative.score is not None and negative.fluency is None for row in rows for negative in row)
    rows, _ = written(data, tmp_path / "x.jsonl", fluency="50", **options)
    assert {round(negative.fluency, 3) for row in rows for negative in row} == {50}
