"""The book: notebooks as they ran, the reference from docstrings, and the pages beside this file, as static HTML.

Nothing is fetched, neither when it is built nor when it is read: formulas are MathML, plotly.js comes from its package,
and a Content-Security-Policy in each page refuses the rest.
"""

import base64
import hashlib
import html
import inspect
import io
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ItmlabError
from ..storage import cores, read_json, refuse_foreign, usable, write_bytes
from ..storage import profile as profile_named
from ..studies.kit.places import shipped_directory
from ..studies.tour import TOUR, Force, find_notebooks, tour

HERE = Path(__file__).parent
PAGES = HERE / "pages"
BOOK = "itmlab_book"  # in the head of each page, by which the next build knows that it may overwrite them
ROOMS = ("data", "text", "models", "samplers", "losses", "metrics", "synthesis", "train")
PLOTLY, WIDGET = "application/vnd.plotly.v1+json", "application/vnd.jupyter.widget-view+json"
PICTURES = {"image/jpeg": "jpg", "image/png": "png"}  # ours, and what JupyterLab's extension of plotly adds


def book(
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Where the pages go.")] = Path("runs/book"),
    executed: Annotated[Path, typer.Option(help="Where executed notebooks are, and go.")] = Path("runs/tour"),
    run: Annotated[bool, typer.Option(help="Run the notebooks that are not there as they now read.")] = True,
    profile: Annotated[str, typer.Option(help="quick: minutes; full: what made the committed figures.")] = "quick",
    force: Force = False,
) -> None:
    """Build the book as static HTML, from the notebooks of a tour or by running them."""
    notebooks, chosen = find_notebooks(), profile_named(profile)
    missing = [path for path in notebooks if not _ran(executed / path.name, path)]
    left_out = {path.stem for path in missing}
    if run and missing:
        for path in missing:
            refuse_foreign(executed / path.name, TOUR, force=force)
        stops = tour(missing, executed.resolve(), profile=chosen, jobs=min(2, cores()))
        if failed := [stop.notebook for stop in stops if not stop.passed]:
            raise ItmlabError(f"not every notebook ran to its end: {', '.join(failed)}", remedy="python -m itmlab tour")
        left_out -= {stop.notebook for stop in stops}  # all of them, but for a notebook whose extra is not installed
    if left_out:
        print(f"without outputs: {', '.join(sorted(left_out))}")
    shown = [path if path.stem in left_out else executed / path.name for path in notebooks]
    print(f"building the book of {len(shown)} notebooks (half a minute) …", flush=True)
    print(build(shown, out, commands=context.find_root().command, force=force))


def _ran(executed: Path, notebook: Path) -> bool:
    """Whether `executed` is the notebook as it now reads, run to its end by a tour."""
    if not executed.is_file():
        return False
    ran, now = read_json(executed), read_json(notebook)
    outputs = [output for cell in ran["cells"] for output in cell.get("outputs", ())]
    failed = any(output["output_type"] == "error" for output in outputs)
    same = [_text(cell) for cell in ran["cells"]] == [_text(cell) for cell in now["cells"]]
    return same and not failed and TOUR in ran["metadata"]


def _text(cell: Mapping[str, Any]) -> str:
    return "".join(cell["source"])


SETTINGS: dict[str, Any] = {
    "project": "itmlab",
    "language": "en",
    "html_title": "itmlab",
    "extensions": ["myst_nb", "sphinx.ext.autodoc", __name__],
    "html_theme": "furo",
    "html_static_path": ["_static"],
    "html_css_files": ["book.css"],
    "html_js_files": ["figures.js"],
    "html_math_renderer": "mathml",
    "html_copy_source": False,
    "html_show_copyright": False,
    "html_show_search_summary": False,  # it would fetch each page found
    "myst_enable_extensions": ["colon_fence", "deflist", "dollarmath"],
    "myst_heading_anchors": 4,
    "nb_execution_mode": "off",
    "nb_ipywidgets_js": {},  # they would come from the network
    "autodoc_typehints_format": "short",
    "python_maximum_signature_line_length": 88,
    "toc_object_entries_show_parents": "hide",
}


def build(notebooks: Sequence[Path], out: Path, *, commands: Any = None, force: bool = False) -> Path:
    """Write the book of these notebooks, with whatever outputs they have, into the folder `out`; gives its first page.

    `commands` is the group whose help becomes a page. A folder that holds something else, a missing package and
    whatever Sphinx warns of (a link that leads nowhere, a page in no table of contents) are an ItmlabError.
    """
    try:
        from sphinx.application import Sphinx
    except ImportError:
        raise ItmlabError("Sphinx is not installed", remedy="pip install -c constraints.txt -e '.[book]'") from None
    page, warnings = out / "index.html", io.StringIO()
    if not refuse_foreign(page, BOOK, force=force) and out.is_dir() and any(out.iterdir()) and not force:
        raise ItmlabError("something else is in this folder", where=str(out), remedy="name another one, or --force")
    with usable(out), tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "source", Path(folder) / "html"
        write_sources(source, notebooks, commands)
        Sphinx(source, None, made, Path(folder) / "doctrees", "html", SETTINGS, None, warnings).build()
        if told := re.sub(r"\x1b\[[\d;]*m", "", warnings.getvalue()).replace(f"{source}/", "").split("\n")[:-1]:
            raise ItmlabError(f"Sphinx warns {len(told)} times: {'; '.join(told[:9])}", remedy="mend the pages named")
        shutil.copytree(made, out, dirs_exist_ok=True)
    return page


# Sources: laid out as the project is, so that a link in a page leads to the same place.


def write_sources(source: Path, notebooks: Sequence[Path], commands: Any) -> None:
    """What Sphinx reads: our pages, the project's, the notebooks, one page a room of the package, the static files."""
    pages = {path.name: _at_the_top(path) for path in PAGES.glob("*.md") if path.name != "reference.md"}
    root = shipped_directory()
    package = HERE.parent
    for name in ("CONTRIBUTING.md", "SECURITY.md"):
        pages[name] = (root / name).read_text(encoding="utf-8")
    # a target at each numbered heading, to which docstrings refer
    numbered = re.compile(r"^(#+ (\d(?:\.\d+)?)\.? )", re.MULTILINE)
    methods = (package / "METHODS.md").read_text(encoding="utf-8")
    pages["itmlab/METHODS.md"] = numbered.sub(r"(methods-\2)=\n\1", methods)
    for name in ("README.md", "LICENSE.md"):
        pages[f"itmlab/text/english/{name}"] = (package / "text" / "english" / name).read_text(encoding="utf-8")
    static = source / "_static"
    for path in notebooks:
        pages[f"notebooks/{path.name}"] = json.dumps(with_pictures(read_json(path), static / "figures")).replace(
            "(../itmlab/book/pages/", "(../"
        )
    titles = {path.stem: opening(read_json(path)) for path in notebooks}
    gallery, items = figure_pages(root / "figures", titles)
    made = {"index": notebook_list(titles), "figures": gallery, "papers": items, "claims": claim_rows()}
    pages |= {f"{name}.md": filled(pages[f"{name}.md"], name, content) for name, content in made.items()}
    pages["glossary.md"] = with_terms(pages["glossary.md"])
    pages["commands.md"] = command_page(commands)
    pages.update(reference_pages())
    for name, content in pages.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(content, encoding="utf-8")
    shutil.copytree(
        root / "figures", source / "figures", ignore=shutil.ignore_patterns("*.json", "*.html", "*.js", "quick")
    )
    from plotly.offline import get_plotlyjs

    static.mkdir(exist_ok=True)
    (static / "plotly.min.js").write_text(get_plotlyjs(), encoding="utf-8")
    for name in ("book.css", "figures.js"):
        shutil.copy(HERE / name, static)


def _at_the_top(page: Path) -> str:
    """One of our pages, as if it lay beside README.md: so its links lead on from here and from where it lies."""
    return page.read_text(encoding="utf-8").replace("](../../../", "](").replace("](../../", "](itmlab/")


def filled(page: str, name: str, content: str) -> str:
    """The page with `content` between its marks `<!-- name -->` and `<!-- /name -->`, for what stands there.

    >>> filled("<!-- rows -->\\nIn the book ...\\n<!-- /rows -->", "rows", "| 1 |")
    '<!-- rows -->\\n\\n| 1 |\\n\\n<!-- /rows -->'
    """
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, _, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    if not ended:
        raise ValueError(f"a page without {begin} … {end}")
    return f"{before}{begin}\n\n{content}\n\n{end}{after}"


def with_terms(glossary: str) -> str:
    """The glossary, plain Markdown where the page lies, with entries and links as Sphinx has them, for its index."""
    entry = re.compile(r'^<a id="(term-[^"]+)"></a>\*\*(.+?)\*\*\. (.+)$', re.MULTILINE)
    terms = {place: term for place, term, _ in entry.findall(glossary)}
    page = re.sub(r"\[([^]]+)\]\(#(term-[^)]+)\)", lambda link: f"{{term}}`{link[1]} <{terms[link[2]]}>`", glossary)
    return entry.sub(r"```{glossary}\n\2\n    \3\n```", page)


def opening(notebook: Mapping[str, Any]) -> tuple[str, str]:
    """A notebook's title, and what one will see."""
    text = _text(notebook["cells"][0])
    title, told = text.splitlines()[0].lstrip("# "), re.search(r"\*\*What you will see\.\*\* (.*)", text)
    return title, told[1] if told else ""


def notebook_list(titles: Mapping[str, tuple[str, str]]) -> str:
    """The notebooks as a table of what each shows, and as a table of contents."""
    rows = ["| notebook | what you will see |", "| --- | --- |"]
    rows += [f"| [{stem[:2]} {title}](notebooks/{stem}.ipynb) | {told} |" for stem, (title, told) in titles.items()]
    entries = [f"{stem[:2]} {title} <notebooks/{stem}>" for stem, (title, _) in titles.items()]
    return "\n".join([*rows, "", "```{toctree}", ":hidden:", ":caption: Notebooks", "", *entries, "```"])


def with_pictures(notebook: dict[str, Any], static: Path) -> dict[str, Any]:
    """The notebook with each figure as a picture that `figures.js` brings to life; data and pictures go to `static`."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if PLOTLY in data:
                output["data"] = {"text/html": _figure(data, static)}
            elif WIDGET in data:  # an explorer lives in JupyterLab only
                data.pop(WIDGET)
    return notebook


def _figure(data: Mapping[str, Any], static: Path) -> str:
    figure = {part: data[PLOTLY][part] for part in ("data", "layout")}
    told = json.dumps(figure, ensure_ascii=False, separators=(",", ":"))
    name, layout = hashlib.sha256(told.encode()).hexdigest()[:16], figure["layout"]
    write_bytes(static / f"{name}.js", f'itmlabFigure("{name}", {told});'.encode())
    words = html.unescape(re.sub(r"<[^>]+>", " ", layout.get("title", {}).get("text", "")))
    said = f'alt="{html.escape(" ".join(words.split()))}"'
    width, height = int(layout.get("width", 700)), int(layout.get("height", 450))
    if kind := next((kind for kind in PICTURES if kind in data), None):
        picture = f"{name}.{PICTURES[kind]}"
        write_bytes(static / picture, base64.b64decode(data[kind]))
        said += f' src="../_static/figures/{picture}" width="{width}" height="{height}" loading="lazy"'
    return f'<div class="itmlab-figure" data-figure="{name}" data-width="{width}"><img {said}><div hidden></div></div>'


# Pages that are made: figures by question, items of the papers, commands, the reference.


def figure_pages(directory: Path, titles: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    """The gallery, and the table from an item of a paper to figure, notebook and command."""
    from ..studies.kit.saving import questions

    number = {stem[:2]: stem for stem in titles}
    gallery, rows = [], []
    for question, figures in questions().items():
        gallery.append(f"## {question}\n\n::::{{container}} gallery")
        for name, (item, says) in figures.items():
            origin = read_json(directory / f"{name}.json")["provenance"]
            notebook = number.get(origin["notebook"])
            where = f"[notebook {origin['notebook']}](notebooks/{notebook}.ipynb)" if notebook else ""
            told = f"{item}: {says}" if item else f"{says[0].upper()}{says[1:]}"
            options = f":alt: {told}\n:name: figure-{name}"
            gallery.append(f":::{{figure}} figures/{name}.png\n{options}\n\n{told} ({where})\n:::")
            if item:
                command = f"`python -m itmlab tour --profile full --only {origin['notebook']}`"
                rows.append((item, f"| {item} | [`{name}`](#figure-{name}): {says} | {where} | {command} |"))
        gallery.append("::::\n")
    heading = ["| item | figure | notebook | command |", "| --- " * 4 + "|"]
    return "\n".join(gallery), "\n".join([*heading, *(row for _, row in sorted(rows))])


def claim_rows() -> str:
    """The ledger of claims as tables, one a paper: what is said, the paper's number, ours, and the verdict."""
    from ..papers import entries, items
    from ..papers.drawing import measured, printed_number

    parts = []
    for paper in dict.fromkeys(name.partition(".")[0] for name in entries()):
        chosen = items(paper)
        rows = ["| item | claim | the paper | here (95 % interval) | how, or why not |", "| --- " * 5 + "|"]
        for item in chosen:
            shown = ", ".join(f"[`{name}`](#figure-{name})" for name in item["figures"])
            rows += [f"| {item['item']} | *{item['title']}* | | {shown} | {item['why not']} |"] * (not item["claims"])
            for row in item["claims"]:
                least = f"; {row['smallest']:.2g} would have been seen" if row["verdict"] == "not seen" else ""
                command = f"; `{row['command']}`" if row["command"] else ""
                why = re.sub(r"(python -m itmlab .*)", r"`\1`", row["why not"])  # `--` stays as it is
                how = row["by"] if row["verdict"] != "not run" else f"{why}{command}"
                said = f"**{row['verdict']}**{measured(row).removeprefix(row['verdict'])} {row['unit']}{least}"
                rows.append(f"| {item['item']} | {row['claim']} | {printed_number(row)} | {said} | {how} |")
        parts.append(f"## {chosen[0]['item'].partition(',')[0]}\n\n" + "\n".join(rows))
    return "\n\n".join(parts)


def command_page(commands: Any) -> str:
    """The help of every command."""
    import click

    pages = ["# Commands\n\nEach is `python -m itmlab COMMAND`, or `itmlab COMMAND`."]
    for name, command in sorted(getattr(commands, "commands", {}).items()):
        told = command.get_help(click.Context(command, info_name=f"python -m itmlab {name}", terminal_width=100))
        pages.append(f"## {name}\n\n```text\n{told}\n```")
    return "\n\n".join(pages)


def reference_pages() -> Iterator[tuple[str, str]]:
    """A page for each room: what it says of itself, and each public function and class from its docstring."""
    studies = [f"studies.{name}" for name in import_module("itmlab.studies").__all__ if name != "parser"]
    modules = ["itmlab", *(f"itmlab.{name}" for name in (*ROOMS, "scenes", *studies))]
    entries, rows = [], ["| room | |", "| --- | --- |"]
    for name in modules:
        module = import_module(name)
        parts = [name, "=" * len(name), "", f".. automodule:: {name}", "   :no-members:", ""]
        for each, kind in sorted(_public(module)):
            parts += [f".. auto{kind}:: {name}.{each}", *["   :members:"] * (kind == "class"), ""]
        if name == "itmlab.train":
            parts += ["The recipes", "-----------", "", *_recipes()]
        yield f"reference/{name}.rst", "\n".join(parts)
        entries.append(name)
        rows.append(f"| [`{name}`]({name}.rst) | {(module.__doc__ or '').splitlines()[0]} |")
    made = "\n".join([*rows, "", "```{toctree}", ":hidden:", ":maxdepth: 1", "", *entries, "```"])
    yield "reference/index.md", filled((PAGES / "reference.md").read_text(encoding="utf-8"), "reference", made)


def _public(module: Any) -> Iterator[tuple[str, str]]:
    """The functions and classes that a module hands out: those in `__all__`, else its own.

    Sphinx gives a class one place: `itmlab.Run` stands in its room.
    """
    handed = getattr(module, "__all__", None)
    for name in handed or vars(module):
        thing = getattr(module, name)
        home = getattr(thing, "__module__", None)
        elsewhere = module.__name__ == "itmlab" and home in ("itmlab.train.run", "itmlab.train.recipes")
        ours = home == module.__name__ or (handed and not elsewhere)
        if ours and not name.startswith("_") and (inspect.isclass(thing) or inspect.isfunction(thing)):
            yield name, "class" if inspect.isclass(thing) else "function"


def _recipes() -> Iterator[str]:
    from ..train import names
    from ..train import recipe as named_recipe

    yield from (".. list-table::", "   :header-rows: 1", "")
    rows: list[Sequence[str]] = [("name", "model", "sampler", "loss")]
    for name in names():
        recipe = named_recipe(name)
        classes = ("" if part is None else part.class_name() for part in (recipe.sampler, recipe.loss))
        rows.append((name, type(recipe.model).__name__.removesuffix("Config"), *classes))
    for row in rows:
        yield from (f"   {' ' if place else '*'} - {cell}" for place, cell in enumerate(row))


# What Sphinx is told: docstrings as we write them, formulas as MathML, nothing from elsewhere.


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx: this package is an extension of it."""
    app.add_html_math_renderer("mathml", (_inline_formula, None), (_formula, None))
    app.connect("autodoc-process-docstring", _docstring)
    app.setup_extension("sphinx.ext.napoleon")  # after ours: sections such as "Args:"
    app.connect("autodoc-skip-member", lambda app, what, name, thing, skip, options: skip or _is_field(thing))
    app.connect("html-page-context", _head)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline_formula(writer: Any, node: Any) -> None:
    _formula(writer, node, as_block=False)


def _formula(writer: Any, node: Any, *, as_block: bool = True) -> None:
    from docutils.nodes import SkipNode
    from docutils.utils.math.latex2mathml import tex2mathml

    writer.body.append(tex2mathml(node.astext(), as_block=as_block))
    raise SkipNode


def _is_field(thing: Any) -> bool:
    return type(thing).__name__ == "_tuplegetter"  # of a NamedTuple: "Alias for field number 0"


def _head(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Only what lies beside the page is loaded; furo's own script and styles are in it."""
    policy = "default-src 'none'; script-src 'self' file: 'unsafe-inline'; style-src 'self' file: 'unsafe-inline'; "
    policy += "img-src 'self' file: data: blob:; base-uri 'none'; form-action 'self' file:"
    told = f'<meta http-equiv="Content-Security-Policy" content="{policy}"><meta name="generator" content="{BOOK}">'
    context["metatags"] = told + context.get("metatags", "")


def _docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Our docstrings (paragraphs, `code`, lists, indented formulas, examples) as reStructuredText."""
    made: list[str] = []
    for block in re.split(r"\n\s*\n", "\n".join(lines).rstrip()):
        text, begins, example = block.partition(">>> ")
        if text.startswith(" "):
            made += ["::", "", *(f"   {line}" for line in text.splitlines()), ""]
        elif text.strip():
            made += [*_marked(text.rstrip()).splitlines(), ""]
        if begins:
            made += [*(begins + example).splitlines(), ""]
    lines[:] = made


def _marked(text: str) -> str:
    parts = re.split(r"`([^`]+)`", text)
    for place, part in enumerate(parts):
        if place % 2 == 0:
            escaped = re.sub(r"([\\*|_`\[\]<>])", r"\\\1", part)
            parts[place] = re.sub(r"METHODS (\d(?:\.\d+)?)", r":ref:`METHODS \1 <methods-\1>`", escaped)
        elif re.fullmatch(r"[A-Za-z][\w.]*", part):
            parts[place] = f":py:obj:`{part}`\\ "
        else:
            parts[place] = f"``{part}``\\ "
    return "".join(parts)
