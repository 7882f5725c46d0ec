"""Tokenisers of captions: WordPiece, whole words, and which pieces belong to which word.

Normaliser, word splitter and the [CLS] … [SEP] frame are BERT's (Devlin et al., 2019). A number that a vocabulary holds
only as a word is spelled out ("2 dogs" is read as "two dogs"), and `unknown_words` names the words that it lacks.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..errors import ItmlabError
from ..storage import fetched, read_json, write_bytes, write_json
from .rules.lexicon import TABLES
from .tokenizer_files import number_pattern, read_tokenizer_file

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

# {"pad_token": "[PAD]", …}, numbered in this order
SPECIAL_TOKENS = {f"{name.lower()}_token": f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP", "MASK")}
VOCABULARY_FILE, NAMES_FILE = "tokenizer.json", "tokenizer_config.json"


def train_wordpiece(captions: Iterable[str], vocabulary_size: int = 1000) -> "PreTrainedTokenizerFast":
    """Train a lower-casing WordPiece tokeniser; the same captions always give the same vocabulary.

    The library's trainer numbers continuation pieces in the order of a randomly seeded hash map, which also decides
    ties between merges. Giving it the sorted alphabet first makes the result deterministic.

    Args:
        captions: the captions.
        vocabulary_size: the most pieces, special tokens included.

    Raises:
        ItmlabError: captions without a word, or a size without room for letters.

    >>> tokenizer = train_wordpiece(["a dog", "a dog runs"], 60)
    >>> tokenizer.convert_ids_to_tokens(tokenizer("A dog.")["input_ids"])
    ['[CLS]', 'a', 'dog', '[UNK]', '[SEP]']
    """
    from tokenizers import Tokenizer, models, trainers

    unknown, split = SPECIAL_TOKENS["unk_token"], caption_splitter()
    tokenizer = _bert_pipeline(Tokenizer(models.WordPiece(unk_token=unknown)))
    sentences = [split(caption) for caption in captions]
    if not any(sentences):
        raise ItmlabError("no word to make a vocabulary from", remedy="give captions with at least one word")
    # The most frequent letters (of equal counts the lower code point), a quarter of the vocabulary at most.
    counts = Counter(letter for words in sentences for word in words for letter in word)
    room = max((vocabulary_size - len(SPECIAL_TOKENS)) // 4, 0)
    alphabet = sorted(sorted(counts, key=lambda letter: (-counts[letter], letter))[:room])
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
    # A new tokeniser from the bare vocabulary: in the trained one every letter counts as a special token.
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    return tokenizer_of_words([piece for piece, _ in pieces][len(SPECIAL_TOKENS) :])


def caption_splitter() -> Callable[[str], list[str]]:
    """Return a function that cuts a caption into lower-case words and signs, as BERT does before it makes pieces.

    >>> caption_splitter()("Two dogs, running!")
    ['two', 'dogs', ',', 'running', '!']
    """
    from tokenizers import Tokenizer, models

    pipeline = _bert_pipeline(Tokenizer(models.WordPiece(unk_token=SPECIAL_TOKENS["unk_token"])))
    normalise, split = pipeline.normalizer.normalize_str, pipeline.pre_tokenizer.pre_tokenize_str
    return lambda caption: [word for word, _ in split(normalise(plain_text(caption)))]


def tokenizer_of_words(words: Sequence[str]) -> "PreTrainedTokenizerFast":
    """Make a lower-casing tokeniser of whole words, numbered in this order after the special tokens.

    Any other word becomes [UNK].

    >>> tokenizer = tokenizer_of_words(["a", "dog"])
    >>> tokenizer.convert_ids_to_tokens(tokenizer("A dog runs")["input_ids"])
    ['[CLS]', 'a', 'dog', '[UNK]', '[SEP]']
    """
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate(dict.fromkeys([*SPECIAL_TOKENS.values(), *words]))}
    bare = _bert_pipeline(Tokenizer(models.WordPiece(vocabulary, unk_token=SPECIAL_TOKENS["unk_token"])))
    return as_plain_text(PreTrainedTokenizerFast(tokenizer_object=bare, **SPECIAL_TOKENS))


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


def as_plain_text(tokenizer: "PreTrainedTokenizerFast") -> "PreTrainedTokenizerFast":
    """Make a tokeniser read special tokens inside a caption, such as "[SEP]", as plain text; return it."""
    tokenizer.backend_tokenizer.encode_special_tokens = True
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    _spell_numbers(tokenizer)
    return tokenizer


def _spell_numbers(tokenizer: "PreTrainedTokenizerFast") -> None:
    """Make the tokeniser read "2 dogs" as "two dogs", for each number that it knows by its word only."""
    from tokenizers import Regex, normalizers

    backend, unknown = tokenizer.backend_tokenizer, tokenizer.unk_token
    by_figure = {"1": "one"} | {str(number): word for word, number in TABLES["numbers"].items() if word != "dozen"}
    encodings = backend.encode_batch([*by_figure, *by_figure.values()], add_special_tokens=False)
    is_known = dict(zip([*by_figure, *by_figure.values()], [unknown not in e.tokens for e in encodings], strict=True))
    spelled = [
        normalizers.Replace(Regex(number_pattern(figure)), word)
        for figure, word in by_figure.items()
        if is_known[word] and not is_known[figure]
    ]
    if spelled:
        backend.normalizer = normalizers.Sequence([n for n in (backend.normalizer, *spelled) if n is not None])


def unknown_words(tokenizer: "PreTrainedTokenizerFast", sentence: str) -> list[str]:
    """Return the words of a sentence that a tokeniser does not know, as written, each once.

    A model sees the same vector in the place of each of them. Punctuation is left out; an emoji counts as a word. A
    tokeniser that cuts every word into letters or bytes has no unknown words.

    Args:
        tokenizer: of a model (`run.model.tokenizer`).
        sentence: a caption or a query.

    >>> unknown_words(tokenizer_of_words(["two", "dogs"]), "2 dogs, zebra 🐶 two")
    ['zebra', '🐶']
    """
    text, unknown = plain_text(sentence), tokenizer.unk_token_id
    encoding = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False)
    pieces = zip(encoding.ids, encoding.offsets, strict=True)
    words = [text[slice(*offsets)] for number, offsets in pieces if number == unknown]
    return list(dict.fromkeys(word for word in words if not all(category(letter)[0] in "PZC" for letter in word)))


def save_tokenizer(tokenizer: "PreTrainedTokenizerFast", directory: str | Path) -> None:
    """Write tokenizer.json and tokenizer_config.json (the names of the special tokens) into `directory`."""
    directory = Path(directory)
    names = {name: getattr(tokenizer, name) for name in (*SPECIAL_TOKENS, "bos_token", "eos_token")}
    write_bytes(directory / VOCABULARY_FILE, tokenizer.backend_tokenizer.to_str(pretty=True).encode())
    write_json(directory / NAMES_FILE, {name: str(token) for name, token in names.items() if token is not None})


def load_tokenizer(directory: str | Path) -> "PreTrainedTokenizerFast":
    """Read what `save_tokenizer` wrote: two JSON files, without running any code.

    Raises:
        ItmlabError: a file is missing or is not a tokeniser.
    """
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    file, remedy = Path(directory, VOCABULARY_FILE), "point at a directory that itmlab saved"
    content = read_tokenizer_file(file, remedy=remedy)
    names = read_json(Path(directory, NAMES_FILE), remedy=remedy)
    known = {*SPECIAL_TOKENS, "bos_token", "eos_token"}
    if not isinstance(names, dict) or not all(k in known and isinstance(v, str) for k, v in names.items()):
        raise ItmlabError("not the names of special tokens", where=str(directory), remedy="save the model again")
    try:
        tokenizer = Tokenizer.from_str(json.dumps(content))
        unknown = getattr(tokenizer.model, "unk_token", None)  # which otherwise is missed at the first unknown word
        if unknown is not None and unknown not in content["model"]["vocab"]:
            raise ValueError(f"its vocabulary lacks {unknown}")
        tokenizer.no_padding()
        tokenizer.encode("a dog, 2 zebras")  # some faults show only now
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a bare Exception for a file that it cannot use, or a panic in Rust
        message = f"not a tokeniser: {' '.join(str(error).split())[:200]}"
        raise ItmlabError(message, where=str(file), remedy="save the model again") from None
    return as_plain_text(PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names))


def public_tokenizer(name: str) -> "PreTrainedTokenizerFast":
    """Read the tokeniser of a public checkpoint, after the checks of `read_tokenizer_file`.

    Args:
        name: a name on the hub, or a folder.

    Raises:
        ItmlabError: there is no such checkpoint, or its tokenizer.json is implausible.
    """
    from transformers import AutoTokenizer
    from transformers.utils import cached_file

    path = fetched(name, lambda: cached_file(name, VOCABULARY_FILE, _raise_exceptions_for_missing_entries=False))
    if path is not None:
        read_tokenizer_file(path)
    return fetched(name, lambda: AutoTokenizer.from_pretrained(name, trust_remote_code=False, use_fast=True))


def encode_captions(
    tokenizer: "PreTrainedTokenizerFast", captions: Sequence[str], maximum_tokens: int
) -> tuple[dict[str, Tensor], int]:
    """Turn captions into token tensors, right-padded to the longest.

    Special tokens spelled out inside a caption are read as plain text.

    Args:
        tokenizer: the tokeniser.
        captions: at least one caption.
        maximum_tokens: longer captions lose their last words, never the closing token.

    Returns:
        Tensors by name, `input_ids` and `attention_mask`, Long["n token"], and `word_mask`, Bool["n token"], true at
        word pieces and false at padding and special tokens; and how many captions were cut.

    Raises:
        ItmlabError: there is no caption.

    >>> tokens, cut = encode_captions(train_wordpiece(["a dog runs"]), ["a dog runs", "a"], 4)
    >>> tokens["word_mask"].int().tolist(), cut  # [CLS] a dog [SEP]; [CLS] a [SEP]
    ([[0, 1, 1, 0], [0, 1, 0, 0]], 1)
    """
    if not captions:
        raise ItmlabError("there is no caption to encode", remedy="give at least one")
    # The backend itself keeps no padding or cutting state, so threads may share it.
    encodings = tokenizer.backend_tokenizer.encode_batch([plain_text(caption) for caption in captions])

    def padded(rows: Iterable[list[int]], padding: int) -> Tensor:
        cut = [row if len(row) <= maximum_tokens else [*row[: maximum_tokens - 1], row[-1]] for row in rows]
        return pad_sequence([torch.tensor(row, dtype=torch.long) for row in cut], True, padding)

    tokens = {
        "input_ids": padded((encoding.ids for encoding in encodings), tokenizer.pad_token_id or 0),
        "attention_mask": padded(([1] * len(encoding.ids) for encoding in encodings), 0),
        "word_mask": padded((encoding.special_tokens_mask for encoding in encodings), 1) == 0,
    }
    return tokens, sum(len(encoding.ids) > maximum_tokens for encoding in encodings)


def caption_words(
    tokenizer: "PreTrainedTokenizerFast", caption: str, maximum_tokens: int
) -> list[tuple[str, list[int]]]:
    """Return the words of a caption as written, each with the positions of its pieces among the caption's tokens.

    Positions count the opening special token: they index the part axis of `Encoded.local`. Words behind the cut are
    left out.

    >>> caption_words(train_wordpiece(["a dog", "a dog"]), "A dog", 16)
    [('A', [1]), ('dog', [2])]
    """
    text = plain_text(caption)
    encoding = tokenizer.backend_tokenizer.encode(text)
    count, offsets = len(encoding.ids), encoding.offsets
    last = maximum_tokens - 1 if count > maximum_tokens else count
    pieces: dict[int, list[int]] = {}
    for at, word in enumerate(encoding.word_ids):
        if word is not None:
            pieces.setdefault(word, []).append(at)
    words = []
    for _, positions in sorted(pieces.items()):
        start, end = offsets[positions[0]][0], offsets[positions[-1]][1]
        while 0 < start < len(text) and text[start - 1 : start + 1].isdecimal():
            start -= 1  # a number that is spelled out stands at its last figure
        if positions[0] < last:
            words.append((text[start:end], [at for at in positions if at < last]))
    return words


# Characters that `cleaned` removes, and characters that become blanks.
_PLAIN = str.maketrans(dict.fromkeys(",.'!?\"()*#:;~") | dict.fromkeys("-/", " "))


def cleaned(caption: str, maximum_words: int) -> str:
    """Return a caption in lower case without punctuation, as FNE's released code reads it (ALBEF's `pre_caption`).

    Hyphens and slashes become blanks and `<person>` "person"; two and more blanks in a row become one.

    >>> cleaned("A <person>'s T-shirt,  red/white.", 4)
    'a persons t shirt'
    """
    text = caption.lower().translate(_PLAIN).replace("<person>", "person")
    text = re.sub(r"\s{2,}", " ", text).rstrip("\n").strip(" ")
    return " ".join(text.split(" ")[:maximum_words])


def plain_text(caption: str) -> str:
    """Return the caption with lone surrogates, which tokenisers refuse, replaced one for one."""
    return caption.encode("utf-8", "replace").decode("utf-8")
