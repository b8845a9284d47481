"""Every Python block in the documents runs, one after the other in a page, and prints what the page says.

A block that is followed by a block of ``text`` prints just that. ``python tests/docs/test_docs.py`` writes
what blocks print into the pages.
"""

import io
import pkgutil
import re
import runpy
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from afk.report.archive import read_archive
from afk.report.items import ITEMS
from afk.report.render import to_markdown

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?P<shown>\n```text\n.*?^```\n)?", re.S | re.M)
NAME = re.compile(r"`(afk(?:\.\w+)+)")
WITH_BLOCKS = [document for document in DOCUMENTS if BLOCK.search(document.read_text())]


def run_blocks(document: Path) -> str:
    """Run the blocks of a page; returns the page with what they print."""
    page = document.read_text()
    names: dict[str, Any] = {"__name__": document.stem}

    def run(block: re.Match[str]) -> str:
        line = page.count("\n", 0, block.start("code"))
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile("\n" * line + block["code"], str(document), "exec"), names)
        output = f"\n```text\n{printed.getvalue()}```\n" if block["shown"] else ""
        return f"```python\n{block['code']}```\n{output}"

    return BLOCK.sub(run, page)


@pytest.mark.parametrize("document", WITH_BLOCKS, ids=lambda document: document.stem)
@pytest.mark.slow
@pytest.mark.usefixtures("registries")
def test_blocks_run(document: Path) -> None:
    page = document.read_text()
    if re.search(r'make\("qtextworld', page, re.I):
        pytest.importorskip("textworld", reason="textworld is not installed; it takes a C compiler")
    assert run_blocks(document) == page


def test_there_are_blocks_to_run() -> None:
    pages = {"index", "qbabyai", "qtextworld", "own-task", "knowledge", "agent", "api"}
    assert {document.stem for document in WITH_BLOCKS} >= pages


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.stem)
def test_names_in_the_documents_are_there(document: Path) -> None:
    for name in sorted(set(NAME.findall(document.read_text()))):
        pkgutil.resolve_name(name)


def test_the_readme_says_what_the_records_say_in_400_words() -> None:
    page = (ROOT / "README.md").read_text()
    (table,) = ITEMS["headline"](read_archive(ROOT / "results"))
    rows = [line for line in to_markdown(table).splitlines() if line.startswith("|")]
    assert len(table.rows) == 6 and "\n".join(rows) in page
    prose = re.sub(r"^```.*?^```$|^\|.*?$", "", page, flags=re.S | re.M)
    assert len(re.findall(r"\w[\w'-]*", re.sub(r"\]\([^)]*\)", "", prose))) <= 420
    picture = ROOT / "docs" / "pictures" / "asks.gif"
    assert str(picture.relative_to(ROOT)) in page and picture.stat().st_size < 2**20


def test_the_page_on_gymnasium_says_how_far_another_library_gets() -> None:
    report = runpy.run_path(str(ROOT / "benchmarks" / "report.py"))
    table = report["peers"](read_archive(ROOT / "results"))
    assert table in (ROOT / "docs" / "gymnasium.md").read_text()
    assert table.count("\n") == 1 + 2 and "missing" not in table


if __name__ == "__main__":
    for each in WITH_BLOCKS:
        each.write_text(run_blocks(each))
