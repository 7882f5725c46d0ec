"""The commands on a small folder of pictures, and their errors."""

import json
import os
import subprocess
import sys

import datasets
import numpy as np
import pytest
from PIL import Image
from safetensors import safe_open
from typer.testing import CliRunner

import itmlab
from itmlab.cli import app, main
from itmlab.data import load
from itmlab.data.captionset import CaptionSet
from itmlab.errors import ItmlabError
from itmlab.synthesis import read_negatives
from itmlab.train import train
from itmlab.train.recipes import Recipe

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
    """A small run on these pictures."""
    run = tmp_path_factory.mktemp("runs") / "mine"
    sets = ["data.epochs=2", "data.batch_size=8", "data.warm_up_epochs=1", "memory.length=16", "model.image_layers=1"]
    words = [word for setting in sets for word in ("--set", setting)]
    result = command("train", run, "--recipe", "fne", *words, "--data", "folder", "--root", folder)
    assert result.exit_code == 0, result.output
    assert "RSum" in result.stdout
    return run


def command(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_train_evaluate_and_search(folder, trained) -> None:
    data = ("--data", "folder", "--root", folder)
    scores = json.loads(command("evaluate", trained, "-k", 1, "-k", 4, *data).stdout)
    assert set(scores) >= {"i2t", "t2i", "rsum"} and set(scores["i2t"]) == {"1", "4"}
    semantic = command("evaluate", trained, "--relevance", "cider", "--split", "all", *data).stdout
    assert 0 <= json.loads(semantic)["semantic"]["NCS"]["t2i"]["1"] <= 100
    assert "has no world" in str(command("evaluate", trained, "-k", 1, "--truth", *data).exception)
    scenes = json.loads(command("evaluate", trained, "--option", "images=40", "--split", "all", "--truth").stdout)
    assert 0 < scenes["truth"]["t2i"]["map_at_r"] <= 100
    pictures = command("search", trained, "a red picture", "-k", 3, *data).stdout
    assert pictures.count(".png") == 3 and pictures.endswith("4 pictures of the split test (all: --split all)\n")
    captions = command("search", trained, folder / "images" / "3.png", "--picture", "--split", "all", *data).stdout
    assert captions.count("picture") + captions.count("it is") >= 5
    few = str(command("evaluate", trained, *data).exception)  # the usual cut-offs, for four pictures
    assert "choose k from 1 to 4" in few


def test_embed_writes_unit_features_with_their_ids(folder, trained, tmp_path) -> None:
    out, words = tmp_path / "features.safetensors", ("--data", "folder", "--root", folder)
    assert "4 images and 8 captions" in command("embed", trained, out, *words).stdout
    with safe_open(out, "pt") as file:
        images, ids = file.get_tensor("images"), json.loads(file.metadata()["itmlab_features"])
    assert len(ids["images"]) == len(images) == 4 and len(ids["captions"]) == 8
    assert images.norm(dim=1).sub(1).abs().max() < 1e-5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train x --recipe fnee", "fne"),
        ("train sgr", "train runs/sgr --recipe sgr"),
        ("train x --set data.epoch=3", "epochs"),
        ("train x --set nonsense", "NAME=VALUE"),
        ("train x --data flickr30k", "root"),
        ("evaluate nowhere", "no pretrained run 'nowhere'"),
        ("evaluate fne --relevance meteor", "spice"),
        ("search fne dog --data folder --root /nonexistent", "nonexistent"),
        ("parse", "--file"),
        ("parse --file nowhere.txt", "nowhere.txt"),
        ("negatives --out x.jsonl --generator tags --model tagz", "tags"),
    ],
)
def test_what_cannot_be_done_is_one_error_with_its_remedy(words, message, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    error = command(*words.split()).exception
    assert isinstance(error, ItmlabError) and message in str(error) and not list(tmp_path.iterdir())


def test_the_doctor_names_what_is_there():
    report = command("doctor")
    assert report.exit_code == 0 and "torch" in report.output and "device" in report.output


def test_parse_prints_tuples(tmp_path) -> None:
    printed = command("parse", "A man rides a brown horse", "🙂").stdout
    assert "(horse, brown), (man, ride, horse)" in printed and "no object" in printed
    captions = tmp_path / "captions.txt"
    captions.write_text("two dogs \x1b[31m\u202e\n\na cat on a sofa\n", encoding="utf-8")
    assert all(line.isprintable() for line in command("parse", "--file", captions).stdout.splitlines())


def test_negatives_are_written_and_read_back(tmp_path) -> None:
    data = load("scenes", images=12)
    for generator, settings in {"vse_c": ["number=3"], "tags": ["maskings=2", "samples=3"]}.items():
        out = tmp_path / f"{generator}.jsonl"
        sets = [word for setting in settings for word in ("--set", setting)]
        words = ("--option", "images=12", "--generator", generator, *sets, "--out", out)
        result = command("negatives", *words)
        assert result.exit_code == 0, result.output
        rows = read_negatives(out).of(data)
        assert any(rows)
        assert all(
            negative.sentence != caption for caption, row in zip(data.captions, rows, strict=True) for negative in row
        )
        images = {image for image, row in zip(data.image_of_caption.tolist(), rows, strict=True) if row}
        assert images <= {*data.splits["train"].tolist()}, "no test caption by default: issue 44, entry 13"


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        ("embed RUN", "safetensors"),
        ("mine RUN --split all --set number=2 --out", "jsonl"),
        ("negatives --option images=12 --set number=1 --out", "jsonl"),
    ],
)
def test_only_own_files_are_overwritten_unless_forced(folder, trained, tmp_path, words, ending) -> None:
    out, names = tmp_path / f"out.{ending}", {"RUN": trained, "PICTURE": folder / "images" / "0.png"}
    words = [*(names.get(word, word) for word in words.split()), out]
    words += ["--data", "folder", "--root", folder] if words[0] in ("embed", "mine") else []
    assert [command(*words).exit_code for _ in range(2)] == [0, 0]
    ours, foreign = out.read_bytes(), (folder / "images" / "0.png").read_bytes()
    out.write_bytes(foreign)
    error = command(*words).exception
    assert isinstance(error, ItmlabError) and "not written by itmlab" in str(error) and out.read_bytes() == foreign
    assert command(*words, "--force").exit_code == 0 and out.read_bytes() == ours


@pytest.mark.parametrize(
    "words",
    [
        "embed fne file/x.safetensors --option images=20 --split all",
        "parse --file .",
        "train file/run --data folder --root FOLDER",
    ],
)
def test_what_the_system_refuses_is_one_line_and_status_2(folder, tmp_path, monkeypatch, capsys, words) -> None:
    (tmp_path / "file").write_text("mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["itmlab", *words.replace("FOLDER", str(folder)).split()])
    with pytest.raises(SystemExit) as stopped:
        main()
    printed = capsys.readouterr().err
    assert stopped.value.code == 2 and printed.startswith("error: ") and printed.count("\n") == 1
    assert (tmp_path / "file").read_text() == "mine"


PRINTING = r"""
import os, sys, typer, warnings
from itmlab.cli import ItmlabError, run_commands, show
app = typer.Typer(pretty_exceptions_enable=False)
@app.command()
def lines(fail: bool = False, debug: bool = False):
    os.environ.update({"ITMLAB_DEBUG": "1"} if debug else {})
    [show("\u72ac \x1b[31m") for _ in range(5000)]
    if fail:
        warnings.warn("two\nlines")
        raise ItmlabError("failed")
run_commands(app)
"""


@pytest.mark.parametrize(
    ("output", "code", "words"),
    [
        ("| cat", 0, ""),
        ("| head -1", 1, ""),
        ("--fail", 2, r"warning: two\nlines" + "\nerror: failed\n"),
        ("--fail --debug", 1, r"warning: two\nlines" + "\nTraceback"),
        ("> /dev/full", 2, "error: No space left"),
        (">&-", 2, "error: standard output is closed"),
        ("2>&- | cat", 0, ""),
        ("2>&- > /dev/full", 2, ""),
    ],
)
def test_output_in_any_encoding_full_or_closed_has_an_exit_code_and_no_traceback(tmp_path, output, code, words) -> None:
    (tmp_path / "lines.py").write_text(PRINTING, encoding="utf-8")
    line = f"set -o pipefail; '{sys.executable}' '{tmp_path}/lines.py' {output}"
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True)
    assert done.returncode == code and done.stderr.startswith(words) and bool(done.stderr) == bool(words)
    assert "Traceback" not in done.stderr or "--debug" in output
    assert set(done.stdout.splitlines()) <= {r"\u72ac \x1b[31m"}


PARTS = ("name", "image_ids", "captions", "caption_ids", "image_of_caption", "splits")


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


def test_photographs_from_any_source_are_read_by_frozen_encoders(photographs, tmp_path, monkeypatch) -> None:
    from itmlab.cli import suited
    from itmlab.models import photographs as module

    data, run = ("--data", "folder", "--root", photographs), tmp_path / "run"
    few = ("--set", "data.epochs=1", "--set", "data.validation=0", "--set", "data.warm_up_epochs=0")
    trained = command("train", run, "--recipe", "info_nce", *few, *data)
    assert trained.exit_code == 0 and "photographs: on=photos" in trained.stdout
    pictures = load("folder", photographs)
    fresh = [itmlab.recipe("fne", start="scratch")]
    assert suited(["fne"], {}, "scenes", pictures) == [itmlab.recipe("fne")]
    assert suited(["fne"], {"on": "regions"}, "folder", pictures) == [itmlab.recipe("fne", on="regions")]
    assert suited(["fne"], {"start": "scratch"}, "folder", pictures) == fresh
    (tmp_path / "images").symlink_to(photographs / "images")
    rows = [{"filename": name, "sentences": [{"raw": "a dog"}]} for name in pictures.image_ids]
    (tmp_path / "dataset_coco.json").write_text(json.dumps({"images": rows}))
    cells = {"image": [str(photographs / "images" / name) for name in pictures.image_ids], "caption": pictures.captions}
    table = datasets.Dataset.from_dict(cells).cast_column("image", datasets.Image())
    in_memory = CaptionSet(**{name: getattr(pictures, name) for name in PARTS}, images=list(pictures.images))
    karpathy = load("coco", tmp_path, images=photographs / "images")
    for name, data in {"coco": karpathy, "hub": load("hub", dataset=table), "mine": in_memory}.items():
        assert suited(["fne"], {}, name, data) == [itmlab.recipe("fne", on="photos")]
    monkeypatch.setattr(module, "find_spec", lambda name: None)  # without the extra
    assert suited(["fne"], {}, "folder", pictures) == fresh


def test_one_command_compares_methods_on_a_folder_with_intervals(photographs, tmp_path) -> None:
    words = ("--seeds", 1, "--set", "data.epochs=1", "--set", "data.warm_up_epochs=0")
    words += ("--data", "folder", "--root", photographs, "--out", tmp_path / "runs")
    table = command("compare", "--recipe", "info_nce", "--recipe", "fne", *words)
    assert table.exit_code == 0, table.output
    trained = [Recipe.load(path) for path in (tmp_path / "runs").rglob("recipe.json")]
    assert {recipe.name for recipe in trained} == {"info_nce", "fne"}
    assert {recipe.data.epochs for recipe in trained} == {1} and "95 % interval" in table.stdout


def test_a_run_is_evaluated_on_the_kind_of_regions_it_was_trained_on(tmp_path, monkeypatch) -> None:
    from itmlab.cli import load_data

    monkeypatch.setenv("ITMLAB_CACHE", str(tmp_path / "cache"))
    recipe = itmlab.recipe("vsepp").replace(data__epochs=1, data__warm_up_epochs=0, data__validation=0)
    data = load("scenes", images=24, regions="pixels")
    run = train(recipe, data, tmp_path / "run", progress=False, max_steps=1)
    assert load_data("scenes", None, ["images=24"], read_by=run).regions.kind == "pixels"
    asked = load_data("scenes", None, ["images=24", "regions=detector"], read_by=run)
    assert asked.regions.kind == "detector"
