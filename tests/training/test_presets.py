"""The table of presets: every one of them is there for every task, and some are the paper's."""

from functools import partial
from itertools import combinations, product

import jax
import jax.numpy as jnp
import pytest

from afk.agents.base import Size
from afk.agents.note_rules import note_taking
from afk.agents.notebook import Similarity, open_notebook, split_clauses, write
from afk.agents.reading import read_focus
from afk.agents.variants import VARIANTS
from afk.envs.qtextworld.world import words
from afk.envs.qtextworld.world.things import COOKINGS, CUTS, PIECES, THINGS
from afk.envs.registry import WORLDS, task_named, tasks_by_letters
from afk.language import PAD
from afk.learning import dqn, ppo
from afk.training.build import schedules_of
from afk.training.changes import change
from afk.training.config import Config, differences, flatten
from afk.training.preset_rules import AGENTS, GROUPS, RULES
from afk.training.presets import PRESETS, default_preset, preset, preset_values

from ..small_games import small_game

TEXT = "qtextworld/take-1"
CELLS = [
    (world, group, name)
    for world, groups in PRESETS.items()
    for group, names in groups.items()
    for name in names
]


@pytest.mark.parametrize(("world", "group", "name"), CELLS, ids="/".join)
def test_every_preset_is_there_for_every_agent_and_task(world: str, group: str, name: str) -> None:
    tasks = [task.name for task in WORLDS[world].paper_tasks()]
    agents = [agent for agent in VARIANTS if AGENTS[group](agent)]
    assert agents
    for agent in agents:
        for trained in (*((task,) for task in tasks), *combinations(tasks[:4], 2), tuple(tasks)):
            config = preset(name, trained, agent=agent)
            assert (config.preset, config.agent, config.tasks) == (name, agent, trained)
            # What the rules set is what the run has, and it is a number of a run.
            values = preset_values(name, trained, agent)
            assert values.items() <= flatten(config.to_json()).items()
            numbers = {key: value for key, value in values.items() if key != "settings.algorithm"}
            assert change(config, numbers) == config


@pytest.mark.parametrize("name", ["fast", "released"])
def test_the_released_edition_of_a_task_is_trained_as_the_task_is(name: str) -> None:
    for letters in tasks_by_letters():
        if not letters.startswith("released/"):
            ours, theirs = (preset(name, [task]).to_json() for task in (letters, f"released/{letters}"))
            assert differences(ours | {"tasks": []}, theirs | {"tasks": []}) == {}


def test_every_agent_of_every_world_has_the_presets_of_one_group() -> None:
    for world, groups in PRESETS.items():
        for agent in VARIANTS:
            assert len([group for group in groups if AGENTS[group](agent)]) == 1, (world, agent)
            assert "laptop" in next(names for group, names in groups.items() if AGENTS[group](agent))
    assert set(PRESETS) == set(WORLDS)


def test_no_rule_is_idle() -> None:
    for rule in RULES:
        assert rule.world in PRESETS and rule.agents in AGENTS and rule.tasks in (*GROUPS, "")
        known = {name for names in PRESETS[rule.world].values() for name in names}
        assert rule.presets and set(rule.presets) <= known
        agents = [agent for agent in VARIANTS if AGENTS[rule.agents](agent)]
        tasks = {task_named(task) for task in GROUPS.get(rule.tasks, ("S", TEXT))}
        runs = [(agent, {task}) for agent in agents for task in tasks]
        assert any(rule.applies(rule.presets[0], rule.world, *run) for run in runs)
        assert rule.values or rule.per_task


def test_what_stands_below_overrides_and_groups_take_all_tasks_or_any() -> None:
    assert preset("paper", ["S"]).n_gram == 2 and preset("paper", ["H"]).n_gram == 1
    assert preset("paper", ["S", "H"]).n_gram == 1, "one task of the group is enough"
    assert preset("fast", ["S"]).size.notes == 8 and preset("fast", ["CS"]).size.notes == Size().notes
    assert preset("fast", ["S", "CS"]).size.notes == Size().notes, "all tasks have to be of the group"
    starts = [preset("fast", tasks).random_start_fraction for tasks in (["S"], ["CD"], ["S", "CD"])]
    assert starts == [0, 0.5, 0.5]
    assert preset("laptop", [TEXT]).steps == 1_000_000 < preset("fast", [TEXT]).steps


def test_what_grows_with_the_tasks_grows() -> None:
    one, many = (preset("fast", ["S"] * count, agent="afk-plus") for count in (1, 12))
    assert (one.settings.environments, many.settings.environments) == (512, 12 * 128)
    assert (one.levels, many.levels) == (4096, 12 * 1024)
    assert (one.evaluation_episodes, many.evaluation_episodes) == (500, 1200)
    plain = preset("plain", ["S"], agent="afk-plus")
    assert (plain.hint_fraction, plain.random_start_fraction) == (0, 0)
    assert (one.hint_fraction, one.random_start_fraction) == (0.5, 0.5)


def test_fields_that_are_given_are_taken() -> None:
    config = preset("fast", ["S"], agent="query", steps=7, seeds=(1, 2), held_out=("CS",))
    assert (config.steps, config.seeds, config.held_out) == (7, (1, 2), (task_named("CS"),))
    assert preset("fast", ["S"], agent="query") == preset("fast", ["qbabyai/danger"], agent="query")


def test_a_preset_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown preset 'slow'; it is one of paper, released, fast, laptop"):
        preset("slow", ["qbabyai/danger"])
    with pytest.raises(ValueError, match="preset 'plain' is for afk-plus, not for afk; it is one of paper"):
        preset("plain", ["qbabyai/danger"])
    with pytest.raises(ValueError, match="preset 'paper' is for afk, not for afk-plus; it is one of fast"):
        preset("paper", ["qbabyai/danger"], agent="afk-plus")
    with pytest.raises(ValueError, match="name at least one task"):
        preset("fast", [])
    with pytest.raises(ValueError, match="did you mean afk"):
        preset("fast", ["S"], agent="akf")
    assert default_preset() == "laptop", "tests run without a GPU"


def test_presets_are_the_papers_and_ours() -> None:
    paper = preset("paper", ["qbabyai/danger"], seeds=(42,))
    assert isinstance(paper.settings, ppo.Settings)
    assert (paper.settings.environments, paper.settings.rollout_steps, paper.settings.epochs) == (64, 40, 4)
    assert paper.settings.learning_rate == 1e-4 and paper.size == Size() and paper.seeds == (42,)
    assert paper.updates * 2560 >= paper.steps > (paper.updates - paper.log_every) * 2560
    assert paper.n_gram == 2 and preset("paper", ["qbabyai/open-door"]).n_gram == 1
    discounts = {
        agent: preset("fast", ["qbabyai/danger"], agent=agent).settings.discount
        for agent in ("no-query", "query", "afk-no-bonus", "afk")
    }
    assert discounts == {"no-query": 0.99, "query": 0.99, "afk-no-bonus": 0.95, "afk": 0.95}


def test_the_published_presets_are_what_the_text_says_and_what_the_code_did() -> None:
    paper, released = (preset(name, ["S"]).to_json() for name in ("paper", "released"))
    assert differences(paper, released) == {
        "settings.discount": (0.99, 0.95),
        "settings.bonus_until": (1.0, 0.6),
        "keep_last_answer": (False, True),
    }
    unlike_defaults = differences(Config(("S",)).to_json(), paper)
    assert {name: theirs for name, (_, theirs) in unlike_defaults.items()} == {
        "settings.gae_lambda": 0.99,
        "settings.value_coef": 1.0,
        "settings.switch_entropy_coef": 0.05,
        "settings.normalise_advantages": False,
        "settings.bootstrap_time_limit": False,
        "settings.reward_scale": 20.0,
    }
    for name in ("paper", "released"):
        steps = {task: preset(name, [task]).steps for task in ("C", "H", "CS", "SD", "SH", "CSH", "CSDH")}
        assert [task for task, count in steps.items() if count == 30_000_000] == ["CS", "SD", "CSH", "CSDH"]
        assert [task for task, count in steps.items() if count == 50_000_000] == ["SH"]


@pytest.mark.parametrize("agent", ["no-query", "query", "afk"])
def test_the_papers_preset_for_text_is_the_papers(agent: str) -> None:
    config = preset("paper", [TEXT], agent=agent)
    assert config.settings == dqn.Settings()
    assert config.steps == 500_000 * 20 and config.settings.steps_per_update == 40
    assert (config.size.width, config.size.view_layers, config.size.kernel) == (128, 4, 7)
    assert float(schedules_of(config, 0).bonus) == pytest.approx(0.1 if agent == "afk" else 0)


@pytest.mark.parametrize("name", PRESETS["qtextworld"]["any"])
def test_a_note_holds_a_whole_answer_and_no_more(name: str) -> None:
    config, env = preset(name, [TEXT]), small_game()
    rules = note_taking(env, Similarity(config.n_gram, config.alpha), clauses=config.clauses)
    names = [thing.name for thing in THINGS] + [piece.name for piece in PIECES]
    tails = [words.recipe_tail(*each) for each in product(range(len(CUTS)), range(len(COOKINGS)))]
    tails += [words.place_tail(piece) for piece in (None, *range(len(PIECES)))]
    answers = [f"The {name} {tail}" for name, tail in product(names, tails)]
    answers += [f"You have the {name} {words.HELD}" for name in names]
    tokens = jnp.asarray([env.vocabulary.encode(answer, words.RESPONSE_LENGTH) for answer in answers])
    (notes,) = jax.vmap(partial(split_clauses, clauses=config.clauses, rules=rules))(tokens)
    assert int((notes != PAD).sum(1).max()) == config.size.note_words
    knife = (tokens == env.vocabulary.token("knife")).any(1)
    assert (knife == (notes == env.vocabulary.token("knife")).any(1)).all() and knife.any()


@pytest.mark.parametrize("name", PRESETS["qtextworld"]["any"])
def test_the_knife_can_be_pointed_to_as_soon_as_a_recipe_names_it(name: str) -> None:
    config, env = preset(name, [TEXT]), small_game()
    rules = note_taking(env, Similarity(config.n_gram, config.alpha), clauses=config.clauses)
    mission, answer = (
        jnp.asarray(env.vocabulary.encode(text, length), jnp.uint16)
        for text, length in (
            (f"{words.MISSION[0]} red apple {words.MISSION[1]}", words.MISSION_LENGTH),
            (f"The red apple {words.recipe_tail(1, 1)}", words.RESPONSE_LENGTH),
        )
    )
    notebook, grew = write(open_notebook(mission, rules=rules), answer, rules=rules)
    seen = read_focus(notebook, notes=config.size.notes, words=config.size.note_words)
    (note,) = [env.vocabulary.decode(row) for row in seen.notes if row.any()]
    assert note == "red apple sliced fried use knife cut it use stove cook it" and bool(grew)


def test_the_wide_preset_learns_as_much_from_each_step_as_the_papers() -> None:
    paper, wide = preset("paper", [TEXT]), preset("paper-wide", [TEXT])
    assert isinstance(paper.settings, dqn.Settings) and isinstance(wide.settings, dqn.Settings)
    assert wide.settings.samples_per_step == paper.settings.samples_per_step
    assert (wide.size, wide.steps) == (paper.size, paper.steps)
