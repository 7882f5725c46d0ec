"""METHODS.md: code in its tables runs and changes something, and citations name what the papers contain."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import itmlab
from itmlab import data, losses, metrics, models, samplers, synthesis, text, train
from itmlab.cli import pairs

ROOT = Path(__file__).resolve().parents[1]
METHODS = (ROOT / "itmlab" / "METHODS.md").read_text(encoding="utf-8")
CHAPTERS = {chapter[0]: chapter for chapter in METHODS.split("\n## ") if chapter[0].isdigit()}
ROOMS = (data, losses, metrics, models, samplers, synthesis, text, train)
HEADER = "| topic | paper | released code | here (default) | how to get the other |"


def rows(number: str) -> list[list[str]]:
    """The cells of each row of a chapter's table."""
    _, _, table = CHAPTERS[number].partition(HEADER + "\n")
    lines = table.partition("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def offers() -> Iterator[Any]:
    """(chapter, expression) of everything in code type in the last column of the tables."""
    for number in CHAPTERS:
        for topic, *_, way in rows(number):
            for place, code in enumerate(re.findall(r"`([^`-][^`]*)`", way)):  # not `--preset released`
                yield pytest.param(number, code, id=f"{number}-{topic.replace(' ', '_')}-{place}")


def test_every_chapter_has_a_table() -> None:
    assert list(CHAPTERS) == list("12345")
    for number in CHAPTERS:
        assert rows(number) and all(len(row) == 5 and row[0] and row[3] and row[4] for row in rows(number))


@pytest.mark.parametrize(("number", "code"), list(offers()))
def test_the_other_way_can_be_had_as_the_table_says(number: str, code: str) -> None:
    """`recipe` is what the line above the table makes it; four captions, two of each of two images, are scored."""
    similarity, positives = torch.tensor([[4.0, 3, 2, 1], [3, 1, 4, 2]]), torch.tensor([[True, True, False, False]])
    values = {"similarity": similarity, "positives": torch.cat([positives, ~positives]), "relevance": similarity.T}
    values |= {"captions": ["a dog on a sofa", "a dog", "two cats", "a cat"]}
    names = {name: getattr(room, name) for room in ROOMS for name in room.__all__} | values
    names |= {room.__name__.removeprefix("itmlab."): room for room in ROOMS} | {"itmlab": itmlab}
    (expression,) = re.findall(r"`recipe = (itmlab\.recipe[^`]+)`", CHAPTERS[number]) or ["None"]
    names["recipe"] = eval(expression, names)
    got = eval(code, names)
    assert got is not None and (got != names["recipe"] if isinstance(got, itmlab.Recipe) else True)


def test_the_commands_of_sams_public_readme_have_their_counterparts() -> None:
    commands = re.findall(r"^\| `train_\w+\.py [^`]*` \| `--preset released ([^`]*)` \|$", CHAPTERS["2"], re.MULTILINE)
    released = itmlab.recipe("sam", size="base", preset="released")
    for command in commands:
        changes = pairs(re.findall(r"--set (\S+)", command), "--set")
        changed = released.replace(**{name.replace(".", "__"): value for name, value in changes.items()})
        assert (changed != released) == bool(changes)
    assert len(commands) == 2


# What each paper has, so that nothing else is cited; tests/real/test_papers.py holds it against their text.

PAPERS = {
    "FNE": {
        **{"Eq": 15, "Table": 5, "Figure": 7},
        "Sec": "1 2 2.1 2.2 3 3.1 3.2 3.3 3.4 4 4.1 4.2 4.3 4.4 5 A.1 A.2 A.3 A.4 A.5",
    },
    "SAM": {
        **{"Eq": 7, "Table": 5, "Figure": 3},
        "Sec": "1 2 3 3.1 3.2 3.3 3.4 4 4.1 5 5.1 5.2 5.3 5.4 6",
    },
    "TAGS-DC": {
        **{"Eq": 10, "Table": 5, "Figure": 4},
        "Sec": "1 2 2.1 2.1.1 2.1.2 2.2 2.3 2.4 2.5 3 3.1 3.2 4 4.1 4.2 4.3 4.4 5 6 7 A.1 A.2",
    },
    "ITContrast": {
        **{"Eq": 7, "Table": 4, "Figure": 3},
        "Sec": "1 2 3 3.1 3.2 3.3 4 4.1 4.2 4.3 4.4 5",
    },
}
KINDS = r"\b(Eq|Table|Figure|Fig|Sec)s?\.? \(?"
NUMBER = r"[A0-9](?:\.?\d)*[ab]?\b"
CITED = re.compile(rf"{KINDS}({NUMBER}(?:\)?(?:,| to| and|–| to) ?\(?{NUMBER})*)")
NAMED = re.compile(rf"(FNE|SAM|TAGS-DC|TAGS|ITContrast)(?:'s)?(?:,? \d{{4}})?,? (?:appendix )?(?={KINDS})")
WHOLE = {  # files that cite this paper alone, unless they name another
    "FNE": ["itmlab/samplers/fne.py", "notebooks/workshop/*/false_negatives.py", "notebooks/0[467]*.ipynb"],
    "SAM": ["itmlab/metrics/semantic.py", "notebooks/workshop/*/rankings.py", "notebooks/09*.ipynb"],
    "TAGS-DC": [
        *("itmlab/losses/tags.py", "itmlab/train/step_cross.py"),
        *("itmlab/synthesis/tags.py", "itmlab/synthesis/negative.py"),
        *("notebooks/workshop/*/negative*.py", "notebooks/03*.ipynb", "notebooks/10*.ipynb"),
    ],
    "ITContrast": ["itmlab/synthesis/synhnc.py", "notebooks/workshop/*/synthesis.py", "notebooks/08*.ipynb"],
}


def wrong(paper: str, passage: str) -> list[str]:
    """The citations of a passage that the paper does not have."""
    missing = []
    for kind, numbers in CITED.findall(passage):
        has = PAPERS[paper]["Figure" if kind == "Fig" else kind]
        existing = has.split() if isinstance(has, str) else [str(number) for number in range(1, has + 1)]
        cited = [number.rstrip("ab") for number in re.findall(NUMBER, numbers)]
        missing += [f"{paper} {kind} {number}" for number in cited if number not in existing]
    return missing


@pytest.mark.parametrize(("paper", "number"), list(zip(PAPERS, "1234", strict=True)))
def test_a_chapter_cites_what_its_paper_contains(paper: str, number: str) -> None:
    assert CITED.search(CHAPTERS[number]) and wrong(paper, CHAPTERS[number]) == []


@pytest.mark.parametrize("paper", PAPERS)
def test_files_about_one_paper_cite_what_it_contains(paper: str) -> None:
    for pattern in WHOLE[paper]:
        files = sorted(ROOT.glob(pattern))
        assert files, pattern
        for file in files:
            assert wrong(paper, file.read_text(encoding="utf-8")) == [], file.name


def test_citations_by_a_papers_name_exist() -> None:
    pages = [*(ROOT / "itmlab").rglob("*.py"), *ROOT.glob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
    cited = 0
    for page in pages:
        content = page.read_text(encoding="utf-8")
        for match in NAMED.finditer(content):
            paper = "TAGS-DC" if match[1] == "TAGS" else match[1]
            passage = CITED.match(content, match.end())
            assert passage and wrong(paper, passage[0]) == [], f"{page.name}: {match[0]}{passage and passage[0]}"
            cited += 1
    assert cited > 40


def test_links_into_the_page_lead_to_its_headings() -> None:
    headings = re.findall(r"^#+ (.+)$", METHODS, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "notebooks").glob("*.ipynb"))]
    linked = {anchor for page in pages for anchor in re.findall(r"METHODS\.md#([\w-]+)\)", page.read_text("utf-8"))}
    assert linked and linked <= anchors
