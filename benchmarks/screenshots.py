"""Takes the pictures of `afk view` that the documents show, in headless Chromium: docs/pictures/."""

import io
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from afk.files import write_file
from afk.training.pretrained import PRETRAINED, SHOWN

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
_COLOURS = 192  # of a picture; fewer make a smaller file


class Shot(NamedTuple):
    """A picture: its name, how the page looks, and what it shows."""

    name: str
    scheme: Literal["light", "dark"]
    size: tuple[int, int]
    shown: dict[str, str | int]


SHOTS = (
    Shot(
        "watch-light",
        "light",
        (1440, 900),
        {"mode": "watch", "task": SHOWN, "agent": PRETRAINED, "seed": 0, "step": 4},
    ),
    Shot(
        "watch-dark",
        "dark",
        (1440, 900),
        {
            "mode": "watch",
            "task": "qbabyai/object-in-box+danger+go-to-favorite+open-door",
            "agent": PRETRAINED,
            "seed": 0,
            "step": 30,
        },
    ),
    Shot(
        "play-grid",
        "light",
        (1440, 900),
        {"mode": "play", "task": "qbabyai/danger", "seed": 2, "say": "what danger zone"},
    ),
    Shot(
        "play-text",
        "dark",
        (1440, 900),
        {
            "mode": "play",
            "task": "qtextworld/take-2",
            "seed": 3,
            "say": "open fridge",
        },
    ),
)


def main() -> None:
    """Serve, and take every picture."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("error: there is no Chromium to take pictures with")
    with subprocess.Popen(
        [sys.executable, "-m", "afk", "view", "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0]
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                for shot in SHOTS:
                    path = FOLDER / f"{shot.name}.png"
                    write_file(path, _take(browser, address, shot))
                    print(f"{path}: {path.stat().st_size / 1024:.0f} KB")
        finally:
            server.terminate()


def _take(browser: Browser, address: str, shot: Shot) -> bytes:
    """One picture, as PNG."""
    width, height = shot.size
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=shot.scheme)
    page = context.new_page()
    page.goto(f"{address}#{urlencode(shot.shown)}")
    page.locator("#timeline li").first.wait_for(timeout=120_000)
    page.wait_for_timeout(300)
    content = page.screenshot()
    context.close()
    small = io.BytesIO()
    with Image.open(io.BytesIO(content)) as picture:
        picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


if __name__ == "__main__":
    main()
