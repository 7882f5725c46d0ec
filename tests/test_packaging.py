"""pyproject.toml is the only list of dependencies; constraints.txt and environment.yml follow it."""

import json
import re
import subprocess
import sys
import tomllib
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


def test_torch_is_pinned_where_a_cpu_build_is_at_hand() -> None:
    assert pinned()["torch"] == "2.13.0"


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


def test_every_public_name_is_there() -> None:
    import itmlab

    for name in itmlab.__all__:
        assert getattr(itmlab, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = itmlab.nothing


def readme_command(name: str) -> str:
    text = (ROOT / "README.md").read_text()
    return re.search(rf"<!-- command: {name} -->\n```\w*\n(.*?)\n```", text, re.DOTALL).group(1)


def test_ci_runs_the_readme_test_command() -> None:
    assert "pytest" in readme_command("tests") and "-c constraints.txt" in readme_command("tests")
    assert "itmlab tour" in readme_command("tour")
    assert "<!-- command: tests -->" in (ROOT / ".ci" / "run").read_text()
