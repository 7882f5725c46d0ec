"""Hostile JSON: recipes, run folders, saved models' configurations and tokenisers, figures, and a parser's folder."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import plotly.graph_objects as go
import torch
from PIL import Image

from itmlab import recipes
from itmlab.models import CrossEncoder
from itmlab.models.config import LateInteractionConfig, OscarDualEncoderConfig
from itmlab.recipes.recipe import Recipe
from itmlab.runs.checkpoint import shipped_directory
from itmlab.runs.run import Run
from itmlab.studies.kit import saving
from itmlab.text.parsing import SHIPPED_DIRECTORY, load_pipeline
from tests.hostile import damage
from tests.hostile.damage import Use

RUNS = ("triplet", "fne", "sam", "uniter", "tags_dc")
PARTS = (
    "recipe.json",
    "data.json",
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "resume/state.json",
    "history.jsonl",
)
SAID = ["a dog on a red sofa", "犬"]
PICTURE = Image.new("RGB", (40, 30), "teal")


def begin(home: Path) -> SimpleNamespace:
    """Recipes and configurations as JSON, and a figure."""
    named = [recipes.get(name, size) for name in recipes.METHODS for size in ("tiny", "base")]
    named += [recipes.fne.replace(extra_negatives={"path": "negatives.jsonl", "number": 3})]
    configs = [(type(one.model), one.model.to_dict()) for one in named if hasattr(one.model, "to_dict")]
    assert {LateInteractionConfig, OscarDualEncoderConfig} <= {kind for kind, _ in configs}
    figure = json.loads(saving.figure_json(go.Figure(go.Bar(x=["a", "b"], y=[1, 2], name="bars")), {"seed": 0}))
    figure["figure"]["layout"] = {"title": {"text": "bars"}, "annotations": [{"text": "here", "x": 0, "y": 1}]}
    return SimpleNamespace(home=home, recipes=[one.to_json() for one in named], configs=configs, figure=figure)


def attempt(rng: Random, folder: Path, shared: SimpleNamespace) -> Use:
    """One document of one of the kinds."""
    kinds: list[Callable[..., Use]] = [recipe, variation, configuration, run, run, run, figure, pipeline]
    return rng.choices(kinds, (30, 5, 20, 10, 10, 10, 10, 1))[0](rng, folder, shared)


def mutated(rng: Random, plain: Any) -> bytes:
    """The value changed, as JSON."""
    return damage.as_json(damage.changed(rng, plain) if rng.random() < 0.9 else plain)


def recipe(rng: Random, folder: Path, shared: SimpleNamespace) -> Use:
    """A recipe's file: accepted, it is saved and read back the same."""
    damage.write(rng, folder / "recipe.json", mutated(rng, rng.choice(shared.recipes)))
    return use_of(Recipe.load(folder / "recipe.json"), folder)


def variation(rng: Random, folder: Path, shared: SimpleNamespace) -> Use:
    """A recipe with fields changed by name, as `--set` does."""
    start = rng.choice(shared.recipes)
    names = [f"{one}.{two}" for one, inner in start.items() if isinstance(inner, dict) for two in inner] + [*start]
    changes = {rng.choice((rng.choice(names), damage.text(rng, 2))): plain(rng) for _ in range(rng.randrange(1, 3))}
    return use_of(Recipe.from_json(start).replace(**changes), folder)


def plain(rng: Random) -> Any:
    """A value that Python's JSON holds."""
    return json.loads(json.dumps(damage.value(rng)))


def use_of(read: Recipe, folder: Path) -> Use:
    def use() -> None:
        assert Recipe.from_json(read.to_json()) == read
        read.save(folder / "again.json")
        assert Recipe.load(folder / "again.json") == read == read.replace(seed=read.seed)

    return use


def configuration(rng: Random, folder: Path, shared: SimpleNamespace) -> Use:
    """A model's configuration."""
    kind, values = rng.choice(shared.configs)
    changed = damage.changed(rng, values)
    from itmlab.models.base import CONFIG_FILE
    from itmlab.storage import read_json

    damage.write(rng, folder / CONFIG_FILE, damage.as_json(changed))
    config = kind.from_dict(read_json(folder / CONFIG_FILE))

    def use() -> None:
        assert kind.from_dict(json.loads(json.dumps(config.to_dict()))) == config

    return use


def run(rng: Random, folder: Path, shared: SimpleNamespace) -> Use:
    """A run's folder with one of its files changed: accepted, it is described, answers, and is exported."""
    home, there = shipped_directory(rng.choice(RUNS)), folder / "run"
    there.mkdir()
    for path in home.rglob("*"):
        target = there / path.relative_to(home)
        target.mkdir() if path.is_dir() else target.symlink_to(path)
    path = there / rng.choice(PARTS)
    content = path.read_bytes()
    path.unlink()
    if rng.random() < 0.6:
        lines = path.suffix == ".jsonl"
        read = [json.loads(line) for line in content.splitlines()] if lines else json.loads(content)
        content = damage.as_json(damage.changed(rng, read), lines=lines)
    damage.write(rng, path, content)
    opened = Run(there)
    said = repr(opened), opened.recipe, opened.history, opened.epochs, opened.finished
    model = opened.model

    def use() -> None:
        assert said[0].isprintable() and isinstance(said[4], bool)
        with torch.no_grad():
            tokens = model.prepare_captions(SAID)
            if not isinstance(model, CrossEncoder):
                assert model.encode_captions(tokens).pooled.isfinite().all()
                assert model.encode_images(model.prepare_images([PICTURE])).pooled.isfinite().all()
        again = opened.export(folder / "again")
        assert again.recipe == opened.recipe and again.finished

    return use


def figure(rng: Random, folder: Path, shared: SimpleNamespace) -> Use:
    """A saved figure: accepted, it has a page and stands in the index."""
    damage.write(rng, folder / "one.json", mutated(rng, shared.figure))
    index = saving.write_pages(folder)

    def use() -> None:
        if not (folder / "one.json").exists():  # the odd file is none
            assert "0 figures" in index.read_text(encoding="utf-8")
            return
        for page in (index, folder / "one.html"):
            assert 'http-equiv="Content-Security-Policy"' in page.read_text(encoding="utf-8")
        assert './one.html"' in index.read_text(encoding="utf-8")

    return use


def pipeline(rng: Random, folder: Path, shared: SimpleNamespace) -> Use:
    """A spaCy pipeline's folder with a changed configuration; nothing in it is run."""
    there = folder / "pipeline"
    shutil.copytree(SHIPPED_DIRECTORY, there, copy_function=lambda source, target: Path(target).symlink_to(source))
    name = rng.choice(("config.cfg", "config.cfg", "meta.json", "tokenizer"))
    content = (there / name).read_bytes()
    (there / name).unlink()
    hostile = (
        '@misc = "os.system"',
        'factory = "nothing"',
        '[nlp]\nlang = "../x"',
        '[components.x]\nfactory = "subprocess"',
        '"@readers" = "exec.v1"',
    )
    if name == "config.cfg" and rng.random() < 0.6:
        lines = content.decode().split("\n")
        lines.insert(rng.randrange(len(lines)), rng.choice(hostile))
        content = "\n".join(lines).encode()
    damage.write(rng, there / name, content)
    load_pipeline(str(there))
    return lambda: None
