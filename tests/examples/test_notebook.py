"""The notebook runs from its first cell to its last, with training cut short."""

from pathlib import Path
from typing import Any

import pytest

nbformat: Any = pytest.importorskip("nbformat", reason="nbclient is not installed: pip install '.[dev]'")
nbclient: Any = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install '.[dev]'")
NOTEBOOK = Path(__file__).parents[2] / "examples" / "quickstart.ipynb"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the kernel's own event loop
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    (parameters,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    assert parameters.source.startswith("STEPS = ")
    parameters.source = "STEPS = 2_560"
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    said = [text_of(cell) for cell in notebook.cells if cell.cell_type == "code"]
    assert "to be asked: what danger zone" in said[2] and "danger zone is" in said[3]
    assert "what danger zone" in said[4] and "-> danger zone is" in said[4]
    assert "on 100 fresh levels" in said[5]
    pictures = [out for cell in notebook.cells for out in cell.get("outputs", []) if "data" in out]
    assert sum("image/png" in out.data for out in pictures) in (0, 2)  # none without an inline backend


def text_of(cell: Any) -> str:
    """What a cell printed."""
    return "".join(out.get("text", "") for out in cell.outputs)


def test_the_notebook_is_kept_without_what_it_printed() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.outputs for cell in notebook.cells if cell.cell_type == "code")
    assert NOTEBOOK.stat().st_size < 10_000
