"""How many files of the package are run through: `python tests/files_run_through.py` prints the contributor's table.

Counted by tracing: a file counts when a function of it is called (importing it does not count). "Jumps" are calls from
one file into another. A step of FNE is one after the warm-up, with its queue.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1] / "itmlab"
sys.path.insert(0, str(PACKAGE.parent))


@dataclass
class Traced:
    """The files whose functions were called, and how often a call went from one file to another."""

    files: set[str] = field(default_factory=set)
    jumps: set[tuple[str, str]] = field(default_factory=set)

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or frame.f_code.co_name == "<module>":
            return
        there = frame.f_code.co_filename
        if not there.startswith(str(PACKAGE)):
            return
        self.files.add(there)
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(str(PACKAGE)):
            caller = caller.f_back  # through torch and the standard library
        if caller is not None and caller.f_code.co_filename != there:
            self.jumps.add((caller.f_code.co_filename, there))


@contextmanager
def traced():
    """What is run through inside the block, in this thread."""
    found, before = Traced(), sys.getprofile()
    sys.setprofile(found.profile)
    try:
        yield found
    finally:
        sys.setprofile(before)


def fne_step_and_training() -> tuple[Traced, Traced]:
    """One step of FNE on a few scenes, and the whole of `train(fne)` around it."""
    from itmlab import load, recipes
    from itmlab.training import loop, train

    data = load("scenes", images=24)
    sizes = dict(data__batch_size=8, data__epochs=2, data__warm_up_epochs=1, data__steps=4, memory__length=16)
    recipe = recipes.fne.replace(**sizes, sampler__minimum_positives=1)
    steps: list[Traced] = []
    learn: Callable[..., Any] = loop.learn

    def watched(*arguments: Any, **options: Any) -> Any:
        with traced() as step:
            answer = learn(*arguments, **options)
        steps.append(step)
        return answer

    with tempfile.TemporaryDirectory() as directory:
        loop.learn = watched
        try:
            train(recipe, data, Path(directory) / "steps", progress=False)
        finally:
            loop.learn = learn
        with traced() as whole:
            train(recipe, data, Path(directory) / "whole", progress=False)
    return steps[-1], whole


def exported_negative() -> Traced:
    """TAGS' negatives of one picture's captions, made by the shipped model and written to a file.

    Made in another process first: whether the parser's six files of rules are run through, too, hangs on what the cache
    folder has met before, and a model that this process has opened would be opened no more.
    """
    warm = f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); from tests import files_run_through as paths; "
    subprocess.run([sys.executable, "-c", f"{warm}paths.write_negatives()"], check=True)
    return write_negatives()


def write_negatives() -> Traced:
    """What is run through by that, this time."""
    from itmlab import load
    from itmlab.training import negative_files

    data = load("scenes", images=24, regions=True).select([0])
    given = {"options": {"maskings": 2, "samples": 2}, "fluency": "scenes"}
    with tempfile.TemporaryDirectory() as directory, traced() as found:
        negative_files.write_negatives(data, Path(directory) / "negatives.jsonl", "tags", **given)
    return found


def table() -> dict[str, tuple[Traced, int]]:
    """What was traced, with the number of files that each may run through at most."""
    step, training = fne_step_and_training()
    return {
        "a step of FNE": (step, 11),
        "`train(fne)`": (training, 34),
        "an exported negative": (exported_negative(), 40),
    }


if __name__ == "__main__":
    print("| | files | at most | jumps between files |\n| --- | --- | --- | --- |")
    for name, (found, bound) in table().items():
        print(f"| {name} | {len(found.files)} | {bound} | {len(found.jumps)} |")
        if "--files" in sys.argv:
            print("\n".join("    " + str(Path(file).relative_to(PACKAGE)) for file in sorted(found.files)))
