"""What `python -m itmlab negatives` does: a generator by name, its model and options, named in every row."""

import json
import sys
from pathlib import Path

import pytest
import torch

import itmlab
from itmlab.data import load as load_data
from itmlab.errors import ItmlabError
from itmlab.metrics.perplexity import CausalModel
from itmlab.models import CrossEncoder, CrossEncoderConfig
from itmlab.scenes import load
from itmlab.synthesis.files import read_negatives
from itmlab.text.tokens import train_wordpiece
from itmlab.train import checkpoint
from itmlab.train.negative_files import write_negatives
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


def test_tags_by_name(tmp_path, data, folder):
    done = write_negatives(
        data, tmp_path / "x.jsonl", "tags", model=folder, options={"maskings": 2, "samples": 3}, truth=False
    )
    found = read_negatives(done.path)
    made_by = json.loads(done.path.read_text().splitlines()[0])["made_by"]
    assert len(found) > 20 and "generator=tags, maskings=2, samples=3, temperature=1.0, keep=31" in made_by
    assert "weights=" in made_by
    assert all(one.score is not None for row in found.of(data) for one in row)


def test_an_own_generator_by_hand_and_by_where_it_is(tmp_path) -> None:
    data = load(images=12, cache=tmp_path / "scenes")
    done = write_negatives(data, tmp_path / "by_hand.jsonl", OtherColour())
    found = read_negatives(done.path)
    assert "generator=tests.train.components:OtherColour" in done.path.read_text()
    rows = found.of(data)
    coloured = [any(colour in caption for colour in COLOURS) for caption in data.captions]
    assert sum(map(bool, rows)) > 5 and all(bool(row) <= has for row, has in zip(rows, coloured, strict=True))
    assert all(one.truth is not True for row in rows for one in row)
    with pytest.raises(ItmlabError, match="no generator"):
        write_negatives(data, tmp_path / "x.jsonl", "other_colours")


def test_what_words_imply_is_filtered_in_a_world_unless_it_is_switched_off(tmp_path, data, folder):
    options = {"maskings": 6, "samples": 30, "keep": None}
    with_it, without = (
        write_negatives(data, tmp_path / f"{given}.jsonl", "tags", model=folder, options=options | given, truth=False)
        for given in ({}, {"implied": False})
    )
    assert 0 < len(with_it) < len(without)
    outside = data.select(range(3))
    outside.world = None
    done = write_negatives(outside, tmp_path / "plain.jsonl", "tags", model=folder, options={"maskings": 1})
    assert "implied=False" in done.path.read_text()
    with pytest.raises(ItmlabError, match="needs a world"):
        write_negatives(outside, tmp_path / "x.jsonl", "tags", model=folder, options={"implied": True})


@pytest.mark.skipif(
    not Path("/usr/share/wordnet/data.noun").is_file(), reason="no WordNet: apt-get install wordnet-base"
)
def test_rules_of_captions_without_a_world_are_wordnets(tmp_path, data):
    said = {"a.jpg": ["A man plays a guitar.", "Music is played."], "b.jpg": ["Two dogs run.", "A field."]}
    file = tmp_path / "few.jsonl"
    file.write_text("".join(json.dumps({"image": name, "captions": some}) + "\n" for name, some in said.items()))
    few = load_data("captions", file)
    done = write_negatives(few, tmp_path / "x.jsonl")
    made = [one.sentence for row in read_negatives(done.path).of(few) for one in row]
    assert made == ["A woman plays a guitar.", "Three dogs run.", "Four dogs run.", "Five dogs run."]


def test_rules_by_name_scored_by_a_tower(tmp_path, data, folder):
    done = write_negatives(data, tmp_path / "x.jsonl", model=folder, options={"number": 2})
    found = read_negatives(done.path)
    assert f"number=2, seed=0, model={folder.name}" in done.path.read_text()
    assert all(one.score is not None and one.fluency is None for row in found.of(data) for one in row)


def test_fluency_is_asked_of_a_language_model(tmp_path, data, monkeypatch):
    uniform = CausalModel(
        encode=lambda sentences: [[1] * len(sentence.split()) for sentence in sentences],
        logits=lambda ids, mask: torch.zeros(*ids.shape, 50),
        beginning=0,
    )
    monkeypatch.setattr(
        sys.modules["itmlab.metrics.perplexity"], "causal_model", lambda name, *_: {"uniform": uniform}.get(name, name)
    )
    done = write_negatives(data, tmp_path / "x.jsonl", options={"number": 2}, fluency="uniform", truth=False)
    found = read_negatives(done.path)
    assert {round(one.fluency, 3) for row in found.of(data) for one in row} == {50}


def test_tags_without_a_model_takes_the_shipped_one(tmp_path, data, folder, monkeypatch):
    monkeypatch.setattr(checkpoint, "HOME", tmp_path / "none")
    with pytest.raises(ItmlabError, match="no shipped run"):
        write_negatives(data, tmp_path / "x.jsonl", "tags")
    monkeypatch.setattr(checkpoint, "HOME", tmp_path / "pretrained")
    CrossEncoder.load(folder).save(tmp_path / "pretrained" / "tags")
    itmlab.recipe("tags").save(tmp_path / "pretrained" / "tags" / "recipe.json")
    done = write_negatives(data, tmp_path / "x.jsonl", "tags", options={"maskings": 1, "samples": 2}, truth=False)
    assert "model=tags" in done.path.read_text()
