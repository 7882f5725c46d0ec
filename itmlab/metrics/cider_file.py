"""The words that a `Cider` was fitted on, as one file without pickle."""

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int64, UInt8

from itmlab.errors import ItmlabError
from itmlab.metrics.document_frequencies import DocumentFrequencies
from itmlab.metrics.ngrams import Numbers, Vocabulary
from itmlab.storage import atomic_file


def save_words(
    path: str | Path,
    sentences: Sequence[Sequence[str]],
    held: Int64[Numbers, "image"],
    tokenise: str,
    frequencies: DocumentFrequencies | None,
) -> None:
    """Write the sentences, how many each image has, the tokenisation and given document frequencies."""
    numbers: dict[str, int] = {}
    flat = np.array([numbers.setdefault(word, len(numbers)) for words in sentences for word in words], dtype=np.int64)
    arrays = {
        "words": _text(tuple(numbers)),
        "flat": flat.astype(np.int32),
        "lengths": np.array([len(words) for words in sentences], dtype=np.int32),
        "held": held.astype(np.int32),
        "tokenise": _text((tokenise,)),
    }
    if frequencies is not None:
        arrays |= {
            "frequency_words": _text(frequencies.vocabulary.words),
            "frequency_counts": frequencies.counts,
            "documents": np.array([frequencies.documents]),
        } | {f"frequency_keys_{order}": keys for order, keys in enumerate(frequencies.vocabulary.keys, start=2)}
    with atomic_file(path) as file:
        np.savez_compressed(file, **arrays)


def load_words(
    path: str | Path,
) -> tuple[list[list[str]], Int64[Numbers, "image"], str, DocumentFrequencies | None]:
    """What `save_words` wrote; ItmlabError when the file is missing or damaged."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            words = _lines(arrays["words"])
            ends = arrays["lengths"].cumsum()
            held = arrays["held"].astype(np.int64)
            (tokenise,) = _lines(arrays["tokenise"])
            flat = [words[number] for number in arrays["flat"].tolist()]
            if len(flat) != ends[-1] or held.sum() != len(ends) or min(arrays["lengths"].min(), held.min()) < 1:
                raise ValueError("its parts do not match")
            frequencies = None
            if "documents" in arrays:
                vocabulary = Vocabulary(
                    tuple(_lines(arrays["frequency_words"])),
                    tuple(arrays[f"frequency_keys_{order}"] for order in (2, 3, 4)),
                )
                frequencies = DocumentFrequencies(
                    vocabulary, arrays["frequency_counts"], int(arrays["documents"].item())
                )
                if len(frequencies.counts) != len(vocabulary):
                    raise ValueError("its document frequencies do not match")
    except FileNotFoundError:
        raise ItmlabError("no such file", where=str(path)) from None
    except (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ItmlabError(f"not a file of Cider.save: {error}", where=str(path), remedy="fit it again") from None
    starts = (ends - np.diff(ends, prepend=0)).tolist()
    sentences = [flat[start:end] for start, end in zip(starts, ends.tolist(), strict=True)]
    return sentences, held, tokenise, frequencies


def _text(lines: tuple[str, ...]) -> UInt8[Numbers, "byte"]:
    """Words, which hold no line break, as bytes."""
    return np.frombuffer("\n".join(lines).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def _lines(content: UInt8[Numbers, "byte"]) -> list[str]:
    return content.tobytes().decode("utf-8", "surrogatepass").split("\n")
