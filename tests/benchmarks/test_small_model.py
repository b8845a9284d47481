"""The small language model: how it reads episodes, what it says, and that it learns."""

import importlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.play.export import Export, play_episodes, write_episodes

HERE = Path(__file__).parents[2] / "benchmarks" / "language_model"
EXPORT = Export("qbabyai/object-in-box", episodes=2, macros=True)


@pytest.fixture(scope="module")
def modules() -> Any:
    """The scripts, which lie beside each other and not in a package."""
    names = ("language", "decoder", "pack", "train", "serve", "reinforce")
    sys.path.insert(0, str(HERE))
    yield {name: importlib.import_module(name) for name in names}
    sys.path.remove(str(HERE))
    for name in names:
        sys.modules.pop(name)


@pytest.fixture(scope="module")
def episodes() -> list[dict[str, Any]]:
    return list(play_episodes(EXPORT))


def test_it_reads_an_episode(modules: Any, episodes: list[dict[str, Any]]) -> None:
    language = modules["language"]
    turns = language.turns_of(episodes[0]["messages"])
    assert turns[0] == (False, "You may ask")
    words = language.Words.of(Counter(word for _, text in turns for word in language.split(text)))
    tokens, mine = language.encode(turns, words)
    said = words.write(token for token, is_mine in zip(tokens, mine, strict=True) if is_mine)
    assert said == " ".join(text for speaks, text in turns if speaks) and said.startswith("ask what is ")
    assert words.read("zebra stripes") == [language.UNKNOWN] * 2
    # Of what is too long the beginning and the latest stay.
    short, _ = language.encode(turns, words, len(tokens) - 1)
    opening = sum(len(words.read(text)) for _, text in turns[:2])
    assert short[:opening] == tokens[:opening] and short[-20:] == tokens[-20:] and len(short) < len(tokens)
    move = modules["serve"].read_said([*words.read("ask what is mary toy"), language.END, 9, 9], words)
    assert move == ("ask", "what is mary toy")


def test_it_says_at_once_what_it_would_say_word_by_word(modules: Any) -> None:
    decoder = modules["decoder"]
    model = decoder.make_decoder(jax.random.key(0), 40, width=64, layers=2)
    model = jax.tree.map(lambda leaf: leaf * (10 if leaf.ndim > 1 else 1), model)  # not the same for ever
    lengths = np.array([5, 12])
    tokens = np.where(np.arange(16) < lengths[:, None], np.arange(32).reshape(2, 16) + 4, 0)
    said = np.asarray(decoder.reply(model, tokens, lengths, jax.random.key(0)))
    grown = np.zeros((2, 16 + decoder.LONGEST), np.int32)
    for number, length in enumerate(lengths):
        spoken = [each for each in said[number].tolist() if each != modules["language"].PAD]
        grown[number, : length + len(spoken)] = [*tokens[number, :length], *spoken]
    thought, _ = decoder.run(model, jnp.asarray(grown))
    logits = np.asarray((thought @ model.embedding.astype(jnp.bfloat16).T).astype(jnp.float32))
    for number, length in enumerate(lengths):
        for place in range(length, np.count_nonzero(grown[number])):
            here = logits[number, place - 1]
            assert here[grown[number, place]] > here.max() - 0.1  # up to the rounding of bfloat16
    assert len(np.unique(said)) > 3


@pytest.mark.slow
def test_it_learns_from_exported_episodes_and_is_served(
    modules: Any,
    episodes: list[dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_episodes(tmp_path / "data" / "one.jsonl", EXPORT, episodes)
    pack, train = modules["pack"], modules["train"]
    monkeypatch.setattr(pack, "ProcessPoolExecutor", InOneProcess)
    packed = ["--data", str(tmp_path / "data"), "--out", str(tmp_path / "packed")]
    monkeypatch.setattr(sys, "argv", ["pack", *packed])
    pack.main()
    command = ["train", "--data", str(tmp_path / "packed"), "--out", str(tmp_path), "--minutes", "0.1"]
    monkeypatch.setattr(sys, "argv", [*command, "--width", "64", "--layers", "1", "--tokens", "512"])
    train.main()
    record = json.loads((tmp_path / "training.json").read_text())
    assert "2 episodes, " in capsys.readouterr().out and record["parameters"] > 50_000
    assert record["held_out_loss"] < 4  # log of 70 words at the start
    small = modules["serve"].SmallModel(tmp_path)
    said = small(episodes[0]["messages"][:2], episodes[0]["tools"])
    assert said["tool_calls"][0]["function"]["name"] in ("act", "ask")


class InOneProcess:
    """What stands for a pool of processes."""

    def __init__(self, *_: Any) -> None:
        pass

    def __enter__(self) -> "InOneProcess":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    map = staticmethod(map)
