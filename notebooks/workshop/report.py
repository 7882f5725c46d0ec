"""The report's pages measure their own results: the Python blocks of a page, run in order."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from itmlab.errors import ItmlabError
from itmlab.fields import did_you_mean

from .places import notebook_directory

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> dict[str, Path]:
    """Return the pages of the report by name: "R1" and so on.

    Raises:
        ItmlabError: this is an installed wheel, which has no report.
    """
    return {path.stem: path for path in sorted((notebook_directory() / "report").glob("R*.md"))}


def page_code(page: str) -> str:
    """Return the Python blocks of a page of the report, joined in order.

    Raises:
        ItmlabError: there is no such page, or it has no code.
    """
    if page not in pages():
        raise ItmlabError(f"the report has no page {page!r}", remedy=did_you_mean(page, pages()))
    blocks = BLOCK.findall(pages()[page].read_text(encoding="utf-8"))
    if not blocks:
        raise ItmlabError(f"page {page} of the report measures nothing", remedy="see its protocol for what does")
    return "\n".join(blocks)


def measure_page(page: str) -> None:
    """Run the code of a page in a process of its own; it replaces the page's results and figures.

    Finished runs are reused from `runs`, so that the same call continues after an interruption.

    Raises:
        ItmlabError: there is no such code, or it failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / f"{page}.py"
        script.write_text(page_code(page), encoding="utf-8")
        code = subprocess.call([sys.executable, str(script)], cwd=notebook_directory())
    if code:
        raise ItmlabError(f"the code of page {page} ended with exit code {code}", remedy="its last lines say why")
