"""Pages of the project that lie outside `notebooks/`, links between pages, formulas, and the policy of every page."""

import json
import os
import re
from pathlib import Path
from typing import Any

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

SOURCE = Path(__file__).resolve().parents[1]
ROOT = SOURCE.parent
PROJECT_PAGES = {  # page of the book -> the file of the project that it shows
    "guide/methods": ROOT / "itmlab" / "METHODS.md",
    "guide/contributing": ROOT / "CONTRIBUTING.md",
    "guide/security": ROOT / "SECURITY.md",
    "guide/parser": ROOT / "itmlab" / "text" / "english" / "README.md",
    "guide/parser_licence": ROOT / "itmlab" / "text" / "english" / "LICENSE.md",
}
DOCUMENTS = {path: name for name, path in PROJECT_PAGES.items()} | {ROOT / "README.md": "index"}
GLOSSARY = SOURCE / "guide" / "glossary.md"
TERM = re.compile(r'^<a id="(term-[^"]+)"></a>\*\*(.+?)\*\*\. (.+)$', re.MULTILINE)
LINK = re.compile(r"(!?)\[([^\]\n]*)\]\(([^)\s#:]*)(#[^)\s]*)?\)")
NUMBERED_HEADING = re.compile(r"^(#+ (\d(?:\.\d+)?)\.? )", re.MULTILINE)
POLICY = (
    "default-src 'none'; script-src 'self' file: 'unsafe-inline'; style-src 'self' file: 'unsafe-inline'; "
    "img-src 'self' file: data: blob:; base-uri 'none'; form-action 'self' file:"
)


def read_source(app: Any, document: str, source: list[str]) -> None:
    """Prepare a page for Sphinx: project pages are read from their own files, links lead to pages of the book."""
    path = PROJECT_PAGES.get(document)
    folder = path.parent if path else (SOURCE / document).parent
    text = path.read_text(encoding="utf-8") if path else source[0]
    text = rewrite_links(text, folder)
    if document == "guide/methods":  # docstrings refer to its numbered headings
        text = NUMBERED_HEADING.sub(r"(methods-\2)=\n\1", text)
    if document == "guide/glossary":
        text = TERM.sub(r"```{glossary}\n\2\n    \3\n```", text)
    if document == "index":
        text = text.replace(":glob:\n\n[0-9]*", "\n" + "\n".join(numbered_notebooks()))
    source[0] = text


def numbered_notebooks() -> list[str]:
    """Name each notebook by its number and title for the table of contents: "00 Start here <00_start_here>"."""
    entries = []
    for path in sorted(SOURCE.glob("[0-9]*.ipynb")):
        first_cell = json.loads(path.read_text(encoding="utf-8"))["cells"][0]
        title = "".join(first_cell["source"]).splitlines()[0].lstrip("# ")
        entries.append(f"{path.stem[:2]} {title} <{path.stem}>")
    return entries


def rewrite_links(text: str, folder: Path) -> str:
    """Turn links between files of the project into links between pages; what has no page becomes plain text."""
    terms = {anchor: term for anchor, term, _ in TERM.findall(GLOSSARY.read_text(encoding="utf-8"))}

    def rewrite(match: re.Match[str]) -> str:
        image, label, target, anchor = match[1], match[2], match[3], match[4] or ""
        if anchor[1:] in terms:
            return f"{{term}}`{label} <{terms[anchor[1:]]}>`"
        if not target:
            return match[0]
        path = Path(os.path.normpath(folder / target))
        if image:
            return f"![{label}](/{os.path.relpath(path, SOURCE)})"
        if path in DOCUMENTS:
            return f"[{label}](/{DOCUMENTS[path]}.md{anchor})"
        if path.is_relative_to(SOURCE) and path.is_file():
            return f"[{label}](/{path.relative_to(SOURCE)}{anchor})"
        return label if path.exists() else match[0]  # a file that does not exist stays, and Sphinx warns of it

    return LINK.sub(rewrite, text)


def show_formula(writer: Any, node: Any, *, as_block: bool = True) -> None:
    """Write a formula as MathML."""
    writer.body.append(tex2mathml(node.astext(), as_block=as_block))
    raise SkipNode


def show_inline_formula(writer: Any, node: Any) -> None:
    """Write a formula within a line as MathML."""
    show_formula(writer, node, as_block=False)


def add_policy(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Let each page load only what lies beside it."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    context["metatags"] = policy + context.get("metatags", "")


def setup(app: Any) -> dict[str, bool]:
    """Connect the functions of this file to Sphinx."""
    app.add_html_math_renderer("mathml", (show_inline_formula, None), (show_formula, None))
    app.connect("source-read", read_source)
    app.connect("html-page-context", add_policy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
