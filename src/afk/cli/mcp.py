"""``afk mcp``."""

from typing import Annotated

import typer

_MISSING = "mcp is missing; to serve games as tools: pip install 'afk-rl[mcp]'"


def mcp(
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP on this machine, not stdio.")] = False,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port of --http.")] = 8000,
) -> None:
    """Serve games as tools of the Model Context Protocol, so that any assistant can play."""
    try:
        from afk.play.mcp import HOST, make_server
    except ModuleNotFoundError as error:
        if error.name != "mcp":
            raise
        raise ValueError(_MISSING) from error
    if http:
        make_server().run("streamable-http", host=HOST, port=port)
    else:
        make_server().run("stdio")
