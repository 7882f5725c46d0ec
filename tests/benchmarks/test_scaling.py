"""How time and memory grow with the data, as exponents: 1 is in step with the captions, 2 with the pairs.

    ITMLAB_SCALING_IMAGES=256 python -m pytest tests/benchmarks/test_scaling.py

Each task runs in a process of its own on 1, 4 and 16 times so many images (64 by default) with five captions
each; its memory is what it holds at most beyond what importing and a first small run took. Evaluation and CIDEr answer
about every pair, so that they may reach 2 in time and, for the matrix that they give, in memory; all else should stay
at 1. The exponents are those from 4 to 16 times: below, what every size pays hides the growth.
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

IMAGES = int(os.environ.get("ITMLAB_SCALING_IMAGES", 64))
TIMES = (1, 4, 16)
ROOT = Path(__file__).resolve().parents[2]

# `task(data)` is what is measured.
PREPARED = """
import json, random, resource, sys, tempfile, time, warnings
from collections.abc import Sequence
from pathlib import Path
import torch
from PIL import Image
import itmlab
from itmlab.data.captionset import CaptionSet

warnings.simplefilter("ignore")
torch.set_num_threads(1)
out = Path(tempfile.mkdtemp())

class Pictures(Sequence):
    def __init__(self, numbers): self.numbers = numbers
    def __len__(self): return len(self.numbers)
    def __getitem__(self, at): return Image.new("RGB", (96, 96), tuple((self.numbers[at] * 7919 % 2**24).to_bytes(3)))
    def select(self, rows): return Pictures([self.numbers[row] for row in rows])

def made(images):
    draw = random.Random(images)
    who, where = ["dog", "man", "woman", "cat", "horse", "boy"], ["beach", "tree", "car", "house", "road", "table"]
    how = ["red", "small", "old", "happy", "wet", "striped"]
    said = lambda: (f"a {draw.choice(how)} {draw.choice(who)} and {draw.randrange(2, 99)} {draw.choice(who)}s "
                    f"run next to the {draw.choice(how)} {draw.choice(where)} number {draw.randrange(10**6)}")
    count = 5 * images
    return CaptionSet(name="scaling", images=Pictures(range(images)), image_ids=[str(n) for n in range(images)],
        captions=[said() for _ in range(count)], caption_ids=[str(n) for n in range(count)],
        image_of_caption=torch.arange(count) // 5, splits={})
"""
MEASURED = """
task(made(8))
held, seconds, peaks = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, [], []
for images in map(int, sys.argv[1:]):
    data = made(images)
    began = time.process_time()
    task(data)
    seconds.append(time.process_time() - began)
    peaks.append((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - held) / 1024)
print(json.dumps([seconds, peaks]))
"""
TASKS = {
    "parse": """
from itmlab.text import parse
task = lambda data: parse(data.captions, cache=False)
""",
    "CIDEr": """
from itmlab.metrics import cider_matrix
task = lambda data: cider_matrix(data.captions, data.captions_of())
""",
    "evaluate": """
from itmlab.metrics import retrieval
draw = torch.Generator().manual_seed(0)
task = lambda data: retrieval(torch.rand(len(data), len(data.captions), generator=draw), data.positives, ks=(1,))
""",
    "embed": """
from itmlab.train.scores import embed
model = itmlab.pretrained("triplet").model
task = lambda data: embed(model, data)
""",
    "search": """
run = itmlab.pretrained("triplet")
task = lambda data: [run.search("a dog", data=data, of=of) for of in ("images", "captions")]
""",
    "mine": """
from itmlab.models import build_model
from itmlab.models.cross_encoder import Tokens, pair_logits
from itmlab.models.pairs import ImageInputs
from itmlab.samplers import mined_negatives
from itmlab.train.step_cross import embed
config = itmlab.recipe("uniter").replace(model__visual="patches").model
model = build_model(config, made(64).captions, seed=0).eval()
def task(data):
    tokens, inputs = Tokens.of(model, data.captions), ImageInputs(model, data)
    for part in torch.arange(len(data)).split(32):
        regions = embed(model, inputs, part)
        score = lambda anchors, columns: pair_logits(model, tokens, columns, regions, anchors)
        draws = {"candidates": 4, "top_k": 2, "generator": torch.Generator().manual_seed(0)}
        mined_negatives(score, data.matches(part), **draws)
""",
}


def exponent(values: list[float]) -> str:
    """The power of the size with which a measure grows over the last step."""
    before, last = values[-2:]
    return f"{math.log(last / before) / math.log(TIMES[-1] / TIMES[-2]):.2f}" if before >= 1e-3 and last > 0 else "–"


@pytest.mark.parametrize("name", TASKS)
def test_time_and_memory_against_size(name: str, capsys, tmp_path: Path) -> None:
    sizes = [str(IMAGES * times) for times in TIMES]
    code, environment = PREPARED + TASKS[name] + MEASURED, {"ITMLAB_CACHE": str(tmp_path), "OMP_NUM_THREADS": "1"}
    process = subprocess.run(
        [sys.executable, "-c", code, *sizes], capture_output=True, text=True, env=os.environ | environment, cwd=ROOT
    )
    assert process.returncode == 0, process.stderr[-2000:]
    seconds, peaks = json.loads(process.stdout.splitlines()[-1])
    rows = ", ".join(f"{float(time):.2f} s {peak:.0f} MiB" for time, peak in zip(seconds, peaks, strict=True))
    with capsys.disabled():
        print(f"\n{name:<10} {' / '.join(sizes)} images: {rows}; exponent {exponent(seconds)} in time, "
              f"{exponent([max(peak, 0.0) for peak in peaks])} in memory")  # fmt: skip
