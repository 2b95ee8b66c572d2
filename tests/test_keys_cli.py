"""`turnwise keys`: made, listed and ended on the command line."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from turnwise.app import build
from turnwise.cli.verbs import turnwise
from turnwise.config import Settings


def run(*arguments: object) -> Result:
    return CliRunner().invoke(turnwise, ["keys", *map(str, arguments)])


def told(*arguments: object) -> list[dict[str, Any]]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_key_is_shown_once_and_known_again_by_its_hash(tmp_path: Path) -> None:
    result = run("create", "the page", "--library", tmp_path)
    assert result.exit_code == 0, result.output
    secret = result.stdout.strip()
    assert secret.startswith("tw_"), "nothing but the key is on stdout"
    assert "Authorization: Bearer" in result.stderr
    assert "not shown again" in result.stderr
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes(), f"the key is in {file}"
    with build(Settings(library=str(tmp_path))) as engine:
        found = engine.store.keys.find(secret)
    assert found is not None
    assert (found.name, found.tenant, found.collections, found.may) == ("the page", "", (), "ask")
    (line, *_) = run("list", "--library", tmp_path).stdout.splitlines()
    assert line == f"{found.id}  the page"
    assert secret not in run("list", "--json", "--library", tmp_path).stdout


def test_what_a_key_is_for_is_said_when_it_is_made(tmp_path: Path) -> None:
    options = ["--tenant", "acme", "--collection", "papers", "--collection", "minutes", "--may", "edit"]
    (made,) = told("create", "ada", *options, "--expires", "30d", "--library", tmp_path)
    assert (made["tenant"], made["collections"], made["may"]) == ("acme", ["papers", "minutes"], "edit")
    assert made["expires_at"] == pytest.approx(time.time() + 30 * 86400, abs=60)
    (listed,) = told("list", "--library", tmp_path)
    assert listed == {name: value for name, value in made.items() if name != "secret"} | {"valid": True}
    text = run("list", "--library", tmp_path).stdout
    assert "ada (acme)" in text
    assert "may edit, in papers and minutes only" in text
    assert "expires" in text


def test_a_key_is_revoked_by_its_id(tmp_path: Path) -> None:
    (made,) = told("create", "ada", "--library", tmp_path)
    assert run("revoke", made["id"], "--library", tmp_path).stdout == f"Revoked: {made['id']}\n"
    (listed,) = told("list", "--library", tmp_path)
    assert not listed["valid"]
    assert "revoked" in run("list", "--library", tmp_path).stdout
    unknown = run("revoke", "nobody", "--library", tmp_path)
    assert unknown.exit_code == 1
    assert "There is no key nobody" in unknown.stderr


def test_without_keys_it_is_said_what_that_means(tmp_path: Path) -> None:
    assert run("list", "--library", tmp_path).exit_code == 1, "there is no library yet"
    (made,) = told("create", "ada", "--library", tmp_path)
    assert made["secret"]
    other = tmp_path / "other"
    with build(Settings(library=str(other)), create=True):
        pass
    assert "There are no keys" in run("list", "--library", other).stdout


@pytest.mark.parametrize(
    "options",
    [
        ["", "--may", "ask"],
        ["ada", "--may", "everything"],
        ["ada", "--expires", "soon"],
        ["ada", "--expires", "0d"],
        ["ada", "--expires", "999999y"],
        ["ada", "--tenant", "a/b"],
        ["ada", "--collection", "a\nb"],
        ["a\x00b"],
        [],
    ],
)
def test_a_key_that_cannot_be_is_refused_in_plain_words(tmp_path: Path, options: list[str]) -> None:
    result = run("create", *options, "--library", tmp_path)
    assert result.exit_code in (1, 2)
    assert "Error" in result.stderr or "cannot" in result.stderr
    assert "Traceback" not in result.output


def test_keys_of_a_library_in_a_database(postgres_url: str) -> None:
    (made,) = told("create", "ada", "--tenant", "acme", "--database", postgres_url)
    (listed,) = told("list", "--database", postgres_url)
    assert listed["id"] == made["id"]
    told("revoke", made["id"], "--database", postgres_url)
    assert not told("list", "--database", postgres_url)[0]["valid"]
