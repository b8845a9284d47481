"""The key of an endpoint: how it is read, and where it is never seen."""

import pytest

from afk.knowledge.keys import check_way, key_header, read_key, without_key


@pytest.mark.parametrize("ending", ["\r", "\r\n", " ", "\n"])
def test_the_end_of_its_line_is_no_part_of_a_key(ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"sk-secret{ending}")
    assert key_header() == {"Authorization": "Bearer sk-secret"}
    assert without_key("I know sk-secret") == "I know ***"
    monkeypatch.setenv("OPENAI_API_KEY", ending)
    assert read_key() == "" and key_header() == {}


@pytest.mark.parametrize("key", ["sk-se\rcret", "sk-se\ncret", "sk-s\u00e9cret", "sk-\x00secret"])
def test_what_cannot_be_a_key_is_refused_and_not_shown(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.environ", {"OPENAI_API_KEY": key})
    for ask in (key_header, lambda: check_way("https://example.org/v1")):
        with pytest.raises(ValueError, match=r"^OPENAI_API_KEY holds characters that no key has$"):
            ask()
