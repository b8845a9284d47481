"""Watching an agent think: one episode step by step, in the terminal or as an animated picture."""

from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from afk.envs.qbabyai.text import MAP_LEGEND, draw_map
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.state import State
from afk.envs.qbabyai.world.view import AGENT_COLUMN, AGENT_ROW
from afk.episodes.trace import Head, Step, Trace
from afk.files import write_file

CHOICES = 4  # how many words or actions are shown with their probabilities
ONLY_INSTRUCTION = "only the instruction"  # what A_0 holds at first
_BAR = 6  # characters of a bar for 100%
_STYLES = ("red", "green", "blue", "magenta", "yellow", "bright_black")  # of cells.COLOURS


def show_episode(console: Console, trace: Trace) -> None:
    """Print an episode: a transcript of Q-TextWorld; of Q-BabyAI, steps between questions side by side."""
    if not trace.is_text:
        console.print(f"The agent looks up from the lowest row of its view: {MAP_LEGEND}.", highlight=False)
    console.rule(f"[bold]{trace.task}")
    console.print(Text(trace.instruction, "bold"), end="\n\n")
    if trace.is_text:
        room = trace.steps[0].seen.removeprefix(trace.instruction).strip()
        console.print(Text(room), end="\n\n")
    for asks, steps in groupby(trace.steps, lambda step: step.asks):
        shown = [_show_step(trace, step) for step in steps]
        below = asks or trace.is_text
        console.print(Group(*shown) if below else Columns(shown, padding=(0, 3), equal=True))
    style = "bold green" if trace.ending == "success" else "bold red"
    console.print(Text.assemble((trace.ending, style), " ", trace.summary()))


def name_carried(step: Step) -> str:
    """What the agent has in its hands in Q-BabyAI, such as ``red key``; nothing if they are empty."""
    kind, colour = step.seen[AGENT_COLUMN, AGENT_ROW, :2].tolist()
    return f"{cells.COLOURS[colour]} {cells.KIND_WORDS[kind]}" if kind in cells.KIND_WORDS else ""


def _show_step(trace: Trace, step: Step) -> RenderableType:
    """What was said and came of it, what could have been said instead, and what is noted; an empty line."""
    style = "bold cyan" if step.asks else "bold" if trace.is_text else ""
    said = Text(f"{step.number} {step.said}", style)
    if step.asks:
        said.append(f' "{step.answer}"', "green")
    words = Table.grid(padding=(0, 2))
    words.add_row(*map(_draw_bars, step.weighed))
    lines: list[RenderableType] = [Text(step.news)] if step.news else []
    lines += [words] if step.heads else []
    lines += [_list_notes(trace, step)] if step.asks else []
    lines += _draw_rest(trace, step)
    if trace.is_text:
        return Group(said, Padding(Group(*lines), (0, 0, 1, 2), expand=False))
    grid = Table.grid(padding=(0, 2))
    grid.add_row(draw_view(step.seen, step.state), Group(said, *lines))
    return Padding(grid, (0, 0, 1, 0), expand=False)


def _list_notes(trace: Trace, step: Step) -> Text:
    """The notes in A_0 beside the instruction, new ones marked."""
    notes = [(f"+ {note}", "bold green") if note in step.new else note for note in step.notes[1:]]
    commas = [part for note in notes for part in (", ", note)][1:]
    return Text.assemble((f"{trace.notes_title}: ", "dim"), *(commas or [ONLY_INSTRUCTION]))


def _draw_rest(trace: Trace, step: Step) -> list[Text]:
    """What is worth a line now and then."""
    carried = "" if trace.is_text else name_carried(step)
    lines = [] if step.asking is None else [f"ask {step.asking:.0%}"]
    lines += [f"carries {carried}"] if carried else []
    lines += [f"reward {step.reward:.2f}"] if step.reward else []
    return [Text(", ".join(lines), "dim")] if lines else []


def _draw_bars(head: Head) -> Text:
    """The likeliest words with their probabilities, the one that was taken in bold."""
    choices = head.likeliest(CHOICES)
    widest = max(len(choice.word) for choice in choices)
    lines = [
        Text.assemble(
            (f"{choice.word:{widest}} ", "bold" if choice.taken else ""),
            (f"{'█' * round(_BAR * choice.probability):{_BAR}}", "cyan" if choice.taken else "blue"),
            f"{choice.probability:5.0%}",
        )
        for choice in choices
    ]
    return Text("\n").join(lines)


def draw_view(image: np.ndarray, state: State) -> Text:
    """What the agent sees, marked like a map and coloured; it looks up from the middle of the lowest row."""
    kinds, colours, doors, _ = image.astype(int).T
    codes = cells.cell(np.where(doors > 0, cells.CLOSED_DOOR - 1 + doors, kinds), colours)
    here, north = np.array([AGENT_COLUMN, AGENT_ROW]), np.array(cells.DIRECTION_WORDS.index("north"))
    picture = draw_map(replace(state, grid=codes, position=here, direction=north))
    drawn = Text(no_wrap=True)
    for row, line in enumerate(picture.splitlines()):
        for column, kind in enumerate(kinds[row]):
            mark = "" if kind == cells.UNSEEN else line[2 * column : 2 * column + 2]
            style = _STYLES[colours[row, column]] if kind in cells.KIND_WORDS else "dim"
            drawn.append(f"{mark:2}", "bold" if (column, row) == (AGENT_COLUMN, AGENT_ROW) else style)
        drawn.append("\n")
    drawn.rstrip()
    return drawn


def check_gif(path: Path) -> None:
    """Refuse a name that no animation should have."""
    if path.suffix.lower() != ".gif":
        raise ValueError(f"an animation is written to a file that ends in .gif, not {str(path)!r}")


def write_gif(path: Path, trace: Trace) -> None:
    """Write an episode as an animated GIF; a ValueError if there is no way to draw it or to write there."""
    check_gif(path)
    try:
        from afk.episodes.gif import draw_gif
    except ModuleNotFoundError as error:
        raise ValueError(f"{error.name} is missing; to draw a GIF: pip install pillow minigrid") from error
    try:
        write_file(path, draw_gif(trace))
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}") from error
