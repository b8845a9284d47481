"""The site is built without a warning, and its pages load nothing from elsewhere."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
# What a browser fetches of its own accord: scripts, pictures, frames, and linked style sheets and fonts.
LOADED = re.compile(r"""<(?:script|img|iframe)\b[^>]*\ssrc="?([^"\s>]+)|<link\b[^>]*\shref="?([^"\s>]+)""")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# How far a page is wider than its window, and tables and blocks of commands wider than their boxes.
OVERHANG = """() => [document.documentElement, ...document.querySelectorAll(
  ".md-typeset__scrollwrap, .language-sh code, .language-text code")]
  .map(box => [box.scrollWidth - box.clientWidth, box.innerText.slice(0, 60)])"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="mkdocs-material is not installed: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    result = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


def test_every_document_is_a_page(site: Path) -> None:
    documents = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert documents <= {path.stem for path in site.glob("*.html")}


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loaded = {
        address
        for page in site.glob("*.html")
        for pair in LOADED.findall(page.read_text())
        for address in pair
    }
    assert any(address.endswith(".js") for address in loaded)
    assert not [address for address in loaded if re.match(r"(https?:)?//", address)]


def test_results_come_from_records(site: Path) -> None:
    page = (site / "results.html").read_text()
    assert "<!-- reproduce" not in page
    assert "Tasks of Q-BabyAI" in page


def test_scripts_of_ours_are_no_part_of_the_site(site: Path) -> None:
    assert not list(site.glob("**/*.py"))


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium")
def test_tables_fit_their_column_and_pages_a_phone(site: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for width in (1400, 390):
            page = browser.new_page(viewport={"width": width, "height": 900})
            for path in sorted(site.glob("*.html")):
                page.goto(path.as_uri())
                whole, *boxes = page.evaluate(OVERHANG)
                assert whole[0] <= 0, (width, path.name)
                if width > 390:
                    assert not [box for box in boxes if box[0] > 1], path.name
        browser.close()
