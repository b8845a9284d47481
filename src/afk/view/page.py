"""The page: as it is served, and with everything in one file as an episode that can be given away."""

import base64
import hashlib
import json
import re
from importlib.resources import files
from typing import Any

_STATIC = files("afk.view") / "static"
_STYLE = '<link rel="stylesheet" href="static/style.css">'
_IMPORTS = re.compile(r'<script type="importmap">(.*?)</script>', re.S)
_MAIN = '<script type="module" src="static/main.js"></script>'


def serve_page() -> str:
    """The page as it is served."""
    return (_STATIC / "index.html").read_text()


def policy() -> str:
    """What the served page may load: what the server has, and the one script that stands in the page."""
    found = _IMPORTS.search(serve_page())
    assert found is not None
    digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def export_page(episode: dict[str, Any]) -> str:
    """An episode and all that shows it in one file, which loads nothing from anywhere."""
    scripts = {path.name: path.read_bytes() for path in _STATIC.iterdir() if path.name.endswith(".js")}
    imports = {f"afk/{name}": _as_address(content) for name, content in scripts.items()}
    # Nothing in the JSON can end the script that it stands in.
    content = json.dumps(episode).replace("<", "\\u003c")
    page = serve_page()
    for old, new in (
        (_STYLE, f"<style>\n{(_STATIC / 'style.css').read_text()}</style>"),
        (_MAIN, '<script type="module">import "afk/main.js";</script>'),
        ("<body>", f'<body>\n<script type="application/json" id="episode">{content}</script>'),
    ):
        assert page.count(old) == 1, old
        page = page.replace(old, new)
    return _IMPORTS.sub(
        lambda _: f'<script type="importmap">{json.dumps({"imports": imports})}</script>', page
    )


def _as_address(script: bytes) -> str:
    """A script as an address that holds it."""
    return f"data:text/javascript;base64,{base64.b64encode(script).decode()}"
