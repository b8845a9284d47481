"""`Player`: what it takes and gives, what it hides, and how long its texts are."""

import inspect
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from afk.envs.registry import task_named
from afk.play import Player
from afk.play.client import Endpoint
from afk.play.episode import Episode
from afk.play.evaluation import Settings, evaluate_model
from afk.play.serving import ExpertModel
from afk.training.pretrained import play_fresh

from .chat_server import served
from .levels import GRID_TASKS, TEXT_TASKS, bare, count_tokens, fresh, play_through, secrets, unasked

SAMPLED = 4  # levels of a task


def test_nothing_else_is_public() -> None:
    assert {name for name in dir(Player()) if not name.startswith("_")} == {
        "reset",
        "act",
        "ask",
        "get_reward",
    }


def test_an_episode_from_beginning_to_end() -> None:
    player = Player()
    first = player.reset("C", seed=0, macros=True)
    assert "Your task: find" in first and "You may ask" in first
    name = first.split("Your task: find ")[1].split()[0]
    assert f'The answer: "{name} toy is' in player.ask(f"What is {name}'s toy?")
    assert player.get_reward() == 0
    while "a blue box" not in (seen := player.act("explore")):
        pass
    over = player.act("open the blue box")
    assert ("The episode is over: success." in over) == (player.get_reward() > 0)
    assert player.act("explore") == over and player.ask("where kitchen") == over
    assert "Your task" in seen


def test_the_same_numbers_give_the_same_level() -> None:
    one, other = Player(), Player()
    assert one.reset("C", seed=3, level=1) == other.reset("C", seed=3, level=1)
    assert one.reset("C", seed=3, level=2) != other.reset("C", seed=3, level=1)


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"task": "nothing"}, "unknown task 'nothing'"),
        ({"mode": "silent"}, "unknown mode 'silent'; it is one of no-questions, asking, all-told"),
        ({"source": "nobody"}, "unknown source 'nobody'"),
        ({"level": -1}, "the level is a number from 0 to 999, not -1"),
        ({"level": 10**9}, "the level is a number from 0 to 999, not 1000000000"),
    ],
)
def test_what_cannot_be_played_is_refused(given: dict[str, Any], refusal: str) -> None:
    options: dict[str, Any] = {"task": "C"} | given
    with pytest.raises(ValueError, match=refusal):
        Player().reset(**options)
    with pytest.raises(ValueError, match="no episode has begun"):
        Player().act("explore")


@pytest.mark.parametrize("macros", [False, True])
def test_what_cannot_be_read_takes_a_step_and_is_answered(macros: bool) -> None:
    ((env, state),) = fresh("C")
    episode = Episode(env, state, macros=macros)
    for number, line in enumerate(("hop", "", "x" * 10_000, "open the pink cow", "where kitchen"), 1):
        said = episode.act(line)
        assert said.startswith("Invalid: ") and "Your task" in said and count_tokens(said) <= 300
        assert episode.invalid == episode.stats.steps == number and episode.stats.queries == 0
    assert episode.ask("sing a song").startswith("Invalid: ")
    assert episode.ask("forward").startswith("Invalid: ")


def test_labels_of_questions() -> None:
    ((env, state),) = fresh("C")
    episode = Episode(env, state)
    for question in ("where kitchen", "where kitchen", "where purple toy"):
        episode.ask(question)
    assert episode.labels == ["answered", "repeated", "unanswered"]
    name = episode.observation.split("find ")[1].split()[0]
    episode.ask(f"what {name} toy")
    assert episode.labels[-1] == "good" and episode.stats.good == 1


def test_modes() -> None:
    ((env, state),) = fresh("C")
    silent = Episode(env, state, mode="no-questions")
    assert "You may ask" not in silent.rules
    assert "questions cannot be asked here" in silent.ask("where kitchen") and silent.stats.queries == 0
    told = Episode(env, state, mode="all-told")
    assert "You are told: " in told.observation and "You may ask" not in told.rules
    answers = [each for each in secrets(env, state) if each in bare(told.observation)]
    assert len(answers) == 3


def test_texts_give_nothing_away_and_are_short(levels_read: list[tuple[str, list[str], list[str]]]) -> None:
    for rules, hidden, texts in levels_read:
        assert count_tokens(rules) <= 600
        assert max(map(count_tokens, texts)) <= 300
        shown = [rules, texts[0], *map(str, map(inspect.getdoc, (Player.reset, Player.act, Player.ask)))]
        for text in [*map(bare, shown), *(unasked(each, hidden) for each in texts)]:
            assert hidden and not [secret for secret in hidden if secret in text], text
        assert [each for each in hidden if each in "".join(map(bare, texts))], "answers were given"


@pytest.fixture(scope="module")
def levels_read() -> list[tuple[str, list[str], list[str]]]:
    """Rules, secrets and all that was read in some episodes."""
    return read_levels("CS", 3)


def read_levels(task: str, count: int) -> list[tuple[str, list[str], list[str]]]:
    read = []
    for macros in (False, True):
        for env, state in fresh(task, count):
            episode = Episode(env, state, macros=macros)
            read.append((episode.rules, secrets(env, state), play_through(episode)))
            assert episode.success and not episode.invalid
    return read


@pytest.mark.slow
@pytest.mark.parametrize("task", [*GRID_TASKS, *TEXT_TASKS])
def test_every_task_is_won_from_text_alone(task: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if task in TEXT_TASKS:
        request.getfixturevalue("kept")
    test_texts_give_nothing_away_and_are_short(read_levels(task, SAMPLED))
    # The same over HTTP, level by level what `afk eval expert` wins.
    _, chunks = play_fresh("expert", task_named(task), episodes=SAMPLED, seed=0)
    won = [bool(each) for chunk in chunks for each in chunk.success]
    with served(ExpertModel()) as address:
        for macros, tools in product((False, True), repeat=2):
            settings = Settings("expert", task, episodes=SAMPLED, macros=macros, tools=tools)
            summary = evaluate_model(settings, Endpoint(address, "expert"), tmp_path / f"{macros}-{tools}")
            assert summary["won"] == won == [True] * SAMPLED and summary["invalid"] == 0


@pytest.mark.parametrize("macros", [False, True])
def test_the_expert_finds_another_door_where_the_nearest_leads_nowhere(macros: bool) -> None:
    *_, (env, state) = fresh("CSDH", 11)  # a box and a deadly tile are behind it
    episode = Episode(env, state, macros=macros)
    read = play_through(episode)
    assert episode.success and episode.stats.queries == episode.stats.good == 7
    assert episode.invalid == sum("no way is known" in each for each in read) <= 1


@pytest.mark.parametrize("mode", ["no-questions", "all-told"])
def test_the_expert_needs_the_answers(mode: str) -> None:
    won = []
    for env, state in fresh("CS", 12):
        episode = Episode(env, state, mode=mode, macros=True)
        play_through(episode)
        won.append(episode.success)
    assert sum(won) == 12 if mode == "all-told" else sum(won) < 8
