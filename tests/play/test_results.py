"""What is made of episodes and results: exported chats, and the share of the gap that asking recovers."""

import json
import runpy
from pathlib import Path

import pytest

from afk.files import write_json
from afk.play.export import Export, play_episodes
from afk.play.leaderboard import find_gaps, make_leaderboard

from ..command import Run

TRAINING = Path(__file__).parents[2] / "examples" / "training"


def test_exported_episodes_are_whole_chats(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    run("export", "--task", "C", "--episodes", "3", "--macros", "--out", str(path))
    episodes = [json.loads(line) for line in path.read_text().splitlines()]
    assert [episode["level"] for episode in episodes] == [0, 1, 2]
    for episode in episodes:
        roles = [message["role"] for message in episode["messages"]]
        assert (
            roles[:2] == ["system", "user"]
            and set(roles[2::2]) == {"assistant"}
            and set(roles[3::2]) == {"tool"}
        )
        calls = [call for each in episode["messages"] for call in each.get("tool_calls", [])]
        results = [each["tool_call_id"] for each in episode["messages"] if each["role"] == "tool"]
        assert [call["id"] for call in calls] == results
        assert [question["label"] for question in episode["questions"]] == ["good"] * 3 and episode["success"]
        asked = [
            json.loads(each["function"]["arguments"]) for each in calls if each["function"]["name"] == "ask"
        ]
        assert [each["question"] for each in episode["questions"]] == [each["question"] for each in asked]
    card = path.with_suffix(".md").read_text()
    assert "3 of 3 were\nwon" in card and "9 good" in card and "--macros" in card


@pytest.mark.slow
def test_an_agent_is_exported_as_it_played() -> None:
    (episode,) = play_episodes(Export("qbabyai/object-in-box", "pretrained", episodes=1))
    assert episode["success"] and {question["label"] for question in episode["questions"]} == {"good"}
    assert len(episode["messages"]) == 2 + 2 * episode["steps"]


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"agent": "pretrained", "macros": True}, "only the expert has macros"),
        ({"mode": "loud"}, "unknown mode 'loud'"),
        ({"episodes": 0}, "episodes is at least 1"),
    ],
)
def test_what_cannot_be_exported(options: dict, refusal: str) -> None:
    with pytest.raises(ValueError, match=refusal):
        Export("qbabyai/object-in-box", **options)


def _result(mode: str, won: list[bool]) -> dict:
    return {
        "agent": "openai:m", "task": "qbabyai/object-in-box", "seed": 0, "mode": mode, "macros": True,
        "tools": True, "success": sum(won) / len(won), "won": won,
    }  # fmt: skip


def test_the_share_of_the_gap_that_asking_recovers() -> None:
    silent, told = [False] * 30 + [True] * 10, [True] * 40
    asking = [False] * 15 + [True] * 25
    modes = {"no-questions": silent, "asking": asking, "all-told": told}
    (gap,) = find_gaps([_result(mode, won) for mode, won in modes.items()])
    assert gap.share == 0.5 and gap.interval is not None
    assert 0.3 < gap.interval[0] < 0.5 < gap.interval[1] < 0.7
    # Whoever else is asked, the ends of the gap are the same.
    results = [_result(mode, won) for mode, won in modes.items()] + [
        _result("asking", told) | {"source": "sql"}
    ]
    assert [(each.who, each.share) for each in find_gaps(results)] == [
        ("openai:m (macros, tools)", 0.5),
        ("openai:m (macros, tools, sql)", 1.0),
    ]
    # Who plays otherwise has ends of its own.
    others = [_result(mode, told) | {"temperature": 1.0} for mode in ("no-questions", "all-told")]
    assert find_gaps([*others, _result("asking", asking), _result("asking", told) | {"history": 4}]) == []
    assert find_gaps([_result(mode, told) for mode in modes]) == []  # there is no gap
    assert find_gaps([_result("asking", asking)]) == []


def _whole_result() -> dict:
    """What `afk eval` leaves, as far as it is read."""
    measures = ("episode_length", "queries", "precision", "recall", "f1", "invalid", "seconds")
    counts = ("episodes", "history", "max_tokens", "prompt_tokens", "completion_tokens")
    return (
        _result("asking", [True, False])
        | dict.fromkeys(measures, 0.5)
        | dict.fromkeys(counts, 1)
        | {"temperature": None, "success_interval": [0.1, 0.9]}
    )


@pytest.mark.parametrize(
    "damage",
    [
        *({"success": "half"}, {"won": 3}, {"won": []}, {"won": [1, "no"]}, {"mode": "loud"}, {"seed": []}),
        *({"success_interval": 1}, {"success_interval": [0, None]}, {"queries": None}, {"temperature": {}}),
    ],
)
def test_a_result_that_is_none_is_named(damage: dict, tmp_path: Path) -> None:
    write_json(tmp_path / "one" / "result.json", _whole_result() | damage)
    with pytest.raises(ValueError, match=r"one/result.json is not the result of a model"):
        make_leaderboard("qbabyai/object-in-box", tmp_path, tmp_path / "none", episodes=1, seed=0)


def test_models_are_in_a_folder(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_json(tmp_path / "file.json", {})
    for name in ("file.json", "nowhere"):
        done = run("leaderboard", "--task", "C", "--episodes", "1", "--models", name)
        assert done.code == 2 and f"{name} is no folder with results of models" in done.err
    done = run("leaderboard", "--task", "C", "--episodes", "1", "--json")
    assert done.code is None and "expert" in done.out  # where nobody has played yet there are no results


def test_a_whole_result_has_a_row(tmp_path: Path) -> None:
    write_json(tmp_path / "one" / "result.json", _whole_result())
    entries, _ = make_leaderboard("qbabyai/object-in-box", tmp_path, tmp_path, episodes=1, seed=0)
    assert "openai:m" in {entry.who for entry in entries}


def test_everybody_has_an_interval_and_our_agent_a_row_for_each_mode(tmp_path: Path) -> None:
    records = Path(__file__).parents[2] / "results"
    entries, gaps = make_leaderboard("qbabyai/object-in-box+danger", tmp_path, records, episodes=8, seed=0)
    rows = {(entry.who, entry.how): entry.measures for entry in entries}
    assert rows.keys() == {
        *(("expert", ""), ("random", ""), ("the paper's afk", "asking, 5 seeds")),
        *(("pretrained", mode) for mode in ("no-questions", "asking", "all-told")),
    }
    for measures in rows.values():
        low, high = measures["success_interval"]
        assert 0 <= low <= measures["success"] <= high <= 1
    low, high = rows["the paper's afk", "asking, 5 seeds"]["success_interval"]
    assert round(low, 3) == 0.881 and round(high, 3) == 0.925  # 90.3 ± 1.8 over five seeds
    assert rows["pretrained", "no-questions"]["success"] < rows["pretrained", "asking"]["success"]
    (gap,) = gaps
    assert gap.who == "pretrained" and gap.share > 0.8


def test_a_row_of_the_trainer_is_a_level() -> None:
    example = runpy.run_path(str(TRAINING / "trl_grpo.py"))
    rows = example["make_rows"]("C", 2)
    one, other = example["Game"](), example["Game"]()
    assert one.reset(**rows[0]) == other.reset(**rows[0]) != other.reset(**rows[1])
    assert one.get_reward() == 0 and {name for name in dir(one) if name[0] != "_"} == {
        *("reset", "act", "ask", "get_reward")
    }


@pytest.mark.parametrize("path", sorted(TRAINING.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 100
