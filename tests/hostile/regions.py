"""Hostile region features: .npz archives an image, SCAN's .npy arrays, tags, vocabularies, and their captions."""

import io
import struct
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from itmlab.data import load
from tests.hostile import damage
from tests.hostile.damage import Use

COUNT, REGIONS, FEATURES = 3, 5, 8


def begin(home: Path) -> None:
    """Nothing is shared."""


def member(rng: Random, array: Any) -> bytes:
    """An array as .npy, sometimes with another header than its numbers have."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    content = buffer.getvalue()
    if rng.random() < 0.1:
        shape = rng.choice(
            (
                "()",
                "(0,)",
                "(5, 0)",
                f"({10**6}, {10**6})",
                "(5, 8, 8)",
                "(-5, -8)",
                "(5.0, 8)",
                f"(1{'0' * 400},)",
                "(" * 2000,
            )
        )
        kind = rng.choice(
            (
                "'<f4'",
                "'<f8'",
                "'|O'",
                "'<U9'",
                "'>f2'",
                "'<c8'",
                "'|V8'",
                "[('a', '<f4')]",
                "'<m8[s]'",
                "'x'",
                "__import__('os').system('true')",
            )
        )
        header = (
            f"{{'descr': {kind}, 'fortran_order': {rng.choice(('True', 'False', '3'))}, 'shape': {shape}, }}".encode()
        )
        header += b" " * (-(len(header) + 11) % 64) + b"\n"
        content = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) & 0xFFFF) + header + content[128:]
    return damage.damaged(rng, content) if rng.random() < 0.05 else content


def odd(rng: Random, array: np.ndarray) -> Any:
    """An array of another type, shape or content."""
    spoilt = array.astype(np.float32).copy() if array.dtype.kind == "f" else array.copy()
    if array.dtype.kind == "f" and spoilt.size:
        spoilt.flat[rng.randrange(spoilt.size)] = rng.choice((np.nan, np.inf, -np.inf, 1e30, -7.0, 1.03))
    choices = [
        *(
            array[:0],
            array[..., :0],
            array[0],
            np.array(array.flat[0]),
            array[None],
            array.T,
            array.astype("U8"),
            array[:-1],
        ),
        *(
            array.astype(object),
            array.astype(np.complex64) if array.dtype.kind == "f" else array[::-1],
            np.zeros((10**7,), np.uint8),
            array.repeat(2, axis=0),
            spoilt,
            spoilt,
        ),
        *(
            np.array([{"a": 1}], dtype=object),
            np.array(None),
            array.repeat(3, axis=-1),
        ),
    ]
    return rng.choice(choices)


def archive(rng: Random) -> bytes:
    """One image's .npz."""
    noise = np.random.default_rng(rng.randrange(2**32))
    regions = rng.choice((1, REGIONS, 12))
    arrays: dict[str, Any] = {
        "features": noise.normal(size=(regions, FEATURES)).astype(np.float16),
        "norm_bb": np.tile(
            np.array([0.1, 0.2, 0.5, 0.6, 0.4, 0.4, 0.16][: rng.choice((4, 6, 7))], np.float16), (regions, 1)
        ),
    }
    if rng.random() < 0.7:
        arrays["conf"] = noise.random((regions, 3) if rng.random() < 0.2 else regions).astype(np.float16)
    if rng.random() < 0.3:
        arrays["objects"] = np.array([damage.text(rng, 2) for _ in range(regions)])
    elif rng.random() < 0.3:
        arrays["objects_id"] = noise.integers(0, 4, regions)
    for name in [*arrays]:
        if rng.random() < 0.08:
            arrays[name] = odd(rng, arrays[name])
        if rng.random() < 0.01:
            del arrays[name]
    buffer = io.BytesIO()
    with zipfile.ZipFile(
        buffer, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    ) as zipped:
        for name, array in arrays.items():
            zipped.writestr(f"{name}.npy", member(rng, array))
            if rng.random() < 0.01:
                zipped.writestr(f"{name}.npy", member(rng, array))  # a member twice
        if rng.random() < 0.02:
            zipped.writestr(rng.choice(("../beside/x.npy", "/x.npy", "conf.npy", "x" * 60_000)), b"")
        if rng.random() < 0.005:
            zipped.writestr("conf.npy", bytes(10**8), compress_type=zipfile.ZIP_DEFLATED)
    content = buffer.getvalue()
    if rng.random() < 0.03:  # a size in the list of members that is not theirs
        at = content.rfind(b"PK\x01\x02")
        content = content[: at + 24] + struct.pack("<I", rng.choice((0, 1, 2**31, 2**32 - 1))) + content[at + 28 :]
    if rng.random() < 0.02:  # marked as encrypted
        at = content.rfind(b"PK\x01\x02")
        content = content[: at + 8] + b"\x01" + content[at + 9 :]
    return content


def attempt(rng: Random, folder: Path, shared: None) -> Use:
    """A folder in one of the two layouts."""
    options: dict[str, Any] = {
        "on_fault": rng.choice(("error", "skip")),
        "verify": rng.choice(("decode", "decode", "header")),
    }
    if rng.random() < 0.3:
        scan_arrays(rng, folder)
    else:
        rows = [{"image": f"{at}.jpg", "captions": [f"thing {at}"]} for at in range(COUNT)]
        (folder / "captions.jsonl").write_bytes(damage.as_json(rows, lines=True) + b"\n")
        for number in range(COUNT):
            path = folder / "regions" / f"{number}.npz"
            damage.write(rng, path, archive(rng)) if rng.random() < 0.4 else (
                path.parent.mkdir(exist_ok=True),
                path.write_bytes(archive(Random(7))),
            )
        if rng.random() < 0.3:
            damage.write(
                rng,
                folder / "objects_vocab.txt",
                b"dog,puppy\ntree\ncar\n" + damage.text(rng).encode(errors="surrogatepass"),
            )
        if rng.random() < 0.2:
            options["tags"] = folder / "tags.tsv"
            said = [{"class": damage.text(rng, 2), "conf": 0.5}]
            lines = []
            for at in range(COUNT):
                objects = damage.changed(rng, said) if rng.random() < 0.5 else {"objects": said}
                lines.append(f"{at}\t{damage.as_json(objects).decode()}")
            damage.write(rng, options["tags"], "\n".join(lines).encode())
    if rng.random() < 0.2:
        options |= {
            "confidence": rng.choice((0.0, 0.5, 2.0, -1.0)),
            "fewest": rng.choice((0, 1, 3, 10)),
            "most": rng.choice((0, 1, 2, 100)),
        }
    data = load("regions", folder, **options)
    seen = [data.regions[at] for at in range(len(data))] if options["verify"] == "header" else None

    def use() -> None:
        for found in seen or (data.regions[at] for at in range(len(data))):
            count = len(found.features)
            assert found.features.ndim == 2 and count >= 1 and (seen or found.features.isfinite().all())
            assert found.boxes is None or (found.boxes.shape == (count, 7) and found.boxes.isfinite().all())
            assert found.confidence is None or found.confidence.shape == (count,)
            assert found.tags is None or all(isinstance(tag, str) for tag in found.tags)

    return use


def scan_arrays(rng: Random, folder: Path) -> None:
    """Arrays of all images beside lines of captions."""
    noise = np.random.default_rng(rng.randrange(2**32))
    for split in ("train", "dev"):
        shape = (COUNT, REGIONS, FEATURES) if rng.random() < 0.8 else (COUNT, FEATURES)
        array: Any = noise.normal(size=shape).astype(rng.choice((np.float16, np.float32, np.float64)))
        array = odd(rng, array) if rng.random() < 0.15 else array
        damage.write(rng, folder / f"{split}_ims.npy", member(rng, array), odd=0.02)
        lines = [
            f"line {at}" if rng.random() < 0.95 else damage.text(rng, 5).replace("\n", " ")
            for at in range(COUNT * rng.choice((5, 5, 5, 1, 4)))
        ]
        content = "\n".join([*lines, ""]).encode(errors="surrogatepass")
        (folder / f"{split}_caps.txt").write_bytes(damage.damaged(rng, content) if rng.random() < 0.1 else content)
