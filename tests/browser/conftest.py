"""JupyterLab on loopback and Debian's Chromium in front of it, both without a screen and shared by all tests here."""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from workshop.tour import lab_environment

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PATIENCE = 180_000  # milliseconds, also to open a page: on a busy machine 30 s are few


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: its folder of notebooks, and the address of one of them."""

    folder: Path
    port: int
    token: str

    def address(self, notebook: str) -> str:
        return f"http://127.0.0.1:{self.port}/lab/tree/{notebook}?token={self.token}&reset"


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab as `python -m workshop lab` starts it, with settings and kernels of its own, ended afterwards."""
    home = tmp_path_factory.mktemp("lab")
    folder = home / "notebooks"
    folder.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    lab = Lab(folder, port, secrets.token_hex(16))
    environment = {name: value for name, value in lab_environment().items() if name != "ITMLAB_STATIC"} | {
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),  # signatures: beside another server's, outputs may lose their trust
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "ITMLAB_FIGURES": str(home / "figures"),
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1"]
    command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--ServerApp.root_dir={folder}"]
    command += [f"--IdentityProvider.token={lab.token}"]
    with open(home / "lab.log", "wb") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait_until_it_answers(server, lab, home / "lab.log")
            yield lab
        finally:
            server.terminate()  # the server shuts its kernels down
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait_until_it_answers(server: subprocess.Popen, lab: Lab, log: Path) -> None:
    until = time.monotonic() + 300  # so long as a busy machine takes
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{lab.port}/api/status?token={lab.token}", timeout=5).read()
            return
        except OSError:
            if server.poll() is not None:
                break
            time.sleep(0.25)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


@pytest.fixture(scope="package")
def browser() -> Iterator:
    """Chromium; skipped, with the reason, where there is none."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed (apt-get install chromium)")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (pip install playwright)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser) -> Iterator:
    """A fresh page."""
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.set_default_timeout(PATIENCE)
    yield page
    page.close()


def screenshot(page, name: str) -> None:
    """Keep a picture of the page where ITMLAB_SCREENSHOTS says, for people to look at."""
    if folder := os.environ.get("ITMLAB_SCREENSHOTS"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"))
