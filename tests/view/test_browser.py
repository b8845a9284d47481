"""The page as people meet it, in headless Chromium: watched, played, shared, in both worlds."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from PIL import Image

from afk.envs.registry import task_names
from afk.episodes.interactive import trace_policy
from afk.episodes.trace import Trace
from afk.training.build import play_by_plan
from afk.training.pretrained import PRETRAINED, SHOWN, pretrained_tasks

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from playwright.sync_api import Browser, Page, expect  # noqa: E402

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium"),
]

GRID, TEXT = "qbabyai/object-in-box", "qtextworld/take-1-cut"
KEYS = {"left": "ArrowLeft", "right": "ArrowRight", "forward": "ArrowUp", "toggle": "t", "pick up": "p"}
# How wide a text is in a font.
MEASURE = """([font, text]) => {
  const canvas = document.createElement("canvas").getContext("2d");
  return Object.assign(canvas, { font }).measureText(text).width;
}"""
PATIENCE = 60_000  # milliseconds; the first episode of a task is compiled


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=20_000)  # a busy machine takes its time
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    context.close()
    assert not problems


def link(address: str, **fields: object) -> str:
    return f"{address}#{urlencode(fields)}"


def expert_on(task: str, seed: int) -> Trace:
    return trace_policy(play_by_plan(task), "expert", seed=seed)


def wait_for_steps(page: Page, steps: int) -> None:
    expect(page.locator("#count")).to_have_text(re.compile(rf"/ {steps}$"), timeout=PATIENCE)


def places(page: Page) -> list[object]:
    """Where everything stands that must not move."""
    return [each.bounding_box() for each in page.locator(".card, #scrub, #charts, #notebook, #stage").all()]


def ask_with_words(page: Page, *words: str) -> None:
    for group, word in zip(("functions", "adjectives", "nouns"), words, strict=True):
        name = "no adjective" if word == "none" else word
        page.locator(f"#{group}").get_by_role("radio", name=name, exact=True).click()
    page.locator("#ask").click()


def test_the_page_opens_with_a_pretrained_agent_which_is_watched_to_success(viewer: str, page: Page) -> None:
    page.goto(viewer)
    expect(page.locator("#task")).to_have_value(SHOWN, timeout=PATIENCE)
    expect(page.locator("#agent")).to_have_value(PRETRAINED)
    expect(page.locator("#instruction")).to_contain_text("find", timeout=PATIENCE)
    expect(page.locator("#notebook .focus .note")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#did")).to_contain_text("ask")
    expect(page.locator("#answer")).to_contain_text("“")
    expect(page.locator("#switch .taken")).to_contain_text("ask")
    assert page.locator("#heads .choice.taken").count() == 3
    expect(page.locator("#chose-hint")).to_contain_text("points at words of A0")
    expect(page.locator("#notebook .focus .note.new")).to_have_count(1)
    assert page.locator("#notebook .focus path").count() >= 1
    before = places(page)
    page.locator("#speed").select_option("4")
    page.locator("body").press("Space")
    expect(page.locator("#run")).to_have_attribute("aria-label", "Pause")
    expect(page.locator("#did .success")).to_contain_text("success", timeout=20_000)
    expect(page.locator("#run")).to_have_attribute("aria-label", "Play")
    assert places(page) == before
    steps = page.locator("#timeline li").count() - 2  # beside them there are the start and the end
    expect(page.locator("#count")).to_have_text(f"{steps} / {steps}")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#count")).to_have_text(f"{steps - 1} / {steps}")
    page.locator("#timeline .asks button").first.click()
    expect(page.locator("#did")).to_contain_text("1ask")
    page.keyboard.press("Home")
    expect(page.locator("#count")).to_have_text(f"0 / {steps}")


def test_an_expert_is_watched_in_text_and_a_link_shows_the_same_again(viewer: str, page: Page) -> None:
    trace = expert_on(TEXT, 3)
    total = len(trace.steps)
    page.goto(link(viewer, mode="watch", task=TEXT, agent="expert", seed=3, level=0, step=1))
    wait_for_steps(page, total)
    expect(page.locator("#lines .asks")).to_have_text(trace.steps[0].said)
    expect(page.locator("#lines .answered")).to_have_text(trace.steps[0].answer)
    page.keyboard.press("End")
    expect(page.locator("#did .success")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile(f"step={total - 1}$"))
    notes, lines = page.locator("#notebook").inner_text(), page.locator("#lines").inner_text()
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("#count")).to_have_text(f"{total - 1} / {total}", timeout=PATIENCE)
    assert page.locator("#notebook").inner_text() == notes and page.locator("#lines").inner_text() == lines
    assert page.locator("#heads").inner_text().startswith("The expert")


def test_a_pretrained_agent_is_offered_just_where_there_is_one(viewer: str, page: Page) -> None:
    unlearned = next(name for name in task_names() if name not in pretrained_tasks())
    for task, offered in ((GRID, [PRETRAINED, "expert", "random"]), (unlearned, ["expert", "random"])):
        page.goto(link(viewer, mode="watch", task=task, agent="expert", seed=0, level=0))
        expect(page.locator("#agent option")).to_have_text(offered, timeout=PATIENCE)
        expect(page).to_have_title(f"{task} · AFK", timeout=PATIENCE)


def test_the_grid_is_played_by_keyboard_and_by_query_and_given_away(
    viewer: str, page: Page, browser: Browser, tmp_path: Path
) -> None:
    trace = expert_on(GRID, 5)
    total, answer = len(trace.steps), None
    page.goto(link(viewer, mode="play", task=GRID, seed=5, level=0))
    expect(page.locator("#did")).to_have_text("Your turn.", timeout=PATIENCE)
    for count, step in enumerate(trace.steps, 1):
        if count == 2:  # in one's own words
            question = step.said.removeprefix('ask "').removesuffix('"').replace("where ", "Where is the ")
            page.locator("#free-line").fill(f"{question}?")
            page.locator("#free-line").press("Enter")
            page.locator("#free-line").press("Escape")
        elif step.asks:
            ask_with_words(page, *step.said.removeprefix('ask "').removesuffix('"').split())
        else:
            page.keyboard.press(KEYS[step.said])
        expect(page.locator("#count")).to_have_text(f"{count} / {count}")
        if step.asks:
            answer = f"“{step.answer}”"
            expect(page.locator("#answer.answered")).to_have_text(answer)
        elif count < total:
            expect(page.locator("#answer")).to_contain_text(f"Answered before: {answer}")
    expect(page.locator("#did .success")).to_be_visible()
    expect(page.locator("#ask")).to_be_disabled()

    played = page.locator("#timeline").inner_text()
    expect(page).to_have_url(re.compile("_".join(step.said for step in trace.steps[-2:]) + "$"))
    page.reload()
    expect(page.locator("#count")).to_have_text(f"{total} / {total}", timeout=PATIENCE)
    assert page.locator("#timeline").inner_text() == played

    for kind in ("html", "gif"):
        with page.expect_download(timeout=PATIENCE) as saved:
            page.locator(f"#export-{kind}").click()
        assert saved.value.suggested_filename == f"afk-qbabyai-object-in-box-by-hand-5-0.{kind}"
        saved.value.save_as(tmp_path / f"episode.{kind}")
    with Image.open(tmp_path / "episode.gif") as animation:
        assert getattr(animation, "n_frames", 1) == total + 1

    alone = browser.new_context(offline=True).new_page()
    requests: list[str] = []
    alone.on("request", lambda request: requests.append(request.url))
    alone.goto((tmp_path / "episode.html").as_uri())
    expect(alone.locator("#count")).to_have_text(f"0 / {total}")
    alone.keyboard.press("End")
    expect(alone.locator("#did .success")).to_be_visible()
    assert alone.locator("#timeline").inner_text() == played
    expect(alone.locator("#choose")).to_be_hidden()
    assert not [url for url in requests if not url.startswith(("file:", "data:"))]
    alone.context.close()


def test_text_is_played_with_completed_commands_and_questions(viewer: str, page: Page) -> None:
    trace = expert_on(TEXT, 4)
    page.goto(link(viewer, mode="play", task=TEXT, seed=4, level=0))
    expect(page.locator("#did")).to_have_text("Your turn.", timeout=PATIENCE)
    for count, step in enumerate(trace.steps, 1):
        if step.asks:
            function, *name = step.said.removeprefix("ask charlie ").split()
            ask_with_words(page, function, *(["none"] * (2 - len(name))), *name)
            expect(page.locator("#lines .answered").last).to_have_text(step.answer)
        else:
            offered = page.locator("#completions button").all_inner_texts()
            wanted = next(each for each in offered if each.startswith(step.said))
            page.locator("#command-line").fill(step.said[:-1])
            page.locator("#command-line").press("Tab")
            expect(page.locator("#command-line")).to_have_value(wanted)
            page.locator("#command-line").press("Enter")
        expect(page.locator("#count")).to_have_text(f"{count} / {count}")
    expect(page.locator("#did .success")).to_be_visible()
    with page.expect_download(timeout=PATIENCE) as saved:
        page.locator("#export-html").click()
    assert saved.value.suggested_filename.endswith(".html")


def test_a_good_episode_of_every_task_is_one_click_away(viewer: str, page: Page) -> None:
    page.goto(link(viewer, mode="watch", task=GRID, agent="expert", seed=0))
    expect(page.locator("#count")).not_to_have_text("0 / 0", timeout=PATIENCE)
    strip = page.locator("#strip button")
    assert strip.count() == len(pretrained_tasks())
    expect(page.locator('#strip button[aria-pressed="true"]')).to_have_attribute("value", GRID)
    strip.get_by_text("C", exact=True).click()
    expect(page.locator('#strip button[aria-pressed="true"]')).to_have_text("C", timeout=PATIENCE)
    expect(page.locator("#agent")).to_have_value("pretrained")


def test_help_and_a_gallery_open_by_key_and_close(viewer: str, page: Page) -> None:
    page.goto(link(viewer, mode="watch", task=GRID, agent="expert", seed=0))
    expect(page.locator("#count")).not_to_have_text("0 / 0", timeout=PATIENCE)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Notes that have words in common stand in one set")
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    assert len(page.get_by_role("dialog").locator("#gallery-list button").all()) == len(pretrained_tasks())
    page.get_by_role("dialog").get_by_text("Danger", exact=True).click()
    expect(page.locator("#task")).to_have_value("qbabyai/danger")
    expect(page.locator("dialog[open]")).to_have_count(0)
    wait_for_some_steps(page)


@pytest.mark.parametrize("width", [390, 1400])
def test_nothing_is_cut_at_a_phones_width_or_a_laptops(viewer: str, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 850})
    longest = max(pretrained_tasks(), key=len)
    page.goto(link(viewer, mode="watch", task=longest, agent="expert", seed=0))
    wait_for_some_steps(page)
    wide = page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    select = page.locator("#task")
    room, style = select.evaluate("each => [each.clientWidth, getComputedStyle(each).font]")
    title = select.evaluate("each => each.selectedOptions[0].textContent")
    assert room - 24 > page.evaluate(MEASURE, [style, title])  # beside the arrow
    for name in ("#gallery-open", "#help-open", "#theme", "#show"):
        box = page.locator(name).bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width
    scrub = page.locator("#scrub").bounding_box()
    assert scrub is not None and scrub["width"] > 120
    page.locator("#help-open").click()
    assert page.locator("#help").evaluate("each => each.scrollTop") == 0


def wait_for_some_steps(page: Page) -> None:
    expect(page.locator("#count")).to_have_text(re.compile(r"/ [1-9]\d*$"), timeout=PATIENCE)


def test_what_goes_wrong_is_said_in_a_sentence_and_the_page_goes_on(viewer: str, page: Page) -> None:
    page.goto(link(viewer, mode="watch", task="qbabyai/dangre", agent="expert", seed=0, level=0))
    expect(page.locator("#message")).to_contain_text("did you mean qbabyai/danger", timeout=PATIENCE)
    page.goto(link(viewer, mode="play", task=GRID, seed=0, level=0))
    expect(page.locator("#did")).to_have_text("Your turn.", timeout=PATIENCE)
    page.locator("#free-line").fill("sing a song")
    page.locator("#free-line").press("Enter")
    expect(page.locator("#message")).to_contain_text("Cannot read 'sing a song'")
    expect(page.locator("#count")).to_have_text("0 / 0")
    page.locator("#free-line").press("Escape")
    for _ in range(5):  # faster than answers come, and none is lost
        page.keyboard.press("ArrowLeft")
    expect(page.locator("#count")).to_have_text("5 / 5")


def test_the_page_is_named_for_those_who_hear_it_and_light_or_dark_for_those_who_see_it(
    viewer: str, page: Page
) -> None:
    page.goto(link(viewer, mode="play", task=GRID, seed=0, level=0))
    expect(page.locator("#did")).to_have_text("Your turn.", timeout=PATIENCE)
    for control in page.locator("button:visible, input:visible, select:visible, a:visible").all():
        labelled = "each => each.ariaLabel || each.textContent.trim() || each.labels?.length"
        assert control.evaluate(labelled), control.evaluate("each => each.outerHTML")
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
    assert {"mode-play", "task", "seed", "show", "theme", "ask", "free-line", "export-gif"} <= reached
    paint = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paint)
    page.locator("#theme").click()
    assert page.evaluate(paint) != light
    for size in ({"width": 1440, "height": 900}, {"width": 1024, "height": 768}):
        page.set_viewport_size(size)  # type: ignore[arg-type]
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
