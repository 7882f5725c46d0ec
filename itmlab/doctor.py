"""What is installed here, which device is used, what is missing and the command that brings it."""

import os
import platform
import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version

from .project import notebook_directory
from .storage import cache_directory


@dataclass(frozen=True)
class Finding:
    """One line of the report: a part, what was found, and the command that brings it when it is missing."""

    part: str
    found: str
    remedy: str | None = None
    required: bool = False


def examine() -> list[Finding]:
    """Look at Python, the required and optional packages, the device, Chrome, the notebooks and the cache."""
    return [
        Finding("Python", f"{platform.python_version()} at {sys.executable}"),
        *_packages(),
        _device(),
        _chrome(),
        _wordnet(),
        _notebooks(),
        Finding("cache", str(cache_directory())),
    ]


def _packages() -> list[Finding]:
    findings = []
    for requirement in requires("itmlab") or []:
        name, _, condition = requirement.partition(";")
        name = name.split(">")[0].split("=")[0].split("<")[0].strip()
        extra = condition.partition("extra ==")[2].strip().strip("'\"")
        remedy = f"pip install -c constraints.txt -e '.[{extra}]'" if extra else "pip install -c constraints.txt -e ."
        try:
            findings.append(Finding(name, version(name)))
        except PackageNotFoundError:
            note = f"missing (optional: {extra})" if extra else "missing"
            findings.append(Finding(name, note, remedy, required=not extra))
    return findings


def _device() -> Finding:
    import torch

    if torch.cuda.is_available():
        names = ", ".join(torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count()))
        return Finding("device", f"CUDA: {names} (training in bf16)")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Finding("device", f"CPU, {cores} cores, {torch.get_num_threads()} threads")


def chrome_path() -> str | None:
    """The Chrome that draws PNG figures, or None."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    return os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, names)), None)


def _chrome() -> Finding:
    path = chrome_path()
    if path:
        return Finding("Chrome for PNG figures", path)
    return Finding("Chrome for PNG figures", "missing: figures are HTML and JSON only", "apt-get install chromium")


def _wordnet() -> Finding:
    from .metrics.synonyms import wordnet

    found = wordnet("auto")
    if found is None:
        return Finding("WordNet for SPICE", "missing: words match themselves only", "apt-get install wordnet-base")
    return Finding("WordNet for SPICE", f"{found.version} at {found.directory}")


def _notebooks() -> Finding:
    directory = notebook_directory()
    if directory is None:
        return Finding("notebooks", "not beside the package", "git clone the project and install it with pip -e .")
    return Finding("notebooks", f"{len(list(directory.glob('[0-9]*.ipynb')))} in {directory}")
