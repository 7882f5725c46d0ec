"""Word vectors from a wheel, for models that have few captions to learn words from.

WordLlama (extra: photos) distilled them from the token embeddings of large language models: 256 numbers a piece, a word
the mean over its pieces. A model that has them reads whole words: those of its captions and the commonest of WordLlama,
so that a search may use a word that no caption had. Only two files of the wheel are read; none of its code is run.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ...errors import MissingPart
from ...text.tokens import SPECIAL_TOKENS, caption_splitter, tokenizer_of_words

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

DIMENSION = 256
VECTORS, PIECES = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"


@cache
def _wordllama() -> "tuple[Float[Tensor, 'piece 256'], Tokenizer]":
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    there = find_spec("wordllama")
    if there is None:
        raise MissingPart("wordllama", "pip install 'itmlab[photos]'", needed_for="this model's words")
    home = Path(there.submodule_search_locations[0])
    return load_file(home / VECTORS)["embedding.weight"].float(), Tokenizer.from_file(str(home / PIECES))


@cache
def known_words() -> dict[str, int]:
    """The words that are one piece of WordLlama's, common ones first, lower-case letters alone, by their number."""
    pieces = sorted(_wordllama()[1].get_vocab().items(), key=lambda entry: entry[1])
    return {piece[1:]: at for piece, at in pieces if re.fullmatch("▁[a-z]+", piece)}


def word_vectors(words: Iterable[str]) -> Float[Tensor, "word 256"]:
    """The vector of each word, the mean over its pieces, scaled so that a piece is four long on average.

    >>> dog, puppy, plane = word_vectors(["dog", "puppy", "airplane"])
    >>> bool(torch.cosine_similarity(dog, puppy, dim=0) > torch.cosine_similarity(dog, plane, dim=0) + 0.2)
    True
    """
    vectors, tokenizer = _wordllama()
    pieces = tokenizer.encode_batch(list(words), add_special_tokens=False)
    means = [vectors[one.ids].mean(dim=0) if one.ids else torch.zeros(DIMENSION) for one in pieces]
    return 4 * torch.stack(means) / vectors.norm(dim=1).mean()


def word_vocabulary(captions: Iterable[str], vocabulary_size: int) -> "PreTrainedTokenizerFast":
    """A tokeniser of whole words: those of the captions, most frequent first, then the commonest of WordLlama."""
    split = caption_splitter()
    counts = Counter(word for caption in captions for word in split(caption))
    own = sorted(counts, key=lambda word: (-counts[word], word))
    words = list(dict.fromkeys([*own, *known_words()]))[: vocabulary_size - len(SPECIAL_TOKENS)]
    return tokenizer_of_words(words)


@torch.no_grad()
def begin_with_word_vectors(embedding: nn.Embedding, tokenizer: "PreTrainedTokenizerFast") -> None:
    """Fill an embedding of words with their vectors, narrowed to its width by principal components; frames are zero.

    What goes on being learnt keeps the deviation of fresh weights.
    """
    words = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    vectors = word_vectors(words)
    if (width := embedding.embedding_dim) < DIMENSION:
        _, _, axes = torch.linalg.svd(vectors, full_matrices=False)
        vectors = vectors @ axes[:width].T
    if embedding.weight.requires_grad:
        vectors = vectors * (embedding.weight.std() / vectors.std())
    embedding.weight[:, : vectors.shape[1]] = vectors
    embedding.weight[: len(SPECIAL_TOKENS)] = 0
