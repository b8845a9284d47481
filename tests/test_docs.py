"""Every Python block in the documents runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCKS = [
    (document, number, block)
    for document in DOCUMENTS
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", document.read_text(), re.S | re.M))
]


@pytest.mark.parametrize(
    ("document", "block"),
    [(document, block) for document, _, block in BLOCKS],
    ids=[f"{document.stem}-{number}" for document, number, _ in BLOCKS],
)
def test_block_runs(document: Path, block: str) -> None:
    exec(compile(block, str(document), "exec"), {"__name__": document.stem})


def test_there_are_blocks_to_run() -> None:
    assert {document.name for document, _, _ in BLOCKS} >= {"README.md", "own-task.md"}
