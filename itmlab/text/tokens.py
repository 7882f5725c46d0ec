"""WordPiece for captions: trained so that the same captions always give the same vocabulary, and word-aligned."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from ..errors import ItmlabError
from ..storage import read_json, write_bytes, write_json

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast


SPECIAL_TOKENS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
VOCABULARY_FILE, NAMES_FILE = "tokenizer.json", "tokenizer_config.json"


def train_wordpiece(captions: Iterable[str], vocabulary_size: int = 1000) -> "PreTrainedTokenizerFast":
    """A lower-casing WordPiece tokeniser with at most `vocabulary_size` pieces, a pure function of the captions.

    The library's trainer numbers continuation pieces in the order of a randomly seeded hash map, which also decides
    ties between merges. Handing it the sorted alphabet first removes both freedoms.
    """
    from tokenizers import Tokenizer, models, trainers

    tokenizer = _bert_pipeline(Tokenizer(models.WordPiece(unk_token=SPECIAL_TOKENS["unk_token"])))
    sentences = [
        [
            word
            for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(plain_text(one)))
        ]
        for one in captions
    ]
    if not any(sentences):
        raise ItmlabError("no word to make a vocabulary from", remedy="give captions with at least one word")
    alphabet = _alphabet(sentences, room=(vocabulary_size - len(SPECIAL_TOKENS)) // 4)
    if not alphabet:
        raise ItmlabError(f"a vocabulary of {vocabulary_size} has no room for letters", remedy="ask for 1000 or so")
    known = set(alphabet)
    inner = {letter for words in sentences for word in words for letter in word[1:]}
    seeds = [*SPECIAL_TOKENS.values(), *alphabet, *(f"##{letter}" for letter in alphabet if letter in inner)]
    tokenizer.train_from_iterator(
        (" ".join(word for word in words if known.issuperset(word)) for words in sentences),
        trainers.WordPieceTrainer(
            vocab_size=vocabulary_size, min_frequency=2, special_tokens=seeds, show_progress=False
        ),
    )
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    vocabulary = {piece: number for number, (piece, _) in enumerate(pieces)}
    # A new tokeniser from the bare vocabulary: in the trained one every letter counts as a special token.
    return _wrap(_bert_pipeline(Tokenizer(models.WordPiece(vocabulary, unk_token=SPECIAL_TOKENS["unk_token"]))))


def save_tokenizer(tokenizer: "PreTrainedTokenizerFast", directory: str | Path) -> None:
    """Write tokenizer.json and tokenizer_config.json (the names of the special tokens) into `directory`."""
    directory = Path(directory)
    names = {name: getattr(tokenizer, name) for name in (*SPECIAL_TOKENS, "bos_token", "eos_token")}
    write_bytes(directory / VOCABULARY_FILE, tokenizer.backend_tokenizer.to_str(pretty=True).encode())
    write_json(directory / NAMES_FILE, {name: str(token) for name, token in names.items() if token is not None})


def load_tokenizer(directory: str | Path) -> "PreTrainedTokenizerFast":
    """Read what `save_tokenizer` wrote; nothing but these two JSON files is looked at, and no code is run."""
    from tokenizers import Tokenizer

    directory = Path(directory)
    content = read_json(directory / VOCABULARY_FILE, remedy="point at a directory that itmlab saved")
    names = read_json(directory / NAMES_FILE, remedy="point at a directory that itmlab saved")
    try:
        tokenizer = Tokenizer.from_str(json.dumps(content))
    except Exception as error:  # the library raises a bare Exception for a file that it cannot use
        raise ItmlabError(f"not a tokeniser: {error}", where=str(directory / VOCABULARY_FILE)) from None
    return _wrap(tokenizer, names)


def encode_captions(
    tokenizer: "PreTrainedTokenizerFast", captions: Sequence[str], maximum_tokens: int
) -> tuple[dict[str, Tensor], int]:
    """Token tensors of captions, right-padded to the longest, and how many captions had to be cut.

    Gives `input_ids` and `attention_mask` Long["n token"] and `word_mask` Bool["n token"], true at word pieces and
    false at padding and at the special tokens around a caption. A caption of more than `maximum_tokens` loses its last
    words, never its closing token. Special tokens spelled out inside a caption are read as plain text.
    """
    if not captions:
        raise ItmlabError("there is no caption to encode", remedy="give at least one")
    # The backend itself keeps no padding or cutting state, so threads may share it.
    encodings = tokenizer.backend_tokenizer.encode_batch([plain_text(caption) for caption in captions])
    rows = [(encoding.ids, encoding.special_tokens_mask) for encoding in encodings]
    cut = sum(len(ids) > maximum_tokens for ids, _ in rows)
    rows = [(_cut(ids, maximum_tokens), _cut(special, maximum_tokens)) for ids, special in rows]
    return _pad(rows, tokenizer.pad_token_id or 0), cut


def caption_words(
    tokenizer: "PreTrainedTokenizerFast", caption: str, maximum_tokens: int
) -> list[tuple[str, list[int]]]:
    """The words of a caption as written, each with the positions of its pieces among the caption's tokens.

    Positions count the opening special token, so they index the part axis of `Encoded.local`. Words cut off by
    `maximum_tokens` are left out.
    """
    text = plain_text(caption)
    encoding = tokenizer.backend_tokenizer.encode(text)
    last = maximum_tokens - 1 if len(encoding.ids) > maximum_tokens else len(encoding.ids)
    words: list[tuple[str, list[int]]] = []
    for word in range(max((number + 1 for number in encoding.word_ids if number is not None), default=0)):
        pieces = [at for at, number in enumerate(encoding.word_ids[:last]) if number == word]
        if pieces:
            start, end = encoding.word_to_chars(word)
            words.append((text[start:end], pieces))
    return words


def plain_text(caption: str) -> str:
    """The caption with lone surrogates, which no tokeniser takes, replaced one for one."""
    return caption.encode("utf-8", "replace").decode("utf-8")


def _alphabet(sentences: list[list[str]], room: int) -> list[str]:
    """The most frequent letters, at most `room`, in code-point order (equal counts: lower code point first)."""
    counts = Counter(letter for words in sentences for word in words for letter in word)
    ranked = sorted(counts, key=lambda letter: (-counts[letter], letter))
    return sorted(ranked[: max(room, 0)])


def _bert_pipeline(tokenizer: "Tokenizer") -> "Tokenizer":
    """BERT's normaliser, word splitter and [CLS] … [SEP] frame."""
    from tokenizers import decoders, normalizers, pre_tokenizers, processors

    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    first, last = SPECIAL_TOKENS["cls_token"], SPECIAL_TOKENS["sep_token"]
    if tokenizer.token_to_id(first) is not None:  # not yet while training
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}",
            special_tokens=[(first, tokenizer.token_to_id(first)), (last, tokenizer.token_to_id(last))],
        )
    return tokenizer


def _wrap(tokenizer: "Tokenizer", names: dict[str, str] | None = None) -> "PreTrainedTokenizerFast":
    """The `transformers` face of a `tokenizers` tokeniser."""
    from transformers import PreTrainedTokenizerFast

    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **(SPECIAL_TOKENS if names is None else names))
    return as_plain_text(wrapped)


def as_plain_text(tokenizer: "PreTrainedTokenizerFast") -> "PreTrainedTokenizerFast":
    """Make the tokeniser read "[SEP]" inside a caption as five characters: captions are text, not commands."""
    tokenizer.backend_tokenizer.encode_special_tokens = True
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    return tokenizer


def _cut(values: list[int], maximum: int) -> list[int]:
    return values if len(values) <= maximum else [*values[: maximum - 1], values[-1]]


def _pad(rows: list[tuple[list[int], list[int]]], padding: int) -> dict[str, Tensor]:
    shape = (len(rows), max(len(ids) for ids, _ in rows))
    input_ids: Int[Tensor, "n token"] = torch.full(shape, padding, dtype=torch.long)
    attention_mask: Int[Tensor, "n token"] = torch.zeros(shape, dtype=torch.long)
    word_mask: Bool[Tensor, "n token"] = torch.zeros(shape, dtype=torch.bool)
    for row, (ids, special) in enumerate(rows):
        input_ids[row, : len(ids)] = torch.tensor(ids, dtype=torch.long)
        attention_mask[row, : len(ids)] = 1
        word_mask[row, : len(ids)] = torch.tensor(special, dtype=torch.long) == 0
    return {"input_ids": input_ids, "attention_mask": attention_mask, "word_mask": word_mask}
