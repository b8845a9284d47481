"""Puts tables, made from the records in results/, where ``<!-- reproduce: ITEM -->`` stands.

All those of an item; one of them where its name stands behind: ``<!-- reproduce: ITEM TABLE -->``.
"""

import re
from pathlib import Path
from typing import Any

_MARK = re.compile(r"<!-- reproduce: ([a-z0-9-]+)(?: ([a-z0-9-]+))? -->")


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """A page with its tables, called by mkdocs for each."""
    if not _MARK.search(markdown):
        return markdown
    from afk.report.archive import read_archive
    from afk.report.items import find_item
    from afk.report.render import to_markdown

    archive = read_archive(Path(config["config_file_path"]).parent / "results")

    def make_tables(mark: re.Match[str]) -> str:
        made = find_item(mark[1])(archive)
        if mark[2] is not None and mark[2] not in (table.name for table in made):
            raise ValueError(f"{mark[1]} has no table {mark[2]}")
        tables = [table for table in made if not table.is_empty and mark[2] in (None, table.name)]
        return "\n".join(map(to_markdown, tables)) or f"No records of `{mark[1]}` are in `results/` yet."

    return _MARK.sub(make_tables, markdown)
