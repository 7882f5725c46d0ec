"""Settings of the book: `sphinx-build -W notebooks runs/book` builds it from the notebooks and the pages beside them.

Nothing is executed and nothing is fetched, neither when the book is built nor when it is read: notebooks are shown with
their committed outputs, figures are static pictures, formulas are MathML.
"""

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "_book")]

project = "itmlab"
language = "en"
smartquotes_action = "q"  # quotation marks only: the two hyphens of an option stay
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "docstrings",  # before napoleon, so that it sees docstrings as they are written
    "sphinx.ext.napoleon",
    "pages",
    "tables",
]
exclude_patterns = ["workshop", "_book", "_templates", "**/.ipynb_checkpoints"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = "itmlab"
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_copyright = False
html_show_search_summary = False  # summaries would fetch every page that the search finds

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
suppress_warnings = ["config.cache"]

nb_execution_mode = "off"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # the default would load widgets from a network
nb_mime_priority_overrides = [
    ("html", "image/svg+xml", 1),  # the picture beside an interactive figure is what the book shows
    ("html", "image/png", 2),
    ("html", "image/jpeg", 3),
    ("html", "application/vnd.jupyter.widget-view+json", None),
    ("html", "application/javascript", None),
]

autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autosummary_generate = True
shutil.rmtree(HERE / "reference" / "generated", ignore_errors=True)  # pages of modules that no longer exist
autosummary_imported_members = True
autosummary_ignore_module_all = False
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
python_maximum_signature_line_length = 88
toc_object_entries = False
