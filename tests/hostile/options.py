"""Hostile command lines: every command that reads, with arguments of every kind, run in this process."""

import contextlib
import io
import json
import shutil
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace
from unittest import mock

from itmlab import cli, recipes
from tests.data.picture_files import photograph, write_lines
from tests.hostile import damage
from tests.hostile.damage import Refused, Use

COUNT = 6  # pictures
DATA = ("--data", "folder", "--root", "data", "--split", "all")
WORDS = [
    *("", "-1", "0", "1", "5", "1e9", "9" * 5000, "nan", "null", "true", "[1]", "{}", "a=b", "=", "data.epochs=0"),
    *("seed=1", "all", "test", "-", "--", "nope", ".", "..", "/", "/dev/null", "~", "data", "data/captions.jsonl"),
    *(
        "data/images/0.jpg",
        "run",
        "out/x.jsonl",
        "data/images/../captions.jsonl",
        "a\nb",
        "犬",
        "\udcff",
        "a" * 5000,
        "<b>x</b>",
    ),
    *("fne", "triplet", "tags", "%s", "http://127.0.0.1:9/x"),
]
FLAGS = [
    *("--data", "--root", "--option", "--skip-faults", "--split", "--recipe", "--size", "--preset", "--set", "-k"),
    *("--max-steps", "--folds", "--relevance", "--truth", "--scores", "--picture", "--out", "--parser", "--file"),
    *(
        "--generator",
        "--model",
        "--fluency",
        "--format",
        "--seed",
        "--no-resume",
        "--dtype",
        "--force",
        "--help",
        "--x",
    ),
]
SETTINGS = [
    *("data.epochs=1", "data.batch_size=2", "optimiser.learning_rate=1e-3", "seed=3", "loss.margin=0.1", "number=3"),
    *("sampler.prior=0.1", "keep=0", "data.epochs=-1", "data.batch_size=1e99", "model=null", "a.b.c.d=1", "=1"),
    *("number=-1", "temperature=NaN", "maskings=[]", "words=3"),
]


def begin(home: Path) -> SimpleNamespace:
    """A small folder of pictures and captions, and a run's folder."""
    (home / "data/images").mkdir(parents=True)
    for number in range(COUNT):
        photograph(number, (32, 32)).save(home / "data/images" / f"{number}.jpg")
    splits = ["train"] * 4 + ["val", "test"]
    rows = [
        {"image": f"{at}.jpg", "captions": [f"a dog {at} on a sofa", f"two cats {at}"], "split": splits[at]}
        for at in range(COUNT)
    ]
    write_lines(home / "data/captions.jsonl", rows)
    return SimpleNamespace(
        home=home,
        recipes=[*recipes.METHODS],
    )


def word(rng: Random) -> str:
    """An argument of any kind."""
    return rng.choice(WORDS) if rng.random() < 0.8 else damage.text(rng, 4).replace("\0", "")


def line(rng: Random, shared: SimpleNamespace) -> list[str]:
    """A command that would work, with some arguments changed, removed, doubled or added."""
    run, k = rng.choice(("triplet", "triplet", "run", "nope")), ["-k", "1"]
    names = {
        "negatives": ("out/n.jsonl", "out/n.tsv", "out/n.txt", "data/captions.jsonl"),
        "attend": ("out/map.json", "out/map.html", "map.txt", "data/images/1.jpg"),
        "embed": ("out/features.safetensors", "out", "data/captions.jsonl"),
        "export": ("out/run", "run", "data", "data/captions.jsonl"),
        "train": ("out/new", "run", "data"),
    }
    out = {command: rng.choice(places) for command, places in names.items()}
    caption, recipe = damage.text(rng).replace("\0", ""), rng.choice((*shared.recipes, "nope", "data/captions.jsonl"))
    steps = ["--max-steps", rng.choice(("1", "0", "-5")), "--set", rng.choice(SETTINGS), "--set", "data.batch_size=2"]
    commands = {
        "parse": ["parse", caption, *(["--out", "out/graphs.jsonl"] if rng.random() < 0.3 else [])],
        "evaluate": ["evaluate", run, *k, *DATA],
        "search": ["search", run, "a dog", *k, *DATA],
        "picture": ["search", run, "data/images/0.jpg", "--picture", *k, *DATA],
        "embed": ["embed", run, out["embed"], *DATA],
        "attend": ["attend", run, "data/images/1.jpg", "a dog", out["attend"]],
        "export": ["export", run, out["export"], "--dtype", rng.choice(("float16", "float32", "int8"))],
        "negatives": ["negatives", "--out", out["negatives"], "--set", "number=2", *DATA],
        "train": ["train", out["train"], "--recipe", recipe, *steps, *DATA[:4]],
        "figures": ["figures"],
        "doctor": ["doctor"],
        "tour": ["tour", "--profile", rng.choice(("nope", "Quick", "")), "--only", "00"],
        "lab": ["lab-", "--help"],
    }
    weights = {
        "parse": 4,
        "evaluate": 4,
        "search": 4,
        "train": 2,
        "negatives": 3,
        "doctor": 0.2,
        "figures": 0.5,
        "tour": 0.5,
        "lab": 0.5,
    }
    given = commands[rng.choices([*commands], [weights.get(name, 2) for name in commands])[0]]
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        at, draw = rng.randrange(1, len(given) + 1), rng.randrange(4)
        if draw == 0:
            del given[at : at + 1]
        elif draw == 1:
            given[at:at] = [rng.choice(FLAGS), word(rng)]
        elif draw == 2:
            given[at:at] = rng.choice(([word(rng)], [rng.choice(FLAGS)], ["--set", rng.choice(SETTINGS)]))
        elif given[at - 1 : at] != ["--max-steps"]:
            given[at : at + 1] = [word(rng)]
    return given


def attempt(rng: Random, folder: Path, shared: SimpleNamespace) -> Use:
    """One command line: exit status 0, or 2 with one line that begins with "error:" (or typer's own on usage)."""
    shutil.copytree(shared.home / "data", folder / "data")
    given = line(rng, shared)
    if "--max-steps" not in given and given[0] == "train":
        given += ["--max-steps", "1"]
    if given[0] == "tour" and "--only" not in given:
        given += ["--only", "nope"]
    said, out, status = io.StringIO(), io.StringIO(), 0
    before = {path.name: path.read_bytes() for path in (folder / "data").rglob("*") if path.is_file()}
    with (
        contextlib.redirect_stderr(said),
        contextlib.redirect_stdout(out),
        mock.patch.object(sys, "stdin", io.StringIO("a dog\n")),
        mock.patch.object(sys, "argv", ["itmlab", *given]),
        mock.patch.dict("os.environ", {"ITMLAB_FIGURES": str(folder / "figures")}),
    ):
        try:
            cli.main()
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    lines = [one for one in said.getvalue().split("\n") if one.strip()]
    for name, content in before.items():
        there = next((folder / "data").rglob(name), None)
        assert "--force" in given or (there and there.read_bytes() == content), f"{name} was changed by {given}"
    if status == 2:
        refusals = [one for one in lines if one.startswith(("error: ", "Error: "))]
        assert len(refusals) == 1 and lines[-1] == refusals[0], f"{given}: {said.getvalue()[-600:]}"
        assert not any("Traceback" in one or "\x1b" in one for one in lines)
        raise Refused(refusals[0])
    assert status == 0, f"exit status {status} of {given}: {said.getvalue()[-300:]}"

    def use() -> None:
        assert "Traceback" not in said.getvalue()
        if given[0] == "evaluate" and "--help" not in given:
            json.loads(out.getvalue())

    return use
