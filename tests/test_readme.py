"""What the README and the pages of docs/ say is true of the code."""

from __future__ import annotations

import json
import re
import runpy
import shlex
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import click
import pytest
from click.testing import CliRunner

from turnwise.cli.verbs import turnwise
from turnwise.engine import Engine
from turnwise.server.run import running

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")

GENERATE = runpy.run_path(str(ROOT / "docs" / "generate.py"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def commands() -> list[list[str]]:
    """The arguments of every `turnwise` command that a block runs."""
    lines = [
        line.removeprefix("$ ")
        for language in ("console", "sh")
        for block in blocks(language)
        for line in block.splitlines()
    ]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("turnwise ")]


@pytest.fixture
def stranger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed_library: Path, sample_folder: Path
) -> Iterator[Path]:
    """A stranger's folder with papers and a table in it; of the sample library they have made the vectors already."""
    (tmp_path / "papers").mkdir()
    for name in ("bert.md", "gpt.md"):
        shutil.copy(sample_folder / name, tmp_path / "papers")
    (tmp_path / "sales.csv").write_text("region,revenue\nNorth,3\nSouth,4\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "account"))
    shutil.copytree(closed_library, tmp_path / "account" / "turnwise" / "sample")
    return tmp_path


@pytest.mark.usefixtures("stranger")
def test_the_python_code_runs(capsys: pytest.CaptureFixture[str]) -> None:
    code = blocks("python")
    assert len(code) == 6
    names: dict[str, object] = {}
    for block in code:
        exec(compile(block, "README.md", "exec"), names)
    shown = capsys.readouterr().out
    engine = names["engine"]
    assert isinstance(engine, Engine)
    engine.close()
    assert "How does BERT compare to GPT?\n" in shown
    assert re.search(r"\[\d\]", shown)
    assert "[('rag', 'What is BERT?'), ('rag', 'who made BERT?'), ('answer', '')]\nq2 (" in shown
    assert "This message was not answered" in shown
    assert "passages to cite [1]." in shown


@pytest.mark.usefixtures("stranger")
def test_the_commands_run() -> None:
    found = commands()
    assert len(found) >= 5
    for arguments in found:
        if arguments[0] == "serve":  # would go on for ever: only its options are looked at
            turnwise.commands["serve"].make_context("serve", arguments[1:])
            continue
        result = CliRunner().invoke(turnwise, arguments, input="What is BERT?\n")
        assert result.exit_code == 0, (arguments, result.output)


@pytest.mark.usefixtures("stranger")
def test_the_first_commands_print_what_is_shown() -> None:
    for shown in blocks("console")[0].split("$ turnwise ")[1:]:
        command, *lines = shown.splitlines()
        printed = CliRunner().invoke(turnwise, shlex.split(command)).output
        pieces = [piece.strip() for line in lines for piece in line.split("…")]
        assert [piece for piece in pieces if piece not in printed] == [], printed
        found = [printed.index(line.split("…")[0].strip()) for line in lines if line]
        assert found == sorted(found), printed


def test_the_first_example_of_a_test_passes(stranger: Path) -> None:
    guide = (ROOT / "docs" / "TESTING.md").read_text(encoding="utf-8")
    (example, *_) = re.findall(r"^```yaml\n(.*?)^```$", guide, re.M | re.S)
    (shown, *_) = re.findall(r"^```console\n\$ turnwise (.*?)^```$", guide, re.M | re.S)
    (stranger / "talks").mkdir()
    (stranger / "talks" / "bert.yaml").write_text(example)
    command, _, printed = shown.partition("\n")
    assert CliRunner().invoke(turnwise, shlex.split(command)).output == printed


def test_the_transcripts_of_the_guide_are_measured(stranger: Path) -> None:
    guide = (ROOT / "docs" / "EVALUATION.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```json\n(.*?)^```$", guide, re.M | re.S)
    (stranger / "talks.jsonl").write_text(example)
    (typed,) = re.findall(r"^```sh\n(.*?)^```$", guide, re.M | re.S)
    for line in typed.splitlines():
        result = CliRunner().invoke(turnwise, shlex.split(line)[1:])
        assert result.exit_code == 0, result.output
    assert (stranger / "report.html").exists()


@pytest.mark.parametrize("call", re.findall(r"curl \S+?(/\S+).*?-d '(.*?)'", README, re.S))
def test_the_http_calls_are_answered(call: tuple[str, str], sample_engine: Engine) -> None:
    path, body = call
    with running(sample_engine) as address:
        request = urllib.request.Request(address + urlsplit(f"http:{path}").path, body.encode())
        request.add_header("content-type", "application/json")
        with urllib.request.urlopen(request) as response:
            answer = json.load(response)
    expected = "How does BERT compare to GPT?" if path.endswith("/analyze") else "BERT is a language model"
    assert expected in json.dumps(answer)


@pytest.mark.parametrize("verb", list(turnwise.commands))
def test_every_verb_is_in_the_readme(verb: str) -> None:
    assert f"| `turnwise {verb}" in README


def test_every_link_leads_somewhere() -> None:
    pages = {ROOT / "README.md", *(ROOT / "docs").glob("*.md")}
    broken = [
        f"{page.name}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []


def test_the_tree_names_what_is_there() -> None:
    (tree,) = (block for block in blocks("text") if "turnwise/" in block)
    inner, outer = tree.partition("tests/")[0], "tests/" + tree.partition("tests/")[2]
    named = {name for line in inner.splitlines()[1:] for name in re.findall(r"\w+(?:\.py|/)(?=\s)", line[:17] + " ")}
    there = {f"{path.name}/" if path.is_dir() else path.name for path in (ROOT / "turnwise").iterdir()}
    assert named == {name for name in there if not name.startswith("__")} - {"py.typed"}
    assert [line for line in outer.splitlines() if not (ROOT / line.split()[0]).is_dir()] == []


@pytest.mark.parametrize(("path", "text"), GENERATE["generated"]().items())
def test_what_is_made_from_the_code_is_up_to_date(path: str, text: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == text, "run `make docs`"


def test_every_option_is_documented() -> None:
    undocumented = [
        f"{verb} {option.opts[0]}"
        for verb, command in GENERATE["verbs"]().items()
        for option in command.params
        if isinstance(option, click.Option) and not option.help
    ]
    assert undocumented == []


def test_the_example_of_the_environment_lists_every_variable() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    listed = set(re.findall(r"^# ([A-Z_]+)=", example, re.M))
    settings = CliRunner().invoke(turnwise, ["config", "--json"]).stdout
    assert listed == {
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        *(f"TURNWISE_{name.upper()}" for name in json.loads(settings)),
    }
