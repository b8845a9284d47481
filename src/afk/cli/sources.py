"""``afk sources``."""

import json

from rich.table import Table

from afk.cli.options import JsonOption, make_console


def sources(as_json: JsonOption = False) -> None:
    """List the sources of knowledge that can be asked."""
    from afk.knowledge.catalogue import MODEL_HELP, SOURCES
    from afk.plugins import load_plugins

    load_plugins()
    rows = {name: title for name, (_, title) in SOURCES.items()} | {"openai:MODEL": MODEL_HELP}
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    table = Table("source", "what it is")
    for name, title in rows.items():
        table.add_row(name, title)
    make_console().print(table)
