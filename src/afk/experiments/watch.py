"""Watching an agent think: one episode step by step, in the terminal or as an animated picture."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from afk.agents.agent import Agent
from afk.agents.grid_agent import ASK, Decision, GridAgent
from afk.agents.notebook import Notebook, in_focus, write
from afk.envs.base import Tally, TimeStep, draw_pool, query_quality
from afk.envs.qbabyai import cells
from afk.envs.qbabyai.state import State
from afk.envs.qbabyai.text import MAP_LEGEND, describe_action, draw_map
from afk.envs.qbabyai.view import AGENT_COLUMN, AGENT_ROW
from afk.envs.qbabyai.words import VOCABULARY
from afk.experiments.evaluate import fresh_keys
from afk.learn.rollout import (
    Actors,
    Course,
    Experience,
    Play,
    act,
    decide,
    glance_at,
    open_course,
    start_actors,
)
from afk.records import write_whole

ONLY_INSTRUCTION = "only the instruction"  # what A_0 holds at first
_CHOICES = 4  # how many words or actions are shown with their probabilities
_BAR = 6  # characters of a bar for 100%
_STYLES = ("red", "green", "blue", "magenta", "yellow", "bright_black")  # of cells.COLOURS


class Choice(NamedTuple):
    """A word or an action that the agent could choose, and whether it did."""

    word: str
    probability: float
    taken: bool


@dataclass(frozen=True)
class Step:
    """One step of an episode, and what the agent made of it.

    Attributes:
        number: counted from 1.
        state: before the action.
        image: (7, 7, 4) uint8, what the agent sees of it.
        decision: log-probabilities of the heads, each (choices,); those of a query are nothing where the
            agent cannot ask.
        action: (5,) int32.
        answer: as text, empty when nothing was asked.
        reward: r_env.
        notes: A_0 after the step as text, in the order of writing; the instruction is the first.
        new: those of them that were not in A_0 before.
        terminated: whether the episode ended here in success or in a mistake.
        truncated: whether it ran out of steps here.
        success: whether the task is done.
    """

    number: int
    state: State
    image: np.ndarray
    decision: Decision
    action: np.ndarray
    answer: str
    reward: float
    notes: tuple[str, ...]
    new: tuple[str, ...]
    terminated: bool
    truncated: bool
    success: bool

    @property
    def asks(self) -> bool:
        """Whether the agent asked instead of acting."""
        return bool(self.action[0] == ASK)

    @property
    def grew(self) -> bool:
        """Whether A_0 grew by the answer."""
        return bool(self.new)

    @property
    def chance_of_asking(self) -> float:
        """What the switch gave to asking."""
        return float(np.exp(self.decision.switch[ASK]))

    @property
    def carried(self) -> str:
        """What the agent has in its hands, such as ``red key``; nothing if they are empty."""
        kind, colour = self.image[AGENT_COLUMN, AGENT_ROW, :2].tolist()
        return f"{cells.COLOURS[colour]} {cells.KIND_WORDS[kind]}" if kind in cells.KIND_WORDS else ""

    def weighed(self) -> dict[str, list[Choice]]:
        """What the agent chose from, by what it was chosen for: a question's words, or the action."""
        titles = ("action", "function", "adjective", "noun")
        words = (cells.ACTIONS, VOCABULARY.functions, VOCABULARY.adjectives, VOCABULARY.nouns)
        heads = list(zip(titles, words, self.decision[1:5], self.action[1:].tolist(), strict=True))
        return {
            title: _likeliest(np.exp(np.asarray(logits)), said, taken)
            for title, said, logits, taken in (heads[1:] if self.asks else heads[:1])
        }


@dataclass(frozen=True)
class Recording:
    """An episode as the agent went through it.

    Attributes:
        play: who played what.
        instruction: v_0 as text.
        steps: all of them.
        last: the state after the last step.
        tally: what the episode amounts to.
    """

    play: Play
    instruction: str
    steps: tuple[Step, ...]
    last: State
    tally: Tally

    @property
    def ending(self) -> str:
        """How it ended: ``success``, ``failure`` or ``out of time``."""
        last = self.steps[-1]
        return "success" if last.success else "failure" if last.terminated else "out of time"

    @property
    def notes_title(self) -> str:
        """What stands before the notes in A_0."""
        return "A0" if self.play.variant.notebook else "A0, which it does not read"

    def summary(self) -> str:
        """What it amounts to, in one sentence; precision and recall are those against Q_t."""
        tally, reward = self.tally, sum(step.reward for step in self.steps)
        precision, recall, _ = query_quality(tally.good, tally.queries, tally.wanted)
        return (
            f"after {tally.steps} steps, reward {reward:.2f}; questions {tally.queries}, good ones "
            f"{tally.good} of {tally.wanted}: precision {precision:.0%}, recall {recall:.0%}"
        )


def record_episode(play: Play, agent: Agent, *, seed: int) -> Recording:
    """Play one fresh level, actions drawn from the agent's policy as in training, and keep everything."""
    if not isinstance(agent, GridAgent):
        raise ValueError(f"agents of {play.env.name} cannot be watched yet, only those of Q-BabyAI")
    level_key, key = fresh_keys(seed)
    pool = draw_pool(play.env, level_key, 1)
    course = open_course(play, pool)
    actors = start_actors(agent, course, 1)
    state, notebook = jax.device_get(jax.tree.map(lambda leaf: leaf[0], (pool.states, actors.notebooks)))
    notes, steps = _focus(notebook), []
    while True:
        key, act_key = jax.random.split(key)
        actors, happened = _act(play, agent, course, actors, act_key)
        decision, experience, time_step, following, notebook = jax.device_get(happened)
        known, notes = notes, _focus(notebook)
        steps.append(
            Step(
                number=len(steps) + 1,
                state=state,
                image=experience.seen,
                decision=decision,
                action=experience.action,
                answer=VOCABULARY.decode(time_step.observation.response),
                reward=float(time_step.reward),
                notes=notes,
                new=tuple(note for note in notes if note not in known),
                terminated=bool(time_step.terminated),
                truncated=bool(time_step.truncated),
                success=bool(time_step.success),
            )
        )
        state = following
        if time_step.done:
            break
    return Recording(play, VOCABULARY.decode(state.level.mission), tuple(steps), state, time_step.tally)


@eqx.filter_jit
def _act(
    play: Play, agent: GridAgent, course: Course, actors: Actors, key: jax.Array
) -> tuple[Actors, tuple[Decision, Experience, TimeStep, State, Notebook]]:
    """A step of the one actor, with all that led to it and came of it."""
    _, decision = decide(agent, glance_at(play, agent, actors))
    following, time_step, experience, _ = act(play, agent, course, actors, key)
    # Where the episode ends the actor is in the next one already: how this one ended is worked out again.
    states, _ = jax.vmap(play.env.step)(actors.batch.states, experience.action)
    response = time_step.observation.response
    notebooks, _ = jax.vmap(partial(write, rules=play.rules))(actors.notebooks, response)
    happened = decision, experience, time_step, states, notebooks
    return following, jax.tree.map(lambda leaf: leaf[0], happened)


def _focus(notebook: Notebook) -> tuple[str, ...]:
    """The notes in A_0 as text."""
    return tuple(VOCABULARY.decode(note) for note in notebook.notes[in_focus(notebook)])


def _likeliest(probabilities: np.ndarray, words: tuple[str, ...], taken: int) -> list[Choice]:
    """The likeliest of (choices,) words, the one that was taken among them whatever its probability."""
    order = sorted(np.flatnonzero(probabilities), key=lambda word: (word != taken, -probabilities[word]))
    choices = [Choice(words[word], float(probabilities[word]), bool(word == taken)) for word in order]
    return sorted(choices[:_CHOICES], key=lambda choice: -choice.probability)


def show_episode(console: Console, recording: Recording) -> None:
    """Print an episode: questions one below the other, the steps between them side by side."""
    console.print(f"The agent looks up from the lowest row of its view: {MAP_LEGEND}.", highlight=False)
    console.rule(f"[bold]{recording.play.env.name}")
    console.print(Text(recording.instruction, "bold"), end="\n\n")
    title = recording.notes_title
    for asks, steps in groupby(recording.steps, lambda step: step.asks):
        shown = [_show_question(step, title) if asks else _show_action(step) for step in steps]
        console.print(Group(*shown) if asks else Columns(shown, padding=(0, 3), equal=True))
    style = "bold green" if recording.ending == "success" else "bold red"
    console.print(Text.assemble((recording.ending, style), " ", recording.summary()))


def _show_question(step: Step, title: str) -> RenderableType:
    """What was asked and answered, the words that could have been said, and the notes under a title."""
    said = Text(f"{step.number} {describe_action(step.action)} ", "bold cyan")
    words = Table.grid(padding=(0, 2))
    words.add_row(*(_draw_bars(choices) for choices in step.weighed().values()))
    notes = [(f"+ {note}", "bold green") if note in step.new else note for note in step.notes[1:]]
    commas = [part for note in notes for part in (", ", note)][1:]
    listed = Text.assemble((f"{title}: ", "dim"), *(commas or [ONLY_INSTRUCTION]))
    return _beside_view(step, said.append(f'"{step.answer}"', "green"), words, listed, *_draw_rest(step))


def _show_action(step: Step) -> RenderableType:
    """What was done, and what could have been."""
    done = Text(f"{step.number} {describe_action(step.action)}")
    return _beside_view(step, done, _draw_bars(step.weighed()["action"]), *_draw_rest(step))


def _draw_rest(step: Step) -> list[Text]:
    """What is worth a line now and then."""
    lines = [f"ask {step.chance_of_asking:.0%}"] if step.decision.function is not None else []
    lines += [f"carries {step.carried}"] if step.carried else []
    lines += [f"reward {step.reward:.2f}"] if step.reward else []
    return [Text(", ".join(lines), "dim")] if lines else []


def _beside_view(step: Step, *lines: RenderableType) -> RenderableType:
    """The agent's view with some lines beside it, and an empty one below."""
    grid = Table.grid(padding=(0, 2))
    grid.add_row(draw_view(step.image, step.state), Group(*lines))
    return Padding(grid, (0, 0, 1, 0), expand=False)


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


def _draw_bars(choices: list[Choice]) -> Text:
    """Words with their probabilities, the one that was taken in bold."""
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


def check_gif(path: Path) -> None:
    """Refuse a name that no animation should have."""
    if path.suffix.lower() != ".gif":
        raise ValueError(f"an animation is written to a file that ends in .gif, not {str(path)!r}")


def write_gif(path: Path, recording: Recording) -> None:
    """Write an episode as an animated GIF; a ValueError if there is no way to draw it or to write there."""
    check_gif(path)
    try:
        from afk.experiments.picture import draw_gif
    except ModuleNotFoundError as error:
        raise ValueError(f"{error.name} is missing; to draw a GIF: pip install pillow minigrid") from error
    try:
        write_whole(path, draw_gif(recording))
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}") from error
