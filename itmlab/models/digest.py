"""The digest that ties together the files of a run or of a saved model.

`Model.save` writes it into the weights' own file, last and atomically. Files of two runs, or a file that was changed
afterwards, are therefore recognised when the model is loaded.
"""

import hashlib
from pathlib import Path

import torch
from torch import Tensor

from ..errors import ItmlabError
from ..text.tokens import NAMES_FILE, VOCABULARY_FILE

KEY = "digest"
FILES = ("recipe.json", "config.json", VOCABULARY_FILE, NAMES_FILE)


def digest_of(directory: Path, weights: dict[str, Tensor]) -> str:
    """Return the SHA-256 of recipe (if there is one), configuration, tokeniser and weights.

    Args:
        directory: where the files are.
        weights: the weights by name, in the type of number in which they are stored.
    """
    digest = hashlib.sha256()
    for path in (directory / name for name in FILES):
        content = path.read_bytes() if path.is_file() else b""
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    for name, value in sorted(weights.items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(value.contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()


def refuse_other_files(directory: Path, path: Path, weights: dict[str, Tensor]) -> None:
    """Check that the files beside the weights are those that they were saved with.

    Args:
        directory: where the files are.
        path: the file of the weights.
        weights: what was read from it.

    Raises:
        ItmlabError: recipe, configuration, tokeniser or weights are another run's, or were changed afterwards.
    """
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        saved = (file.metadata() or {}).get(KEY)
    if saved is None and not (directory / "recipe.json").exists():
        return  # not a run, and not saved by itmlab
    if saved != digest_of(directory, weights):
        message = "recipe.json, config.json, the tokeniser and the weights do not belong together"
        raise ItmlabError(message, where=str(path), remedy="restore the files of one run, or train again")
