"""The commands on a small folder of pictures, and what is said when they cannot do what is asked."""

import errno
import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors import safe_open
from typer.testing import CliRunner

from itmlab import recipes, training_commands
from itmlab.cli import app, main
from itmlab.data import load
from itmlab.errors import ItmlabError
from itmlab.recipes.recipe import Recipe
from itmlab.runs.checkpoint import shipped_names
from itmlab.synthesis import read_negatives
from itmlab.text import SceneGraph
from itmlab.training import train
from tests.refusals import room_for

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
    last = result.stdout.splitlines()[-1]
    assert last.startswith(f"{run}: recall at 1: image to text ") and "{" not in last and ", RSum " in last
    assert last.endswith(f" — next: python -m itmlab evaluate {run} --data folder --root {folder}")
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
    assert found.endswith("\nsearched among the 4 pictures of the split test (all: --split all)\n")
    found = command("search", trained, folder / "images" / "3.png", "--picture", "--split", "all", *data).stdout
    assert found.count("picture") + found.count("it is") >= 5
    assert found.endswith("\nsearched among all 48 captions\n")
    few = str(command("evaluate", trained, *data).exception)  # of four pictures, at the usual cut-offs
    assert few.endswith("choose k from 1 to 4: -k 1 -k 4, or rank more candidates: --split all") and "ks" not in few
    few = str(command("evaluate", trained, "-k", 25, "--split", "all", *data).exception)
    assert few.endswith("of 24 candidates — choose k from 1 to 24: -k 1 -k 5 -k 10 -k 24")


def test_yardstick_prints_a_table_by_kind_of_what_is_told(folder, trained, tmp_path) -> None:
    said = {"caption": "a red picture", "negative_caption": "a big green picture"}
    rows = [{"filename": f"{number}.png", **said} for number in (0, 4, 99)]
    (tmp_path / "add_att.json").write_text(json.dumps(dict(enumerate(rows))))
    given = ("yardstick", "sugarcrepe", trained, "--root", tmp_path, "--images", folder / "images")
    captions = tmp_path / "captions.txt"
    captions.write_text("a picture of a red thing\na blue picture")
    shown = command(*given, "--text", captions, "--out", tmp_path / "table.json").stdout.splitlines()
    assert shown[0].split()[:4] == ["sugarcrepe", "items", "chance", "right"] and "text only (captions)" in shown[0]
    assert shown[1].split()[:3] == ["add_att", "2", "50.0"] and "left out: 1 items without an available picture" in shown[-1]
    written = json.loads((tmp_path / "table.json").read_text())
    assert written["rows"]["all"]["controls"]["shorter"]["percent"] == 100 and written["rows"]["all"]["items"] == 2
    (tmp_path / "mine.json").write_text("mine")
    assert "did not write this file" in str(command(*given, "--out", tmp_path / "mine.json").exception)
    assert "--root" in str(command("yardstick", "sugarcrepe").exception)
    scenes = command("yardstick", "scenes", "--option", "images=48", "--text", captions).stdout
    assert "right" not in scenes and scenes.count("\n") >= 7


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
        (("evaluate", "nowhere"), "no pretrained run 'nowhere' — there are fne"),
        (("evaluate", "runs/notthere"), "there is no folder runs/notthere — name the folder of a run, or one that"),
        (("train", "x", "--recipe", "fne", "--epochs", "3"), "train has no option --epochs, epochs is a field of the"),
        (("train", "x", "--recipe=tags", "--steps=5"), "recipe — change it with --set data.steps=5"),
        (("train", "x", "--batch-size", "8"), "--set data.batch_size=8"),
        (("train", "x", "--learning-rate", "1e-4"), "--set optimiser.learning_rate=1e-4"),
        (("train", "x", "--margin", "0.3", "--seed", "2"), "--set loss.margin=0.3"),
        (("train", "x", "--seed", "2"), "--set seed=2"),
        (("train", "x", "--recipe", "tags", "--margin"), "--set tags.margin=VALUE"),
        (("train", "x", "--prior", "0.1"), "--set sampler.prior=0.1"),
        (("compare", "--recipe", "fne", "--recipe", "tags", "--margin=1"), "loss.margin=1 or --set tags.margin=1"),
        (("reproduce", "fne.table_3", "--epochs", "1"), "reproduce has no option --epochs"),
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


@pytest.mark.parametrize(
    "words",
    [
        ("train", "x", "--nonsense", "1"),
        ("train", "x", "--recipe", "fnee", "--epochs", "1"),
        ("compare", "--seed"),
        ("train", "--options"),
    ],
)
def test_an_unknown_option_that_is_no_field_is_refused_as_ever(words) -> None:
    result = command(*words)
    assert result.exit_code == 2 and f"No such option: {words[-2] if len(words) > 2 else words[-1]}" in result.output


def test_a_folder_too_small_to_compare_on_is_told_how_to_be_shared_out(folder, tmp_path) -> None:
    asked = ("compare", "--recipe", "fne", "--seeds", 1, "--no-photos", "--out", tmp_path / "runs", "--data", "folder")
    told = str(command(*asked, "--root", folder).exception)
    assert "split 'test': recall at k=5 of 4 candidates — compare on a split of 10 images or more: of 25" in told
    assert "--option 'proportions=[0.5, 0.1, 0.4]' makes one" in told and not (tmp_path / "runs").exists()


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
    assert found.negatives and "generator=vse_c, number=3" in out.read_text()
    data = load("scenes", images=12, size=32)
    for caption, made in zip(data.captions, found.of(data), strict=True):
        assert len(made) <= 3 and all(negative.sentence != caption for negative in made)


def test_mined_negatives_never_describe_the_picture(folder, trained, tmp_path) -> None:
    data, out = ("--data", "folder", "--root", folder, "--split", "all"), tmp_path / "mined.jsonl"
    result = command("mine", trained, "--out", out, "--set", "number=2", *data)
    assert result.exit_code == 0 and "left out: its own" in result.stdout, result.output
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 96  # two for each of 48 captions
    for row in rows:
        colour = row["caption"].split()[1 if row["caption"].startswith("a ") else 2]
        assert colour not in row["negative"] and "generator=mine" in row["made_by"]


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        (("parse", "a dog", "--out"), "jsonl"),
        (("embed", "RUN"), "safetensors"),
        (("attend", "RUN", "PICTURE", "a red picture"), "json"),
        (("attend", "RUN", "PICTURE", "a red picture"), "html"),
        (("negatives", "--set", "number=1", "--no-resume", "--out"), "jsonl"),
        (("negatives", "--set", "number=1", "--no-resume", "--out"), "tsv"),
        (("negatives", "--set", "number=1", "--no-resume", "--out"), "parquet"),
    ],
)
def test_a_command_overwrites_its_own_files_and_others_only_when_forced(
    folder, trained, tmp_path, words, ending
) -> None:
    out, names = tmp_path / f"out.{ending}", {"RUN": trained, "PICTURE": folder / "images" / "0.png"}
    data = ("--data", "folder", "--root", folder) if words[0] in ("embed", "negatives") else ()
    words = [names.get(word, word) for word in words]
    for _ in range(2):  # the second time over its own
        assert command(*words, out, *data).exit_code == 0
    own = out.read_bytes()
    for there in (b'{"image": "0.png", "captions": ["itmlab"]}\n', (folder / "images" / "0.png").read_bytes()):
        out.write_bytes(there)
        error = command(*words, out, *data).exception
        assert isinstance(error, ItmlabError) and f"{out}: itmlab did not write this file" in str(error)
        assert out.read_bytes() == there
    assert command(*words, out, *data, "--force").exit_code == 0
    assert out.read_bytes() == own


def test_attend_draws_over_its_own_png(folder, trained, tmp_path, chrome) -> None:
    words = ("attend", trained, folder / "images" / "0.png", "a red picture", tmp_path / "map.png")
    assert [command(*words).exit_code for _ in range(2)] == [0, 0]
    (tmp_path / "map.png").write_bytes((folder / "images" / "0.png").read_bytes())
    assert "did not write" in str(command(*words).exception)


def test_ids_beside_features_are_not_written_over_anything_else(folder, trained, tmp_path) -> None:
    (tmp_path / "a.ids.json").write_text('{"mine": 1}')
    error = command("embed", trained, tmp_path / "a.safetensors", "--data", "folder", "--root", folder).exception
    assert "a.ids.json: itmlab did not write this file" in str(error)
    assert [path.name for path in tmp_path.iterdir()] == ["a.ids.json"]


def test_kept_scores_are_gone_on_with_and_a_photograph_is_not_scored_over(folder, trained, tmp_path) -> None:
    scores, few = tmp_path / "scores", ("-k", 1, "--option", "images=20", "--split", "test")
    first = command("evaluate", "tags", "--scores", scores, *few)
    kept = scores.read_bytes()
    assert command("evaluate", "tags", "--scores", scores, *few).stdout == first.stdout
    scores.write_bytes(b"\xff\xd8 a photograph")
    assert "itmlab did not write this file" in str(command("evaluate", "tags", "--scores", scores, *few).exception)
    assert scores.read_bytes() == b"\xff\xd8 a photograph"
    assert command("evaluate", "tags", "--scores", scores, "--force", *few).stdout == first.stdout
    assert scores.read_bytes() == kept
    given = ("--scores", scores, "--force", "-k", 1, "--data", "folder", "--root", folder)
    assert "only a cross-encoder's scores are kept" in str(command("evaluate", trained, *given).exception)
    assert scores.read_bytes() == kept


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("parse", "a dog", "--out", "file/x.jsonl"), "file/x.jsonl: "),
        (("parse", "a dog", "--out", "."), ".: it is no file"),
        (("parse", "a dog", "--file", "."), ".: cannot be read"),
        (("export", "fne", "file"), "file"),
        (("train", "file", "--data", "folder", "--root", "FOLDER"), "file"),
        (("train", "file/run", "--data", "folder", "--root", "FOLDER"), "file"),
        (("negatives", "--out", "file/x.jsonl", "--data", "folder", "--root", "FOLDER"), "file/x.jsonl.part: "),
        (("figures",), "figures"),
        (("tour", "--profile", "nope"), "--profile: unknown profile 'nope' — use quick or full"),
        (("tour", "--only", "00", "--out", "mine"), "mine/00_start_here.ipynb: itmlab did not write this file"),
    ],
)
def test_what_the_system_refuses_is_one_line_and_status_2(folder, tmp_path, monkeypatch, capsys, words, said) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "00_start_here.ipynb").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ITMLAB_FIGURES", "file/figures")
    monkeypatch.setattr("sys.argv", ["itmlab", *(str(folder) if word == "FOLDER" else word for word in words)])
    with pytest.raises(SystemExit) as stopped:
        main()
    told = capsys.readouterr().err
    assert stopped.value.code == 2 and told.startswith("error: ") and told.count("\n") == 1 and said in told
    assert (tmp_path / "file").read_text() == "mine"


def test_an_error_of_the_system_that_nobody_foresaw_is_one_line_too(monkeypatch, capsys) -> None:
    def fails(*given, **options):
        raise OSError(errno.ENOSPC, "No space left on device", "somewhere")

    monkeypatch.setattr("itmlab.text.parse", fails)
    monkeypatch.setattr("sys.argv", ["itmlab", "parse", "a dog"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith("error: somewhere: No space left on device — make room on that disk")


def test_training_and_negatives_for_which_there_is_no_room_name_what_is_kept(folder, tmp_path) -> None:
    data, sets = ("--data", "folder", "--root", folder), ("--set", "data.batch_size=8", "--set", "data.epochs=1")
    with room_for(20_000):
        error = command("train", tmp_path / "run", *sets, *data).exception
    assert isinstance(error, ItmlabError) and str(tmp_path / "run") in str(error)
    assert "File too large — make room on that disk and do the same again" in str(error)
    assert str(error).endswith(f"what is finished is kept in {tmp_path / 'run'}")
    out, small = tmp_path / "negatives.jsonl", ("--option", "images=12", "--option", "size=32", "--set", "number=3")
    with warnings.catch_warnings(action="ignore"), room_for(5_000):  # nor is there room in the cache of scene graphs
        error = command("negatives", "--out", out, *small).exception
    assert f"{out}.part: File too large" in str(error) and not out.exists()
    assert str(error).endswith(f"; what is finished is kept in {out}.part")
    assert command("negatives", "--out", out, *small).exit_code == 0
    assert command("train", tmp_path / "run", *sets, *data).exit_code == 0


def test_a_warning_is_one_line_without_its_source(folder, tmp_path) -> None:
    shutil.copytree(folder, tmp_path / "data")
    (tmp_path / "data" / "images" / "unnamed.png").write_bytes((folder / "images" / "0.png").read_bytes())
    data = ("--data", "folder", "--root", str(tmp_path / "data"), "--skip-faults", "--split", "all")
    words = [
        sys.executable,
        "-m",
        "itmlab",
        "negatives",
        "--out",
        str(tmp_path / "x.jsonl"),
        "--set",
        "number=1",
        *data,
    ]
    (tmp_path / "cache").write_text("a file in its place")
    told = subprocess.run(
        words, capture_output=True, text=True, env=os.environ | {"ITMLAB_CACHE": str(tmp_path / "cache")}
    )
    assert told.returncode == 0, told.stderr
    assert "Warning" not in told.stderr and "warnings.warn" not in told.stderr  # the kind, the line of source
    for words in ("nothing is kept here (", "scene graphs are not kept", "skipped 1 fault, 24 images are left; first"):
        assert [line.count(words) for line in told.stderr.splitlines() if words in line] == [1]


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
    out = tmp_path / "negatives.jsonl"
    small = ("--option", "images=12", "--split", "test", "--set", "maskings=2", "--set", "samples=3")
    result = command(
        "negatives", "--data", "scenes", *small, "--generator", "tags", "--fluency", "scenes", "--out", out
    )
    assert result.exit_code == 0, result.output
    found = read_negatives(out)
    assert "implied=True" in out.read_text() and "model=tags" in out.read_text()
    made = [one for row in found.negatives.values() for one in row]
    assert made and all(one.score is not None and one.fluency > 1 for one in made)


def test_pretraining_uniter_ends_with_what_it_sees(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(recipes.STAGES["tiny"], "uniter_pretraining", (2e-3, 2, 8, 1))
    asked = ("pretrain", "uniter", tmp_path / "run", "--images", 40)
    first = command(*asked)
    assert first.exit_code == 0, first.output
    told = first.stdout.partition("on 2 pictures held out\n")[2].splitlines()
    kinds = ("all", "object", "attribute", "relation", "other")
    wanted = [*(f"masked words, {kind}" for kind in kinds), "captions told from sentences with a replaced phrase"]
    assert [line.strip().partition(": right picture ")[0] for line in told] == wanted
    assert all(", wrong picture " in line for line in told)
    assert json.loads((tmp_path / "run" / "data.json").read_text())["splits"]["train"] == 34  # of 40
    assert Recipe.load(tmp_path / "run" / "recipe.json").name == "uniter_pretraining"
    before = (tmp_path / "run" / "model.safetensors").read_bytes()
    assert command(*asked).stdout == first.stdout  # nothing is left to learn
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == before


def test_a_recipe_where_a_directory_is_asked_for_is_told_and_nothing_trained(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    refused = command("train", "sgr", "--dry-run")
    assert "train runs/sgr --recipe sgr" in str(refused.exception) and not (tmp_path / "sgr").exists()


def test_an_unknown_part_to_pretrain_is_one_line(tmp_path) -> None:
    found = command("pretrain", "oscar", tmp_path / "run")
    assert isinstance(found.exception, ItmlabError) and "detector, towers, vit, uniter or all" in str(found.exception)


def test_all_that_ships_is_learnt_in_an_order_in_which_nothing_begins_with_what_is_not_yet_there(tmp_path, monkeypatch):
    """Each stage is its own process; here the processes are played: they leave a file where a run would lie."""
    told: list[list[str]] = []

    def played(words, env):
        given, folder = words[3:], Path(next(word for word in reversed(words) if str(tmp_path) in word))
        told.append(given)
        assert env["ITMLAB_WEIGHTS"] == str(tmp_path / "shipped")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "detector.safetensors").write_bytes(b"weights")
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr(training_commands.subprocess, "run", played)
    assert command("pretrain", "all", tmp_path).exit_code == 0
    learnt = [Path(given[2] if given[0] == "pretrain" else given[1]).name for given in told if given[0] != "export"]
    runs = [name for name in learnt if name in shipped_names()]
    assert learnt[0] == "detector" and sorted(runs) == shipped_names()
    for at, name in enumerate(runs):
        assert recipes.get(name).start in (None, *runs[:at]), name
    assert sorted(path.name for path in (tmp_path / "shipped" / "pretrained").iterdir()) == shipped_names()
    count = len(told)
    assert command("pretrain", "all", tmp_path).exit_code == 0 and len(told) == count  # it is all there


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """Forty pictures of many colours with a caption each, twelve of them to test on."""
    root = tmp_path_factory.mktemp("photographs")
    (root / "images").mkdir()
    rows = ["image,caption,split"]
    for number in range(40):
        pixels = np.random.default_rng(number).integers(0, 255, (48, 64, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((128, 96), Image.Resampling.BICUBIC).save(root / "images" / f"{number}.jpg")
        split = "train" if number < 24 else "val" if number < 28 else "test"
        rows.append(f"{number}.jpg,a dog runs on the {list(COLOURS)[number % 4]} grass number {number},{split}")
    (root / "captions.csv").write_text("\n".join(rows))
    return root


def test_a_folder_of_photographs_is_read_by_frozen_encoders_and_a_line_says_so(photographs, tmp_path) -> None:
    data, run = ("--data", "folder", "--root", photographs), tmp_path / "run"
    few = ("--set", "data.epochs=1", "--set", "data.validation=0", "--set", "data.warm_up_epochs=0")
    said = command("train", run, "--recipe", "info_nce", *few, *data)
    assert said.exit_code == 0 and "photographs: info_nce+photos" in said.stdout
    assert json.loads((run / "recipe.json").read_text())["name"] == "info_nce+photos"
    found = command("search", run, photographs / "images" / "30.jpg", "--picture", "-k", 2, *data)
    assert len(found.stdout.strip().splitlines()) == 4  # what was asked, two captions, among how many
    assert command("attend", run, photographs / "images" / "30.jpg", "a dog", tmp_path / "map.json").exit_code == 0


def test_one_command_compares_methods_on_a_folder_with_intervals(photographs, tmp_path) -> None:
    data = ("--data", "folder", "--root", photographs, "--out", tmp_path / "runs")
    changed = ("--set", "optimiser.learning_rate=0.002")
    table = command("compare", "--recipe", "info_nce", "--recipe", "fne", "--seeds", 1, *changed, *data)
    assert table.exit_code == 0, table.output
    trained = [Recipe.load(path) for path in (tmp_path / "runs").rglob("recipe.json")]
    assert [recipe.optimiser.learning_rate for recipe in trained] == [0.002, 0.002]
    assert "info_nce+photos, fne+photos" in table.stdout and "95 % interval" in table.stdout and "…" in table.stdout
    folded = command("compare", "--recipe", "info_nce", "--recipe", "fne", "--seeds", 1, *changed, *data, "--folds", 2)
    assert "k=10 of 6 candidates — compare on a split of 20 images" in str(folded.exception)


def test_without_the_extra_a_line_says_what_it_would_bring(photographs, folder, monkeypatch, capsys) -> None:
    from itmlab.models import photographs as module
    from itmlab.options import suited

    flat, real = (load("folder", root) for root in (folder, photographs))
    assert suited(["fne", "tags"], "scenes", flat) == ["fne", "tags"] and not capsys.readouterr().out
    for data, pictures, photos in (("folder", flat, True), ("folder", real, False), ("coco", real, True)):
        assert suited(["fne", "tags"], data, pictures, photos) == ["fne+scratch", "tags"]
        assert "scenes has not drawn: fne+scratch" in capsys.readouterr().out
    assert suited(["fne"], "folder", real) == ["fne+photos"]
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert suited(["fne"], "folder", real) == ["fne+scratch"]
    assert "pip install 'itmlab[photos]'" in capsys.readouterr().out


@pytest.mark.parametrize("regions, drawn", [("pixels", {"regions": "pixels"}), (True, {})])
def test_a_run_is_evaluated_on_the_regions_it_was_trained_on(regions, drawn, tmp_path, monkeypatch) -> None:
    from itmlab.options import load_data

    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "cache"))
    recipe = recipes.get("vsepp").replace(data__epochs=1, data__warm_up_epochs=0, data__validation=0)
    data = load("scenes", images=24, regions=regions)
    run = train(recipe, data, tmp_path / "run", progress=False, max_steps=1)
    assert run.drawn == drawn
    read = load_data("scenes", None, ["images=24"], False, read_by=run)
    assert (read.fingerprint, read.regions.kind) == (data.fingerprint, data.regions.kind)
    asked = load_data("scenes", None, ["images=24", "regions=detector"], False, read_by=run)
    assert asked.regions.kind == "detector"
