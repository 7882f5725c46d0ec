"""Whatever a run's directory has become, what is asked of it is answered or refused in one line naming the file."""

import json
import random
import shutil
import warnings

import pytest
import torch
from safetensors.torch import load, save

from itmlab.errors import ItmlabError
from itmlab.runs.run import Run
from itmlab.training.loop import train
from tests.training.towers import tower
from tests.training.world import micro

RECIPES = {"fne": micro(), "tags_dc": tower()}
DEEP: list = []
for _ in range(400):
    DEEP = [DEEP]
ODD = [None, True, -1, 1, -1.5, 10**30, 10**400, float("inf"), "", "x", "\u2028\n", "../..", "a\0b", "1" * 5000]
ODD += [[], [[]], {}, {"": {}}, {"a": 1}, DEEP]
NAMES = ["new", "a\nb", "", "x\x1b[31m"]
TYPES = [torch.int64, torch.bool, torch.complex64, torch.float8_e4m3fn, torch.bfloat16]


def flipped(draw, raw):
    """One bit is another."""
    raw = bytearray(raw)
    raw[draw.randrange(len(raw))] ^= 1 << draw.randrange(8)
    return bytes(raw)


def other_json(draw, raw):
    """JSON cut, flipped, nested or long beyond measure, or with values of other types."""
    broken = [lambda: raw[: draw.randrange(len(raw))], lambda: flipped(draw, raw), lambda: b"[" * 10**5]
    broken += [lambda: b'{"a":' * 50_000, lambda: raw.replace(b"1", b"1" * 5000, 1)]
    if draw.random() < 0.5:
        return draw.choice(broken)()
    value = json.loads(raw)
    places, inner = [], [value]
    while inner:
        one = inner.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        places += [(one, key) for key in keys]
        inner += [one[key] for key in keys]
    holder, key = draw.choice(places)
    if draw.random() < 0.2:
        del holder[key]
    elif draw.random() < 0.2 and isinstance(holder, dict):
        holder[draw.choice(NAMES)] = draw.choice(ODD)
    else:
        holder[key] = draw.choice(ODD)
    return json.dumps(value).encode()


def other_tensors(draw, raw):
    """safetensors cut, flipped, or with tensors of other names, shapes, types and values."""
    if draw.random() < 0.4:
        return draw.choice([raw[: draw.randrange(len(raw))], flipped(draw, raw), draw.randbytes(100)])
    tensors = load(raw)
    name = draw.choice(sorted(tensors))
    value = tensors.pop(name)
    others = [lambda: {}, lambda: {"odd\nname": value}, lambda: {name: value.flatten()}]
    others += [lambda: {name: torch.zeros(())}, lambda: {name: torch.zeros(0)}, lambda: {name: value[None]}]
    others += [lambda: {name: value.to(draw.choice(TYPES))}, lambda: {name: value.float() * torch.nan}]
    changed = tensors | draw.choice(others)()
    return save({name: one.contiguous() for name, one in changed.items()})


def damage(draw, path):
    """Something is done to one file of a run."""
    raw = path.read_bytes()
    if draw.random() < 0.08:
        path.unlink()
        if draw.random() < 0.5:
            path.mkdir()
    elif path.suffix == ".safetensors":
        path.write_bytes(other_tensors(draw, raw))
    elif path.suffix == ".jsonl":
        lines = raw.splitlines()
        row = draw.randrange(len(lines))
        lines[row] = other_json(draw, lines[row])
        path.write_bytes(b"\n".join(lines) + b"\n")
    else:
        path.write_bytes(other_json(draw, raw))
    if path.is_file() and draw.random() < 0.7:  # a file of before there were checksums, which hide all else
        path.write_bytes(path.read_bytes().replace(b'"sha256"', b'"sha255"'))


@pytest.fixture(scope="module")
def runs(data, tmp_path_factory):
    """A run of each recipe left in its middle, and one that is finished."""
    home = tmp_path_factory.mktemp("runs")
    for name, recipe in RECIPES.items():
        train(recipe, data, home / name / "6", max_steps=5, progress=False)
        train(recipe, data, home / name / "None", progress=False)
    return home


def test_a_damaged_run_is_answered_or_refused_in_one_line(runs, data, tmp_path, request):
    draw, refusals = random.Random(0), 0
    count = 4000 if request.config.getoption("--long") else 40
    for case in range(count):
        name, steps = draw.choice(sorted(RECIPES)), draw.choice([6, None])
        directory = tmp_path / "run"
        shutil.copytree(runs / name / str(steps), directory)
        path = draw.choice(sorted(one for one in directory.rglob("*") if one.is_file() and one.stat().st_size))
        damage(draw, path)
        asked = {
            "open": lambda run=directory: [repr(Run(run)), Run(run).history, Run(run).epochs, Run(run).finished],
            "evaluate": lambda run=directory: Run(run).evaluate(data, split="val", ks=(1, 5)),
            "train": lambda run=directory, recipe=RECIPES[name], to=steps: train(
                recipe, data, run, max_steps=to, progress=False
            ),
        }
        for what, act in asked.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    act()
                except ItmlabError as error:
                    refusals += 1
                    said = str(error)
                    assert "\n" not in said and str(directory) in said and len(said) < 1500, (case, what, path, said)
                except Exception as error:
                    raise AssertionError(f"case {case}: {what} of a run with another {path.name}") from error
        shutil.rmtree(directory)
    assert refusals > count / 2
    print(f"{count} run directories, {refusals} refusals, no fault")
