"""Captions as lists of words, in the two ways that caption metrics cut them: at spaces, and as the Penn Treebank does.

The second as the captioning toolkit (Chen et al. 2015) gets it from Stanford's tokeniser, version 3.4.1 (Manning et al.
2014). Written from that program's answers to probes, not from its source. Known to differ: a single letter before the
full stop that ends a caption, telephone numbers with spaces, rare emoticons.
"""

import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal
from unicodedata import category

from ..errors import ItmlabError

Tokenise = Literal["whitespace", "penn"]


class WordlessCaptions(UserWarning):
    """Captions without a word count as empty."""


# Words that keep their full stop; the capitalised ones only so; the last only before a number.
_ABBREVIATIONS = (
    r"adj|adm|adv|al|ala|alex|apr|ariz|assn|atty|attys|aug|ave|bhd|blvd|brig|bros|calif|capt|cf|cie|co|col|"
    r"colo|conn|corp|cos|cpl|ct|dak|dec|dept|det|dr|drs|ens|esq|est|etc|ext|feb|fla|fri|ft|ga|gen|gov|hon|inc|"
    r"ind|intl|jan|jos|jr|jul|jun|kan|ky|lieut|lt|ltd|maj|mar|md|messrs|mfg|mich|minn|mme|mo|mon|mont|mr|mrs|"
    r"ms|mt|mtg|natl|neb|nev|nov|oct|okla|penn|pfc|ph|plc|prof|pte|pty|pvt|rd|rep|reps|rev|rt|sen|sens|sep|"
    r"sept|seq|sfc|sgt|spc|sq|sr|st|ste|supt|sys|tel|tenn|thu|thurs|tue|tues|univ|va|vs|vt|wed|wis|wisc|wm|wyo"
)
_CAPITALISED = "Ark|Az|Del|Ill|La|Mass|Miss|Ore|Pa|Tex|Wash|ARK|AZ|DEL|ILL|LA|MASS|MISS|ORE|PA|TEX|WASH"
_BEFORE_A_NUMBER = "art|ca|figs?|nos?|op|pp?|prop"

_LETTER = r"[^\W\d_]"
_SIGN = r"[^\W_]"  # a letter or a digit
_END = rf"(?!{_SIGN})"

_TOKEN = rf"""
    [A-Za-z]+ (?=\s|\Z)  # most words by far: the rest of the list need not be tried
  | </?[A-Za-z][^<>]*> | <!--.{{0,999}}?-->
  | https?://[^\s"<>]*[^\s"<>.,;:!?'()\-]
  | \w[\w.+-]{{0,63}}@[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)* | [@#][A-Za-z]\w*
  | [<>]?[:;=][-o*']?[()DPO{{}}\[\]|\\] (?!{_SIGN})
  | &\#?\w+;
  | '' | ``
  | (?i:'t (?=is\b|was\b) | 'n' | '(?:em|til|cause|n){_END} | '\d0s\b | '\d\d(?=\s))
  | (?i:n['`]t{_END} | '(?:s|d|m|ll|re|ve){_END})
  | (?i:y'(?=all\b) | (?:dunkin|somethin|ol)'{_END})
  | (?i:{_LETTER}+? (?=n['`]t{_END}))
  | [A-Z]+ (?:[+&][A-Z]+)+
  | (?i:ph\.d\.){_END}
  | [A-Za-z](?:\.[A-Za-z])+ \. {_END} (?:-{_SIGN}+)* | [A-Za-z]\. {_END} (?!\s*\Z)
  | (?:(?i:{_ABBREVIATIONS}) | {_CAPITALISED}) \. {_END}
    (?:-{_SIGN}+)*
  | (?i:{_BEFORE_A_NUMBER})\. (?=\s*\d)
  | (?i:ma'am\b | (?:[dol]|qu)'{_LETTER}{_SIGN}*) (?:-{_SIGN}+)*
  | [A-Za-z]\+\+ | [CFcf]\# | (?:US|HK|NZ|[AC])\$
  | {_LETTER}{_SIGN}* (?:[.!?]{_LETTER}{_SIGN}*)+ (?:-{_SIGN}+)*
  | [+-]?\d*(?:[.,:]\d+)+
  | {_SIGN}+ (?:[-/_]{_SIGN}+)*
  | [+-]\d+
  | \.+ | [!?]+ | -{{5,}} | -+ | \#+ | \*+ | _+ | @+ | <<|>>
  | \S
"""

_WRITTEN = {  # what becomes of single signs; the empty string is a sign left out
    "(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-",
    "&lt;": "<", "&gt;": ">", "&quot;": "", "&apos;": "",
    "€": "$", "£": "#", "¢": "cents", "½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3",
} | dict.fromkeys(
    [*".?!,:;-…–—―'`\"«»‹›“”‐‑‒", "''", "``", "--", "---", "----"], ""
)  # fmt: skip
_TWO_WORDS = {"cannot": 3, "gonna": 3, "gotta": 3, "wanna": 3, "lemme": 3, "gimme": 3}  # cut after so many letters
_BRACKETS = re.compile(r"[()\[\]{}]")
_UNSEEN = dict.fromkeys([0xAD]) | {ord("’"): "'", ord("‘"): "'", 0x200B: " ", 0x0B: " "}


def penn_words(caption: str) -> list[str]:
    """Return the lower-cased words of a caption without its punctuation.

    Brackets stay, as "-lrb-", as they do in the captioning toolkit, whose list of punctuation has them in capitals.

    >>> penn_words("The man's dog doesn't run (much).")
    ['the', 'man', "'s", 'dog', 'does', "n't", 'run', '-lrb-', 'much', '-rrb-']
    """
    text = caption.replace("&amp;", "&").replace("&nbsp;", " ").translate(_UNSEEN)
    return [word for token in re.findall(_TOKEN, text, re.VERBOSE) for word in _written(token)]


@lru_cache(1 << 16)
def _written(token: str) -> tuple[str, ...]:
    """Return the words that stand for a token: none for punctuation, two for "cannot"."""
    token = "" if token.startswith("..") else _WRITTEN.get(token, token).lower()
    if len(token) == 1:
        return () if ord(token) > 0xFFFF else (token,)
    if token in _TWO_WORDS:
        return token[: _TWO_WORDS[token]], token[_TWO_WORDS[token] :]
    if not token[:1].isalnum():  # an emoticon, the only kind of word with brackets
        token = _BRACKETS.sub(lambda match: _WRITTEN[match[0]], token)
    return tuple(token.split())


def caption_words(captions: Sequence[str], tokenise: Tokenise, *, kind: str = "caption") -> list[list[str]]:
    """Return the lower-cased words of each caption, split at spaces (the public NCS code) or by `penn_words`.

    A caption of nothing but punctuation has no words, and one warning counts these.

    Raises:
        ItmlabError: a caption is not a string (with its number).
    """
    if tokenise not in ("whitespace", "penn"):
        raise ItmlabError(f"captions cannot be tokenised by {tokenise!r}", remedy='choose "whitespace" or "penn"')
    if isinstance(captions, str | bytes):
        raise ItmlabError(f"{kind}s must be a list of strings, not one string", remedy=f"put the {kind} into a list")
    words_of: dict[str, list[str]] = {}
    empty = []
    for index, caption in enumerate(captions):
        if not isinstance(caption, str):
            raise ItmlabError(f"{kind} {index} is {caption!r}, not a string")
        if caption not in words_of:
            words = penn_words(caption) if tokenise == "penn" else caption.lower().split()
            words_of[caption] = words if any(map(_says_something, words)) else []
        if not words_of[caption]:
            empty.append(index)
    if empty:
        first = f"{kind} {empty[0]} ({captions[empty[0]][:60]!r})"
        warnings.warn(f"no word in {first}, one of {len(empty)} that count as empty", WordlessCaptions, stacklevel=3)
    return [words_of[caption] for caption in captions]


def reference_words(references: Sequence[Sequence[str]], tokenise: Tokenise) -> tuple[list[list[str]], list[int]]:
    """Return the words of all references, image by image, and how many each image has; errors as `caption_words`."""
    if isinstance(references, str | bytes) or any(isinstance(captions, str | bytes) for captions in references):
        raise ItmlabError("references must be a list of captions for each image, not strings")
    counts = []
    for image, captions in enumerate(references):
        if not hasattr(captions, "__len__"):
            raise ItmlabError(f"the references of image {image} are {captions!r}, not a list of captions")
        if len(captions) == 0:
            raise ItmlabError(f"image {image} has no reference", remedy="leave images without captions out")
        counts.append(len(captions))
    if not counts:
        raise ItmlabError("there are no references")
    words = caption_words([caption for captions in references for caption in captions], tokenise, kind="reference")
    if not any(words):
        raise ItmlabError("no reference has a word in it", remedy="write what they should say")
    return words, counts


def _says_something(word: str) -> bool:
    """Return whether a word holds more than punctuation."""
    return word[:1].isalnum() or not all(category(character).startswith("P") for character in word)
