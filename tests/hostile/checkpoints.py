"""Hostile weights: safetensors of saved models, public checkpoints of UNITER and SCAN as torch files, resume states."""

import argparse
import io
import json
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import torch
from PIL import Image
from safetensors.torch import load, save
from torch import Tensor

from itmlab.models import CrossEncoder, DualEncoder, load_public
from itmlab.models.fragment import load_matcher
from itmlab.models.weights.uniter import WORDS, body_names
from itmlab.runs.checkpoint import Checkpoints, shipped_directory
from itmlab.text.tokens import train_wordpiece
from tests.hostile import damage
from tests.hostile.damage import Use

SAID = ["a dog on a red sofa", "two men"]
PICTURE = Image.new("RGB", (40, 30), "teal")


class Villain:
    """Unpickled, it would run a command."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch /tmp/hostile-was-here",)


def begin(home: Path) -> SimpleNamespace:
    """A dual encoder, a small cross-encoder under UNITER's names, SCAN's weights, a resume state."""
    dual, cross = shipped_directory("triplet"), shipped_directory("uniter")
    tokenizer = train_wordpiece([*SAID] * 3, 60)
    model = CrossEncoder.load(cross)
    ours = model.state_dict()
    names = body_names("uniter", model.config.layers, True)
    uniter = {theirs: ours[mine] for mine, theirs in names.items() if mine in ours}
    uniter |= {
        f"cls.predictions.{theirs}": ours[f"heads.mlm.{mine}"]
        for mine, theirs in WORDS.items()
        if f"heads.mlm.{mine}" in ours
    }
    uniter["itm_output.weight"], uniter["itm_output.bias"] = torch.randn(2, model.config.hidden), torch.randn(2)
    generator = torch.Generator().manual_seed(0)
    width, words = 16, len(tokenizer)
    layers = {
        f"rnn.{kind}_{part}_l0{way}": (48, 8 if kind == "weight" and part == "ih" else 16)
        for kind in ("weight", "bias")
        for part in ("ih", "hh")
        for way in ("", "_reverse")
    }
    scan = [
        {"fc.weight": torch.randn(width, 12, generator=generator), "fc.bias": torch.zeros(width)},
        {"embed.weight": torch.randn(words, 8, generator=generator)}
        | {
            name: torch.randn(shape[: 1 + name.startswith("rnn.weight")], generator=generator)
            for name, shape in layers.items()
        },
    ]
    scan[1] = {name: value if "bias" not in name else torch.zeros(48) for name, value in scan[1].items()}
    resume = Checkpoints(home / "resume")
    resume.save(
        {"model": {"w": torch.ones(3, 2)}, "random": {"cpu": torch.arange(9)}}, {"step": 3, "epoch": 0, "batch": 3}
    )
    return SimpleNamespace(
        dual=dual,
        tokenizer=tokenizer,
        words=model.tokenizer,
        uniter=uniter,
        scan=scan,
        resume=home / "resume",
        weights=load((dual / "model.safetensors").read_bytes()),
    )


def attempt(rng: Random, folder: Path, shared: SimpleNamespace) -> Use:
    """One checkpoint of one of the kinds."""
    kinds: list[Callable[..., Use]] = [saved, uniter, scan, resume]
    return rng.choices(kinds, (4, 4, 3, 2))[0](rng, folder, shared)


def tensor(rng: Random) -> Any:
    """A tensor of an odd shape, type or storage, or no tensor at all."""
    shape = [rng.choice((0, 1, 2, 3, 16, 96, 100)) for _ in range(rng.randrange(4))]
    kinds: list[Callable[[], Any]] = [
        lambda: torch.zeros(shape),
        lambda: torch.full(shape, float(rng.choice(("nan", "inf", "-inf", "1e30")))),
        lambda: torch.zeros(
            shape,
            dtype=rng.choice((torch.int64, torch.bool, torch.float64, torch.bfloat16, torch.complex64, torch.uint8)),
        ),
        lambda: torch.ones(1).expand(10**6, 10**6),  # a terabyte that takes four bytes
        lambda: torch.eye(3).to_sparse(),
        lambda: torch.quantize_per_tensor(torch.ones(2, 2), 0.1, 0, torch.qint8),
        lambda: torch.zeros(8)[::2],
        lambda: torch.nn.Parameter(torch.zeros(2)),
        lambda: torch.zeros(shape, device="meta"),
        lambda: damage.value(rng),
        lambda: Villain(),
    ]
    return rng.choice(kinds)()


def changed(rng: Random, weights: dict[str, Tensor]) -> dict[str, Any]:
    """The weights with some removed, renamed, reshaped or replaced."""
    weights = dict(weights)
    for _ in range(rng.randrange(1, 3)):
        key, draw = rng.choice([*weights]), rng.randrange(7)
        value = weights.pop(key)
        plain = isinstance(value, Tensor) and value.layout == torch.strided and value.numel() < 10**6
        if draw == 1:
            weights[
                rng.choice((f"module.{key}", key.replace("0", "999"), key.replace("0", "9999"), damage.text(rng, 3)))
            ] = value
        elif draw == 2:
            weights[key] = tensor(rng)
        elif draw == 3 and plain:
            weights[key] = rng.choice((value.flatten(), value.flatten()[:1], value.double(), value[None], value.half()))
        elif draw == 4:
            weights |= {key: value, damage.text(rng, 3): tensor(rng)}
        elif draw == 5 and plain and value.is_floating_point() and value.numel():
            weights[key] = value.clone().flatten().index_fill(0, torch.tensor([0]), float("nan")).reshape(value.shape)
        elif draw == 6:
            weights[key] = value
    return weights


def as_safetensors(rng: Random, weights: dict[str, Any]) -> bytes:
    """The tensors that safetensors can hold, sometimes with a changed header."""
    fit = {}
    for name, value in weights.items():
        if (
            isinstance(value, Tensor)
            and value.layout == torch.strided
            and not value.is_quantized
            and value.device.type == "cpu"
            and value.numel() < 10**6
        ):
            fit[name.encode(errors="replace").decode()] = value.detach().clone().contiguous()
    content = save(fit)
    if rng.random() < 0.4:
        length = int.from_bytes(content[:8], "little")
        header = damage.as_json(damage.changed(rng, json.loads(content[8 : 8 + length])))
        said = rng.choice((len(header), len(header), len(header), 0, 2**40, 2**63))
        content = struct.pack("<Q", said) + header + content[8 + length :]
    return content


def as_torch(rng: Random, content: Any) -> bytes:
    """What torch would have written, in either of its two layouts, or a bare pickle."""
    buffer = io.BytesIO()
    try:
        torch.save(content, buffer, _use_new_zipfile_serialization=rng.random() < 0.8)
    except Exception:  # meta tensors and the like cannot be written
        return pickle.dumps(Villain())
    if rng.random() < 0.03:
        return pickle.dumps(rng.choice((Villain(), {"model": Villain()}, [1])), protocol=rng.choice((0, 2, 4)))
    return buffer.getvalue()


def saved(rng: Random, folder: Path, shared: SimpleNamespace) -> Use:
    """A saved model's weights: accepted, it encodes to finite numbers."""
    for path in shared.dual.iterdir():
        if path.is_file() and path.name != "model.safetensors":
            (folder / path.name).symlink_to(path)
    weights = changed(rng, shared.weights) if rng.random() < 0.7 else shared.weights
    damage.write(rng, folder / "model.safetensors", as_safetensors(rng, weights))
    model = DualEncoder.load(folder)

    def use() -> None:
        with torch.no_grad():
            assert model.encode_captions(model.prepare_captions(SAID)).pooled.isfinite().all()
            assert model.encode_images(model.prepare_images([PICTURE])).pooled.isfinite().all()

    return use


def uniter(rng: Random, folder: Path, shared: SimpleNamespace) -> Use:
    """A public UNITER checkpoint: accepted, the model can be saved and loaded."""
    weights: Any = changed(rng, shared.uniter) if rng.random() < 0.8 else shared.uniter
    if rng.random() < 0.2:
        weights = rng.choice(
            (
                {"state_dict": weights},
                {"model": weights, "epoch": 3},
                [weights],
                tensor(rng),
                {"model": {"model": weights}},
            )
        )
    plain = isinstance(weights, dict) and rng.random() < 0.4
    path = folder / ("model.safetensors" if plain else rng.choice(("model.bin", "pytorch_model.bin", "model.pt")))
    damage.write(rng, path, as_safetensors(rng, weights) if plain else as_torch(rng, weights))
    if rng.random() < 0.1:
        config = {"num_attention_heads": 4, "hidden_act": "gelu", "hidden_dropout_prob": 0.1}
        damage.write(rng, folder / "config.json", damage.as_json(damage.changed(rng, config)))
        path = folder
    model, report = load_public(path, shared.words)

    def use() -> None:
        assert str(report) and all(value.isfinite().all() for value in model.state_dict().values())
        model.save(folder / "again")
        CrossEncoder.load(folder / "again")

    return use


def scan(rng: Random, folder: Path, shared: SimpleNamespace) -> Use:
    """A public SCAN checkpoint with its training's options."""
    states = [changed(rng, state) if rng.random() < 0.5 else state for state in shared.scan]
    options = {"cross_attn": "t2i", "raw_feature_norm": "clipped_l2norm", "agg_func": "Mean", "lambda_softmax": 9.0}
    if rng.random() < 0.4:
        options = damage.changed(rng, options)
    content: Any = {
        "model": states,
        "opt": argparse.Namespace(**options)
        if isinstance(options, dict) and all(isinstance(key, str) for key in options)
        else options,
        "epoch": 1,
    }
    if rng.random() < 0.1:
        content[rng.choice([*content])] = damage.value(rng)
    damage.write(rng, folder / "model.pth.tar", as_torch(rng, content))
    model = load_matcher(folder / "model.pth.tar", shared.tokenizer)

    def use() -> None:
        model.save(folder / "again")
        with torch.no_grad():
            assert model.encode_captions(model.prepare_captions(SAID)).local.isfinite().all()

    return use


def resume(rng: Random, folder: Path, shared: SimpleNamespace) -> Use:
    """What resuming takes up, with one of its files changed: accepted, it is what was saved, bit for bit."""
    there = folder / "resume"
    for path in [one for one in shared.resume.rglob("*") if one.is_file()]:
        target = there / path.relative_to(shared.resume)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    path = rng.choice(sorted(one for one in there.rglob("*") if one.is_file()))
    content = path.read_bytes()
    if path.suffix == ".json" and rng.random() < 0.7:
        content = damage.as_json(damage.changed(rng, json.loads(content)))
    damage.write(rng, path, damage.damaged(rng, content) if rng.random() < 0.5 else content)
    found = Checkpoints(there).load()
    whole = Checkpoints(shared.resume).load()

    def use() -> None:
        if found is None or not found[0]:
            return  # nothing to take up, or the run says that it was finished
        for part, tensors in found[0].items():
            assert all(value.equal(whole[0][part][name]) for name, value in tensors.items()), "other weights, unnoticed"

    return use
