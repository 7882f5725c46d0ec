"""spaCy's English tokeniser, told where the treebank ends its words: "e-mail", "T-shirt", "!!!", "555-1234", "etc."."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy import Language

BEFORE_HYPHEN = ("e", "non", "pre", "anti", "mid", "re", "co", "post", "over", "multi", "pro", "ex", "semi", "sub",
                 "cross", "neo", "un", "counter", "t", "i", "v", "u", "tee")  # fmt: skip
RUNS = (r"[!?]{2,}", r"\*{2,}", r"={2,}", r"_{2,}", r"-{4,}", r"<{2,}", r">{2,}", r"~{2,}", r"#{2,}")
NUMBERS = r"\(?\d{3}\)?[-.]\d{3}[-.]\d{4}|\d{3}-\d{4}"
ABBREVIATIONS = ("Ft.", "ft.", "lb.", "lbs.", "oz.", "No.", "Sr.", "Jr.", "Lt.", "Col.", "Sec.", "Vol.", "Esp.", "esp.",
                 "ext.", "Ph.", "Fax.", "Attn.", "Blvd.", "Ave.", "mins.", "hrs.", "yrs.", "Mon.", "Tue.", "Tues.",
                 "Wed.", "Thur.", "Thurs.", "Fri.", "Sat.", "Sun.", "Rep.", "Reps.", "Sen.", "Conf.", "Que.", "al.",
                 "eg.", "approx.")  # fmt: skip
NO_CONTRACTIONS = ("and/or", "Wed", "wed", "Id", "id", "Shed", "shed")
SPLIT = {"wanna": ("wan", "na"), "Wanna": ("Wan", "na"), "outta": ("out", "ta"), "lotta": ("lot", "ta")}


def fit_tokenizer(pipeline: "Language") -> None:
    """Change the tokeniser of an English pipeline in place; it is saved with the pipeline as plain patterns."""
    from spacy.util import compile_infix_regex, compile_prefix_regex, compile_suffix_regex

    tokenizer, defaults = pipeline.tokenizer, pipeline.Defaults
    tokenizer.prefix_search = compile_prefix_regex([*RUNS, *defaults.prefixes]).search
    tokenizer.suffix_search = compile_suffix_regex([*RUNS, *defaults.suffixes, r"(?<=:\d\d)[AaPp][Mm]"]).search
    kept = "".join(rf"(?<!\b{case(part)})" for part in BEFORE_HYPHEN for case in (str, str.capitalize, str.upper))
    infixes = [kept + infix if _splits_at_hyphens(infix) else infix for infix in defaults.infixes]
    tokenizer.infix_finditer = compile_infix_regex([*RUNS[:3], *infixes]).finditer
    tokenizer.token_match = re.compile(f"^(?:{NUMBERS})$").match
    tokenizer.rules = {word: pieces for word, pieces in tokenizer.rules.items() if word not in NO_CONTRACTIONS}
    for word in ABBREVIATIONS:
        tokenizer.add_special_case(word, [{"ORTH": word}])
    for word, pieces in SPLIT.items():
        tokenizer.add_special_case(word, [{"ORTH": piece} for piece in pieces])


def _splits_at_hyphens(infix: str) -> bool:
    """Whether a pattern is spaCy's for a dash between letters."""
    return bool(re.search(infix, "well-known")) and not re.search(infix, "and/or")
