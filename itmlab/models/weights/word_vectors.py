"""Word vectors from a wheel, for models that have few captions to learn words from.

WordLlama (extra: photos) distilled them from the token embeddings of large language models: 256 numbers per piece; a
word is the mean over its pieces. A model with these vectors reads whole words: those of its captions, the commonest of
WordLlama, and those that captions of other pictures use, so that a search may contain words that no caption had. Only
two files of the wheel are read; none of its code is run.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ...text.rules.lexicon import KNOWN, VERBS
from ...text.tokens import SPECIAL_TOKENS, caption_splitter, tokenizer_of_words
from ..photographs import wheel_folder

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

VECTORS, PIECES = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"


@cache
def _wordllama() -> "tuple[Float[Tensor, 'piece 256'], Tokenizer]":
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    home = wheel_folder("wordllama", "this model's words")
    return load_file(home / VECTORS)["embedding.weight"].float(), Tokenizer.from_file(str(home / PIECES))


@cache
def known_words() -> dict[str, int]:
    """Return the words that are one piece of WordLlama's, in lower-case letters, common ones first, by their number."""
    pieces = sorted(_wordllama()[1].get_vocab().items(), key=lambda entry: entry[1])
    return {piece[1:]: number for piece, number in pieces if re.fullmatch("▁[a-z]+", piece)}


@cache
def further_words() -> tuple[str, ...]:
    """Return words that WordLlama knows by several pieces: nouns and verbs of captions, then names."""
    of_captions = sorted(word for word in KNOWN["nouns"] | KNOWN["worn"] | VERBS if word.isalpha())
    names = [piece[1:].lower() for piece in _wordllama()[1].get_vocab() if re.fullmatch("▁[A-Z][a-z]{3,}", piece)]
    words = dict.fromkeys([*of_captions, *sorted(names)])
    return tuple(word for word in words if word not in known_words())


def word_vectors(words: Iterable[str]) -> Float[Tensor, "word 256"]:
    """Return the vector of each word, the mean over its pieces, scaled so that a piece has length four on average.

    >>> dog, puppy, plane = word_vectors(["dog", "puppy", "airplane"])
    >>> bool(torch.cosine_similarity(dog, puppy, dim=0) > torch.cosine_similarity(dog, plane, dim=0) + 0.2)
    True
    """
    vectors, tokenizer = _wordllama()
    encodings = tokenizer.encode_batch(list(words), add_special_tokens=False)
    means = [vectors[encoding.ids].mean(dim=0).nan_to_num() for encoding in encodings]
    return 4 * torch.stack(means) / vectors.norm(dim=1).mean()


def word_vocabulary(captions: Iterable[str], vocabulary_size: int) -> "PreTrainedTokenizerFast":
    """Return a tokeniser of whole words.

    Args:
        captions: their words come first, the most frequent ones first; then WordLlama's commonest, then further words.
        vocabulary_size: the most words, special tokens included.
    """
    split = caption_splitter()
    counts = Counter(word for caption in captions for word in split(caption))
    of_captions = sorted(counts, key=lambda word: (-counts[word], word))
    words = list(dict.fromkeys([*of_captions, *known_words(), *further_words()]))
    return tokenizer_of_words(words[: vocabulary_size - len(SPECIAL_TOKENS)])


@torch.no_grad()
def begin_with_word_vectors(embedding: nn.Embedding, tokenizer: "PreTrainedTokenizerFast") -> None:
    """Fill an embedding of words with their vectors; the frame's are zero."""
    embedding.weight.copy_(word_vectors(tokenizer.convert_ids_to_tokens(range(len(tokenizer)))))
    embedding.weight[: len(SPECIAL_TOKENS)] = 0
