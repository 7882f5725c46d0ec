"""Loading published checkpoints by name or folder: whatever stops it is one line with its remedy."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from .errors import ItmlabError

Result = TypeVar("Result")


def fetched(name: str, load: Callable[[], Result]) -> Result:
    """What `load` gives; whatever stops it (no network, no such name, no safetensors) becomes one ItmlabError."""
    from safetensors import SafetensorError

    hub = logging.getLogger("huggingface_hub")
    level = hub.level
    hub.setLevel(logging.ERROR)  # its retries are not the reader's business
    try:
        return load()
    except ItmlabError:
        raise
    except (OSError, ValueError, KeyError, SafetensorError, ImportError, RuntimeError) as error:
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        remedy = (
            "the folder must hold config.json, the tokeniser's files and model.safetensors"
            if Path(name).is_dir()
            else f"run once with a network: hf download {name} — or name a local folder, or train from scratch"
        )
        raise ItmlabError(f"cannot load the pretrained model: {first[:200]}", where=name, remedy=remedy) from None
    finally:
        hub.setLevel(level)
