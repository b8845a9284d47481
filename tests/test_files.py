"""Files are whole or not there, whoever else writes; what is left of a kill is known; JSON is not trusted."""

import os
from pathlib import Path

import jax
import pytest

from afk import files
from afk.files import append_file, is_remains, parse_json, read_json, read_object, remove_remains, write_file


def test_a_link_that_lies_in_wait_is_not_followed(tmp_path: Path) -> None:
    precious, folder = tmp_path / "precious", tmp_path / "run"
    precious.write_text("mine")
    folder.mkdir()
    for name in (f".config.json.{os.getpid()}", "config.json", "log.jsonl"):
        (folder / name).symlink_to(precious)
    write_file(folder / "config.json", b"{}")
    assert precious.read_text() == "mine"
    assert not (folder / "config.json").is_symlink() and (folder / "config.json").read_bytes() == b"{}"
    with pytest.raises(OSError, match="symbolic links"):
        append_file(folder / "log.jsonl", b"more")
    assert precious.read_text() == "mine"


def test_no_two_writers_share_a_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, replace = [], Path.replace

    def note(self: Path, target: Path) -> Path:
        seen.append(self.name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", note)
    for content in (b"1", b"2"):  # as two containers do, in which both are process 1
        write_file(tmp_path / "bank", content)
    assert len(set(seen)) == 2 and [path.name for path in tmp_path.iterdir()] == ["bank"]


def test_what_is_left_of_a_kill_is_known_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(self: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        patch.setattr(Path, "unlink", lambda self, missing_ok=False: None)
        with pytest.raises(KeyboardInterrupt):
            write_file(tmp_path / "config.json", b"{}")
    (left,) = tmp_path.iterdir()
    (tmp_path / ".config.json.4711").write_text("{")  # as it was called before
    own = [tmp_path / name for name in (".gitignore", ".notes.12", ".part", "a.part")]
    for path in own:
        path.write_text("mine")
    assert is_remains(left) and not any(map(is_remains, own))
    remove_remains(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(own)
    remove_remains(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "Expecting value"),
        (b"\xff\xfe\xff", "not UTF-8"),
        (b"[NaN]", "NaN is not a number"),
        (b"[-Infinity]", "-Infinity is not a number"),
        (b"[1e999]", "1e999 is too large"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" * 500 + b"]" * 500, "nested too deeply"),
        (b'{"a":' * 500 + b"1" + b"}" * 500, "nested too deeply"),
        (b"1" * 5_000, "limit"),
    ],
)
def test_what_is_no_sound_json_is_one_line(text: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=r"x\.json cannot be read") as caught:
        read_json(path)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_sound_json_is_read(tmp_path: Path) -> None:
    assert parse_json('{"a": [1, 2.5, null, {"b": "c"}]}') == {"a": [1, 2.5, None, {"b": "c"}]}


def test_what_may_have_no_end_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")  # /dev/zero would be read until memory is full
    for name in ("pipe", "link"):
        with pytest.raises(ValueError, match=f"{name} cannot be read: it is a pipe or a device"):
            read_object(tmp_path / name)


def test_compiled_programs_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(files, "MOST_COMPILED", 25)
    monkeypatch.setattr(jax.config, "update", lambda name, value: None)
    folder = tmp_path / "afk" / "jax"
    folder.mkdir(parents=True)
    for age, name in enumerate(("newest", "middle", "oldest")):
        (folder / name).write_bytes(b"0123456789")
        os.utime(folder / name, (1e9 - age, 1e9 - age))
    monkeypatch.setenv("JAX_COMPILATION_CACHE_MAX_SIZE", "-1")
    files.keep_compiled_programs()
    assert len(list(folder.iterdir())) == 3, "JAX was told what to keep"
    monkeypatch.delenv("JAX_COMPILATION_CACHE_MAX_SIZE")
    files.keep_compiled_programs()
    assert sorted(path.name for path in folder.iterdir()) == ["middle", "newest"]
