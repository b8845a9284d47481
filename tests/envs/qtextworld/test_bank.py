"""The text bank: made once, kept, checked, and made again where it is of no use."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.levels import bank as bank_module
from afk.envs.qtextworld.levels.bank import Bank, bank_path, fill_bank, load_bank, prepare_bank
from afk.envs.qtextworld.levels.grammar import expand_templates, split_block
from afk.envs.qtextworld.levels.tasks import paper_tasks


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache folder, and banks that are small enough to be made quickly."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(bank_module, "VARIANTS", 8)
    bank_module._kept_bank.cache_clear()
    yield bank_path()
    bank_module._kept_bank.cache_clear()


def _forget() -> None:
    bank_module._kept_bank.cache_clear()


def _without_textworld(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] == "textworld":
            monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "textworld", None)


def test_it_is_kept_in_the_cache_folder(cache: Path, tmp_path: Path) -> None:
    shares: list[float] = []
    made = prepare_bank(progress=shares.append)
    assert cache == tmp_path / "afk" / "qtextworld.safetensors"
    assert [file.name for file in cache.parent.iterdir()] == [cache.name]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert load_bank() == made


def test_games_can_be_played_where_nothing_can_be_kept(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "afk").write_text("not a folder")
    made = load_bank()
    assert load_bank() is made and len(made.intros) == 8
    said = capsys.readouterr().err
    assert said.startswith(f"note: {cache} cannot be written") and said.count("\n") == 1
    with pytest.raises(OSError, match="afk"):
        prepare_bank()  # whoever wants it kept is told that it is not


def test_the_home_folder_has_a_cache_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert bank_path() == tmp_path / ".cache" / "afk" / "qtextworld.safetensors"


def test_playing_needs_the_cache_only(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare_bank()
    _forget()
    _without_textworld(monkeypatch)
    env = QTextWorld(paper_tasks()[0])
    _, observation = jax.jit(env.reset)(jax.random.key(0))
    assert "you find yourself" in env.vocabulary.decode(observation.text)


def test_nothing_of_the_training_path_imports_textworld() -> None:
    code = "import sys, afk.envs.qtextworld.solver; sys.exit(bool({'textworld', 'spacy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_cache_and_package_it_says_what_to_install(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _without_textworld(monkeypatch)
    with pytest.raises(
        ValueError, match=r"pip install textworld.*C compiler.*afk textworld prepare"
    ) as error:
        load_bank()
    assert "\n" not in str(error.value)
    assert not cache.exists()


def _cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:1000])


def _flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


def _age(path: Path) -> None:
    save_file(load_file(path), path, metadata={"version": "0", "checksum": "", "words": ""})


def _strip(path: Path) -> None:
    save_file({"pool": np.zeros(3, np.uint16)}, path, metadata={"version": bank_module.VERSION, "words": ""})


def _overwrite(path: Path) -> None:
    path.write_text("not a bank")


@pytest.mark.parametrize("harm", [_cut_short, _flip_a_byte, _age, _strip, _overwrite, Path.unlink])
def test_what_is_of_no_use_is_made_again(
    cache: Path, harm: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = prepare_bank()
    harm(cache)
    _forget()
    assert load_bank() == made
    _forget()
    _without_textworld(monkeypatch)
    assert load_bank() == made  # the new file is whole


def test_it_is_the_same_every_time(bank: Bank) -> None:
    again = fill_bank(expand_templates(96, seed=0, progress=lambda share: None))
    assert again == bank
    assert hash(again) == hash(bank)
    assert fill_bank(expand_templates(8, seed=1, progress=lambda share: None)) != bank


def test_it_knows_words_that_were_not_drawn(bank: Bank) -> None:
    other = fill_bank(expand_templates(256, seed=1, progress=lambda share: None))
    drawn = {other.words[number] for number in np.unique(other.pool)}
    assert drawn <= set(bank.words)
    assert not drawn <= {bank.words[number] for number in np.unique(bank.pool)}


def test_no_text_is_left_unfilled(bank: Bank) -> None:
    text = " ".join(bank.words)
    assert not re.search(r"[][#()_]", text)
    assert bank.blocks[..., 1].max() < 128
    is_container = bank.blocks[:, :, 0, 1] > 0
    assert (is_container.all(1) | ~is_container.any(1)).all()


@pytest.mark.parametrize(
    "template",
    [
        "[if x is green]a[end if][a list of things in the x]",
        "nothing is listed",
        "[otherwise] [a list of things in the x]",
    ],
)
def test_text_of_an_unknown_kind_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match="TextWorld's grammar"):
        split_block(template, is_container=True)
