"""An episode as an animated picture: what there is to see, and beside it what the agent thinks.

Nothing that trains imports this module: Minigrid and Pillow are not installed everywhere.
"""

from functools import lru_cache
from io import BytesIO
from itertools import chain
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from afk.envs.qbabyai.reference import render
from afk.episodes.terminal import CHOICES, ONLY_INSTRUCTION, name_carried
from afk.episodes.trace import Choice, Step, Trace

_SIDE, _MARGIN = 480, 20  # pixels along the square that what is seen is fitted into, and around everything
_LEFT, _WIDTH = _SIDE + 2 * _MARGIN, 480  # where the text begins, and how wide it is
# Where the parts of the text begin: always in the same place, so that nothing jumps from frame to frame.
_ACTION_TOP, _CHOICES_TOP, _NOTES_TOP = 105, 195, 330
_COLUMN, _BAR = 164, 150  # pixels from one head's choices to the next, and of a bar for 100%
_SMALL, _LARGE, _GAP = 16, 20, 6  # sizes of letters, and pixels between lines
_NOTES = 6  # how many notes are shown; the latest, if there are more
_COLOURS = 128  # of a frame; fewer make a smaller file
# Milliseconds that a frame is shown: with an answer or news to read, without, and in the end.
_READ, _ACTED, _ENDED = 2400, 600, 4000

Colour = tuple[int, int, int]
_PAPER, _INK, _FAINT = (24, 24, 30), (240, 240, 240), (160, 160, 170)
_QUESTION, _NEWS, _FAILURE = (90, 200, 250), (120, 220, 120), (250, 110, 100)
_TAKEN, _OTHER = (25, 105, 150), (52, 54, 70)  # bars


def draw_gif(trace: Trace) -> bytes:
    """An animated GIF with a frame before every step, and one after the last."""
    steps = trace.steps
    frames = chain((_draw_step(trace, step) for step in steps), [_draw_end(trace)])
    first, *others = (frame.quantize(_COLOURS, dither=Image.Dither.NONE) for frame in frames)
    durations = [*(_READ if step.asks or step.news else _ACTED for step in steps), _ENDED]
    content = BytesIO()
    first.save(content, "GIF", save_all=True, append_images=others, duration=durations, loop=0)
    return content.getvalue()


def _draw_step(trace: Trace, step: Step) -> Image.Image:
    """The world before a step, what the agent chose from, what it did, and what it then knew."""
    frame, draw, top = _draw_world(trace, step.state, step.seen)
    action = f"{step.number}.  {step.said}"
    below = _write(draw, (_LEFT, top), action, _QUESTION if step.asks else _INK, size=_LARGE)
    if step.asks:
        _write(draw, (_LEFT, below), f'"{step.answer}"', _NEWS)
    elif step.news:
        _write(draw, (_LEFT, below), step.news)
    elif carried := name_carried(step):
        _write(draw, (_LEFT, below), f"carries {carried}", _FAINT)
    for number, head in enumerate(step.weighed):
        place = _LEFT + number * _COLUMN, _CHOICES_TOP
        _draw_choices(draw, place, head.title, head.likeliest(CHOICES))
    if step.asking is not None and not step.asks and not trace.is_text:
        asking = Choice("ask", step.asking, taken=False)
        _draw_choices(draw, (_LEFT + _COLUMN, _CHOICES_TOP), "or a question", [asking])
    _list_notes(draw, trace, step)
    return frame


def _draw_end(trace: Trace) -> Image.Image:
    """The world after the last step, and what the episode amounts to."""
    frame, draw, top = _draw_world(trace, trace.last_state, trace.last_seen)
    colour = _NEWS if trace.ending == "success" else _FAILURE
    below = _write(draw, (_LEFT, top), trace.ending, colour, size=_LARGE)
    _write(draw, (_LEFT, below), trace.summary())
    _list_notes(draw, trace, trace.steps[-1])
    return frame


def _draw_world(trace: Trace, state: Any, seen: Any) -> tuple[Image.Image, ImageDraw.ImageDraw, int]:
    """A frame with the world and the instruction, what to draw on it with, and where there is room.

    The world is the level as Minigrid draws it, or a text; texts have long instructions, which stand above.
    """
    frame = Image.new("RGB", (_LEFT + _WIDTH + _MARGIN, _SIDE + 2 * _MARGIN), _PAPER)
    draw = ImageDraw.Draw(frame)
    if trace.is_text:
        below = _write(draw, (_MARGIN, _MARGIN), trace.instruction)
        room = seen.removeprefix(trace.instruction).strip()
        _write(draw, (_MARGIN, below + _GAP), room, _FAINT)
        return frame, draw, _MARGIN
    level = Image.fromarray(render(state, tile_size=_SIDE // max(state.grid.shape)))
    frame.paste(level, (_MARGIN + (_SIDE - level.width) // 2, _MARGIN + (_SIDE - level.height) // 2))
    _write(draw, (_LEFT, _MARGIN), trace.instruction, size=_LARGE)
    return frame, draw, _ACTION_TOP


def _draw_choices(
    draw: ImageDraw.ImageDraw, place: tuple[int, int], title: str, choices: list[Choice]
) -> None:
    """A column of words on bars under a title, the choice that was taken in colour."""
    x, top = place
    top = _write(draw, place, title, _FAINT)
    for choice in choices:
        bar, ink = (_TAKEN, _INK) if choice.taken else (_OTHER, _FAINT)
        draw.rectangle((x, top, x + round(_BAR * choice.probability), top + _SMALL + 2), bar)
        draw.text((x + _BAR, top), f"{choice.probability:.0%}", ink, _font(_SMALL), anchor="ra")
        top = _write(draw, (x + 5, top), choice.word, ink)


def _list_notes(draw: ImageDraw.ImageDraw, trace: Trace, step: Step) -> None:
    """The notes in A_0 beside the instruction, new ones in colour."""
    notes = step.notes[1:]
    hidden = max(0, len(notes) - _NOTES)
    title = f"{trace.notes_title} ({hidden} more)" if hidden else trace.notes_title
    below = _write(draw, (_LEFT, _NOTES_TOP), title, _FAINT)
    if not notes:
        _write(draw, (_LEFT, below), ONLY_INSTRUCTION, _FAINT)
    for note in notes[hidden:]:
        is_new = note in step.new
        below = _write(draw, (_LEFT, below), f"+ {note}" if is_new else note, _NEWS if is_new else _INK)


def _write(
    draw: ImageDraw.ImageDraw,
    place: tuple[int, int],
    text: str,
    colour: Colour = _INK,
    *,
    size: int = _SMALL,
) -> int:
    """Write a text, in several lines if it is long; returns where the next line begins."""
    x, top = place
    edge = _LEFT + _WIDTH if x >= _LEFT else _MARGIN + _SIDE
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".lstrip()
        fits = draw.textlength(longer, _font(size)) <= edge - x
        lines = [*lines[:-1], longer] if fits else [*lines, word]
    for line in lines:
        draw.text((x, top), line, colour, _font(size))
        top += size + _GAP
    return top


@lru_cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's own font, which takes a while to load."""
    return ImageFont.load_default(size)
