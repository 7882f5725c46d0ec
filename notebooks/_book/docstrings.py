"""Docstrings as this project writes them, prepared for Sphinx: code in single backticks, formulas in indented lines."""

import re
from typing import Any

from sphinx.ext import autosummary

ABBREVIATIONS = ("Eq.", "Eqs.", "Fig.", "Sec.")  # they do not end the first sentence of a summary
SECTIONS = {"Args:", "Attributes:", "Raises:", "Returns:", "Yields:", "References:", "Example:", "Examples:", "Note:"}


def format_docstring(app: Any, kind: str, name: str, member: Any, options: Any, lines: list[str]) -> None:
    """Escape what reStructuredText would read as markup, mark code, and keep indented formulas as literal blocks."""
    formatted: list[str] = []
    previous, base, is_literal, is_example = "", 0, False, False
    for line in lines:
        text = line.strip()
        is_example = bool(text) and (is_example or text.startswith(">>>"))
        if text and not is_example:
            is_deeper = indent(line) > indent(previous)
            begins_formula = is_deeper and formatted[-1:] == [""] and previous.endswith(":")
            if begins_formula and previous.strip() not in SECTIONS and not previous.endswith("::"):
                formatted[-1:] = ["", " " * indent(previous) + "::", ""]
                is_literal = True
            elif previous.endswith("::") and is_deeper:
                is_literal = True
            elif is_literal and indent(line) <= base:
                is_literal = False
            if not is_literal:
                base = indent(line)
        formatted.append(line if is_example or is_literal else mark_up(line))
        previous = line if text else previous
    lines[:] = formatted


def indent(line: str) -> int:
    """Count the spaces that a line begins with."""
    return len(line) - len(line.lstrip())


def mark_up(line: str) -> str:
    """Mark a line's code and references, and escape the rest."""
    parts = re.split(r"(``.+?``|`[^`]+`)", line)
    return "".join(mark_code(part) if part.startswith("`") else escape(part) for part in parts)


def mark_code(part: str) -> str:
    """Turn code into a link if it is a name, else into literal text."""
    code = part.strip("`")
    if re.fullmatch(r"[A-Za-z_][\w.]*", code) and not part.startswith("``"):
        return f":py:obj:`{code}`\\ "
    return f"``{code}``\\ "


def escape(text: str) -> str:
    """Escape characters that mean something to reStructuredText, and link sections of METHODS.md."""
    escaped = re.sub(r"([*|])|_(?=\W|$)", r"\\\g<0>", text)
    return re.sub(r"METHODS(?:\.md)? (\d(?:\.\d+)?)", r":ref:`METHODS \1 <methods-\1>`", escaped)


def skip_tuple_field(app: Any, kind: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples, whose generated docstrings say nothing."""
    return True if type(member).__name__ == "_tuplegetter" else None


def setup(app: Any) -> dict[str, bool]:
    """Connect the formatter to autodoc."""
    autosummary.WELL_KNOWN_ABBREVIATIONS += ABBREVIATIONS
    app.connect("autodoc-process-docstring", format_docstring)
    app.connect("autodoc-skip-member", skip_tuple_field)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
