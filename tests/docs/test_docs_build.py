"""The site is built without a warning, and its pages load nothing from elsewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
# What a browser fetches of its own accord: scripts, pictures, frames, and linked style sheets and fonts.
LOADED = re.compile(r"""<(?:script|img|iframe)\b[^>]*\ssrc="?([^"\s>]+)|<link\b[^>]*\shref="?([^"\s>]+)""")


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
