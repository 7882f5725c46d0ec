"""The commands on a small folder of pictures, and what is said when they cannot do what is asked."""

import json
import subprocess
import sys

import pytest
from PIL import Image
from safetensors import safe_open
from typer.testing import CliRunner

from itmlab.cli import app
from itmlab.data import load
from itmlab.errors import ItmlabError
from itmlab.synthesis import read_negatives
from itmlab.text import SceneGraph

COLOURS = {"red": (200, 30, 30), "green": (30, 160, 60), "blue": (40, 60, 200), "yellow": (230, 210, 60)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twenty-four plain pictures with a caption or two each, with splits."""
    root = tmp_path_factory.mktemp("pictures")
    (root / "images").mkdir()
    rows = []
    for number in range(24):
        word, colour = list(COLOURS.items())[number % 4]
        Image.new("RGB", (32 + number, 40), colour).save(root / "images" / f"{number}.png")
        split = "train" if number < 16 else "val" if number < 20 else "test"
        rows.append({"image": f"{number}.png", "captions": [f"a {word} picture", f"it is {word}"], "split": split})
    (root / "captions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return root


@pytest.fixture(scope="module")
def trained(folder, tmp_path_factory):
    run = tmp_path_factory.mktemp("runs") / "mine"
    sets = ["data.epochs=2", "data.batch_size=8", "data.warm_up_epochs=1", "memory.length=16", "model.image_layers=1"]
    words = [word for one in sets for word in ("--set", one)]
    result = command("train", run, "--recipe", "fne", *words, "--data", "folder", "--root", folder)
    assert result.exit_code == 0, result.output
    return run


def command(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_train_evaluate_and_search(folder, trained) -> None:
    data = ("--data", "folder", "--root", folder)
    scores = json.loads(command("evaluate", trained, "-k", 1, "-k", 4, *data).stdout)
    assert set(scores) >= {"i2t", "t2i", "rsum"} and set(scores["i2t"]) == {"1", "4"}
    assert all(1 <= scores["rank"][side][name] <= 8 for side in ("i2t", "t2i") for name in ("median", "mean"))
    semantic = json.loads(command("evaluate", trained, "--relevance", "cider", "--split", "all", *data).stdout)[
        "semantic"
    ]
    assert semantic["relevance"] == "cider" and 0 <= semantic["NCS"]["t2i"]["1"] <= 100
    assert "has no world" in str(command("evaluate", trained, "-k", 1, "--truth", *data).exception)
    scenes = ("--option", "images=40", "--split", "all", "--truth")
    truth = json.loads(command("evaluate", trained, *scenes).stdout)["truth"]
    assert 0 < truth["t2i"]["map_at_r"] <= 100 and truth["oracle"]["truth"]["i2t"]["1"] > 0
    found = command("search", trained, "a red picture", "-k", 3, *data).stdout
    assert found.count(".png") == 3
    found = command("search", trained, folder / "images" / "3.png", "--picture", "--split", "all", *data).stdout
    assert found.count("picture") + found.count("it is") >= 5


def test_embed_writes_unit_features_with_their_ids(folder, trained, tmp_path) -> None:
    out = tmp_path / "features.safetensors"
    assert "4 images and 8 captions" in command("embed", trained, out, "--data", "folder", "--root", folder).stdout
    with safe_open(out, "pt") as file:
        images = file.get_tensor("images")
    ids = json.loads(out.with_suffix(".ids.json").read_text())
    assert len(ids["images"]) == len(images) == 4 and len(ids["captions"]) == 8
    assert images.norm(dim=1).sub(1).abs().max() < 1e-5


def test_export_leaves_a_smaller_run_that_scores_nearly_the_same(folder, trained, tmp_path) -> None:
    assert command("export", trained, tmp_path / "small").exit_code == 0
    scores = [
        json.loads(command("evaluate", run, "--data", "folder", "--root", folder, "--split", "all").stdout)["rsum"]
        for run in (trained, tmp_path / "small")
    ]
    assert scores[0] == pytest.approx(scores[1], abs=5)
    assert (tmp_path / "small/model.safetensors").stat().st_size < 0.6 * (trained / "model.safetensors").stat().st_size


@pytest.mark.parametrize("ending", ["html", "json", "png"])
def test_attend_draws_the_words_of_a_sentence(folder, trained, tmp_path, ending, request) -> None:
    if ending == "png":
        request.getfixturevalue("chrome")
    out = tmp_path / f"map.{ending}"
    result = command("attend", trained, folder / "images" / "0.png", "a <b>red</b> picture", out)
    assert result.exit_code == 0, result.output
    assert out.stat().st_size > 1000
    if ending == "html":
        assert "<b>red</b>" not in out.read_text()


def test_a_recipe_in_a_file_trains_like_a_named_one(folder, trained, tmp_path) -> None:
    result = command(
        "train", tmp_path / "again", "--recipe", trained / "recipe.json", "--data", "folder", "--root", folder
    )
    assert result.exit_code == 0, result.output
    assert (tmp_path / "again" / "history.jsonl").read_bytes() == (trained / "history.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train", "x", "--recipe", "fnee"), "fne"),
        (("train", "x", "--set", "data.epoch=3"), "epochs"),
        (("train", "x", "--set", "nonsense"), "NAME=VALUE"),
        (("train", "x", "--data", "flickr30k"), "root"),
        (("evaluate", "nowhere"), "fne"),
        (("evaluate", "fne", "--relevance", "meteor"), "spice"),
        (("search", "fne", "a dog", "--data", "folder", "--root", "/nonexistent"), "nonexistent"),
        (("tour", "--only", "99"), "00_start_here"),
        (("parse",), "--file"),
        (("negatives", "--out", "x.docx"), "jsonl"),
        (("negatives", "--out", "x.jsonl", "--generator", "tags", "--model", "tagz"), "tags"),
        (("parse", "--file", "nowhere.txt"), "nowhere.txt"),
        (("parse", "a dog", "--parser", "nothing_of_the_kind"), "nothing_of_the_kind"),
    ],
)
def test_what_cannot_be_done_is_one_error_with_its_remedy(words, message, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    error = command(*words).exception
    assert isinstance(error, ItmlabError)
    assert message in str(error)


def test_parse_prints_tuples_and_writes_whole_graphs(tmp_path) -> None:
    said = command("parse", "A man rides a brown horse", "🙂").stdout
    assert "(horse, brown), (man, ride, horse)" in said and "no object" in said
    captions = tmp_path / "captions.txt"
    captions.write_text("two dogs\n\na cat on a sofa\n", encoding="utf-8")
    out = tmp_path / "graphs.jsonl"
    assert "2 graphs" in command("parse", "--file", captions, "--out", out).stdout
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["caption"] for row in rows] == ["two dogs", "a cat on a sofa"]
    assert ("cat", "on", "sofa") in SceneGraph.from_dict(rows[1]["graph"]).tuples()


def test_negatives_are_written_by_rule_and_read_back(tmp_path) -> None:
    small = ("--option", "images=12", "--option", "size=32", "--split", "all")
    out = tmp_path / "negatives.jsonl"
    result = command("negatives", "--data", "scenes", *small, "--out", out, "--set", "number=3")
    assert result.exit_code == 0, result.output
    found = read_negatives(out)
    assert found.header["generator"] == "vse_c" and found.negatives
    data = load("scenes", images=12, size=32)
    for caption, made in zip(data.captions, found.of(data), strict=True):
        assert len(made) <= 3 and all(negative.sentence != caption for negative in made)


def test_an_error_is_one_line_and_debug_shows_where_it_arose() -> None:
    words = [sys.executable, "-m", "itmlab", "evaluate", "nowhere"]
    plain = subprocess.run(words, capture_output=True, text=True)
    assert plain.returncode == 2
    assert plain.stderr.startswith("error: ") and plain.stderr.count("\n") == 1
    told = subprocess.run([*words, "--debug"], capture_output=True, text=True)
    assert "Traceback" in told.stderr


def test_doctor_names_every_part_and_what_would_bring_it() -> None:
    result = command("doctor")
    assert result.exit_code == 0
    for part in ("Python", "torch", "device", "Chrome", "WordNet", "notebooks", "faiss-cpu", "cache"):
        assert part in result.stdout


def test_negatives_are_refilled_by_the_model_that_ships(tmp_path) -> None:
    out = tmp_path / "negatives.tsv"
    small = ("--option", "images=12", "--split", "test", "--set", "maskings=2", "--set", "samples=3")
    result = command(
        "negatives", "--data", "scenes", *small, "--generator", "tags", "--fluency", "scenes", "--out", out
    )
    assert result.exit_code == 0, result.output
    found = read_negatives(out)
    assert found.header["model"] == "tags" and found.header["options"]["implied"] is True
    made = [one for row in found.negatives.values() for one in row]
    assert made and all(one.score is not None and one.fluency > 1 for one in made)
