from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from turnwise.config import Settings, data_folder, load
from turnwise.errors import ConfigError


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The turnwise.toml of an otherwise empty folder, which is where we are; the test writes it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "turnwise.toml"


def test_with_nothing_said_the_defaults_hold(file: Path) -> None:
    settings, origins = load(environment={})
    assert not file.exists()
    assert settings == Settings()
    assert {each.origin for each in origins} == {"default"}


def test_arguments_outrank_the_environment_which_outranks_the_file(file: Path) -> None:
    file.write_text("port = 1\nhost = 'file'\nmodel = 'file'\n")
    environment = {"TURNWISE_PORT": "2", "TURNWISE_HOST": "environment", "UNRELATED": "x"}
    settings, origins = load({"port": 3, "library": None}, environment)
    assert (settings.port, settings.host, settings.model) == (3, "environment", "file")
    named = {each.name: each.origin for each in origins}
    assert (named["port"], named["host"], named["model"]) == ("argument", "TURNWISE_HOST", "turnwise.toml")
    assert named["library"] == "default", "an argument of None was not given"


def test_openai_base_url_is_an_endpoint_and_our_own_variable_outranks_it(file: Path) -> None:
    file.write_text("base_url = 'http://file/v1'\n")
    environment = {"OPENAI_BASE_URL": "http://openai/v1"}
    assert load(environment=environment)[0].base_url == "http://openai/v1"
    assert load(environment={**environment, "TURNWISE_BASE_URL": "http://ours/v1"})[0].base_url == "http://ours/v1"
    assert load(environment={"OPENAI_BASE_URL": ""})[0].base_url == "http://file/v1"


def test_a_file_can_be_named_and_then_has_to_be_there(file: Path, tmp_path: Path) -> None:
    file.write_text("port = 1\n")
    other = tmp_path / "other.toml"
    other.write_text("port = 2\n")
    assert load(environment={}, file=other)[0].port == 2
    with pytest.raises(ConfigError, match=r"none\.toml cannot be read: No such file or directory\.$") as raised:
        load(environment={}, file=tmp_path / "none.toml")
    assert raised.value.hint == "Check its name."


@pytest.mark.parametrize(
    ("toml", "environment", "arguments", "said"),
    [
        ("prot = 1", {}, {}, "Unknown setting 'prot' in turnwise.toml."),
        ("", {"TURNWISE_PROT": "1"}, {}, "Unknown setting 'prot' in TURNWISE_PROT."),
        ("", {}, {"prot": 1}, "Unknown setting 'prot' in argument."),
    ],
)
def test_an_unknown_setting_names_the_nearest(
    file: Path, toml: str, environment: dict[str, str], arguments: dict[str, int], said: str
) -> None:
    file.write_text(toml)
    with pytest.raises(ConfigError) as raised:
        load(arguments, environment)
    assert str(raised.value) == said
    assert raised.value.hint == "Did you mean 'port'?"


def test_a_setting_like_no_other_points_to_the_list(file: Path) -> None:
    file.write_text("[quux]\nport = 1\n")
    with pytest.raises(ConfigError) as raised:
        load(environment={})
    assert raised.value.hint.startswith("These can be set: access, ")
    assert ", library, " in raised.value.hint


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("port = 'many'", "'port' in turnwise.toml should be a whole number, not 'many'."),
        ("port = 1.5", "'port' in turnwise.toml should be a whole number, not 1.5."),
        ("port = true", "'port' in turnwise.toml should be a whole number, not True."),
        ("top_p = 'half'", "'top_p' in turnwise.toml should be a number, not 'half'."),
        ("durable = 1", "'durable' in turnwise.toml should be true or false, not 1."),
        ("host = 8000", "'host' in turnwise.toml should be a text, not 8000."),
        ("model = ['a']", "'model' in turnwise.toml should be a text, not ['a']."),
    ],
)
def test_a_value_of_the_wrong_kind_says_which_is_right(file: Path, toml: str, said: str) -> None:
    file.write_text(toml)
    with pytest.raises(ConfigError) as raised:
        load(environment={})
    assert str(raised.value) == said


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("evidence", "-1", "should be from 1 to 8, not -1."),
        ("evidence", "9", "should be from 1 to 8, not 9."),
        ("follow_up_threshold", "7", "should be from 0 to 1, not 7.0."),
        ("follow_up_threshold", "nan", "should be from 0 to 1, not nan."),
        ("memory_seconds", "-0.5", "should be at least 0, not -0.5."),
        ("port", "70000", "should be from 0 to 65535, not 70000."),
        ("rerank", "zzz", "should be quick, quality or off, not 'zzz'."),
        ("embed", "", "should be quick or quality, not ''."),
        ("logs", "xml", "should be text or json, not 'xml'."),
        ("access", "public", "should be auto, keys or open, not 'public'."),
        ("context_tokens", "1", "should be 0 or at least 1024, not 1."),
        ("context_tokens", "1023", "should be 0 or at least 1024, not 1023."),
        ("context_tokens", "-1", "should be 0 or at least 1024, not -1."),
    ],
)
def test_a_value_that_is_not_allowed_says_which_are(file: Path, name: str, given: str, said: str) -> None:
    assert not file.exists()
    key = f"TURNWISE_{name.upper()}"
    with pytest.raises(ConfigError) as raised:
        load(environment={key: given})
    assert str(raised.value) == f"'{name}' in {key} {said}"


@pytest.mark.parametrize("given", [{"evidence": 0}, {"rerank": "zzz"}, {"top_p": 1.5}, {"max_tokens": "many"}])
def test_settings_made_in_code_are_held_to_the_same(given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(ConfigError, match=f"'{name}' should be "):
        Settings(**given)
    with pytest.raises(ConfigError, match=f"'{name}' should be "):
        dataclasses.replace(Settings(), **given)


def test_the_ends_of_a_range_are_in_it() -> None:
    for name, ends in {"evidence": (1, 8), "top_p": (0, 1), "port": (0, 65535), "suggestions": (0, 10**6)}.items():
        assert [getattr(Settings(**{name: end}), name) for end in ends] == list(ends)


def test_a_window_of_unknown_size_is_0(file: Path) -> None:
    assert not file.exists()
    assert [Settings(context_tokens=tokens).context_tokens for tokens in (0, 1024)] == [0, 1024]
    (window,) = (each for each in load(environment={})[1] if each.name == "context_tokens")
    assert window.allowed == "0 or at least 1024"


def test_every_number_has_a_range_and_every_choice_is_told(file: Path) -> None:
    assert not file.exists()
    origins = load(environment={})[1]
    assert [each.name for each in origins if type(each.value) in (int, float) and not each.allowed] == []
    told = {each.name: each.allowed for each in origins}
    assert told["rerank"] == "quick, quality or off"
    assert told["evidence"] == "from 1 to 8"
    assert told["threads"] == "at least 0"
    assert told["host"] == ""


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("PORT", "9000", 9000),
        ("TOP_P", "1", 1.0),
        ("DURABLE", "Yes", True),
        ("DURABLE", "0", False),
        ("MODEL", "7", "7"),
    ],
)
def test_the_environment_speaks_in_text(file: Path, name: str, text: str, value: object) -> None:
    assert not file.exists()
    read = getattr(load(environment={f"TURNWISE_{name}": text})[0], name.lower())
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize("content", [b"port = ", b"port = 1\nport = 2", b"\xff\xfe", b"= 3"])
def test_a_broken_file_is_named(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"turnwise\.toml cannot be read") as raised:
        load(environment={})
    assert raised.value.hint


def test_every_setting_says_what_it_means(file: Path) -> None:
    assert not file.exists()
    _, origins = load(environment={})
    assert [each.name for each in origins] == [field.name for field in dataclasses.fields(Settings)]
    assert [each.name for each in origins if not each.about.endswith(".")] == []


def test_libraries_live_in_the_users_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert data_folder() == Path("/data/turnwise")
    monkeypatch.delenv("XDG_DATA_HOME")
    assert data_folder() == Path.home() / ".local" / "share" / "turnwise"


@pytest.mark.parametrize(
    ("model", "base_url", "local"),
    [
        ("", "", False),
        ("local", "", True),
        ("local", "http://host/v1", True),
        ("~/models/x.gguf", "http://host/v1", True),
        ("x.gguf", "", True),
        ("x.gguf", "http://host/v1", False),  # llama.cpp's own server calls its models so
        ("qwen3", "http://host/v1", False),
    ],
)
def test_a_model_is_local_by_that_word_or_as_a_file(model: str, base_url: str, local: bool) -> None:
    settings = Settings(model=model, base_url=base_url)
    assert (settings.local, settings.endpoint) == (local, "" if local else base_url)
