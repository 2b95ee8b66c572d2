"""Writes the files that are made from the code: `make docs`. A test holds that they are up to date."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import click

from turnwise.cli.verbs import turnwise
from turnwise.config import FILE, PREFIX, Origin, load

ROOT = Path(__file__).parents[1]


def generated() -> dict[str, str]:
    """The files by path."""
    return {
        "docs/SETTINGS.md": settings_page(),
        "docs/CLI.md": cli_page(),
        ".env.example": environment_example(),
    }


def settings_page() -> str:
    rows = "\n".join(
        f"| `{each.name}` | `{json.dumps(each.value)}` | {each.allowed} | {each.about} |" for each in _defaults()
    )
    return f"""# Settings

A setting is taken from the first of these that has it:

1. an argument of the command, or of `turnwise.open`;
2. the environment: `{PREFIX}` and the name in capitals, such as `{PREFIX}PORT`;
3. `{FILE}` in the folder you are in, or the file given with `--config`: lines such as `port = 8000`;
4. its default.

`turnwise config` shows each with its value, who set it and what it may be. A name that is no setting is an error; so is
a value that is not allowed, and a `model` that is a name if no endpoint is set.

| setting | default | allowed | what it means |
|---|---|---|---|
{rows}

Two variables of the environment have names that other programs know too:

- `OPENAI_BASE_URL` sets `base_url`; `{PREFIX}BASE_URL` outranks it.
- `OPENAI_API_KEY` is the key for that endpoint. It is read from nowhere else and never printed. Alone, without an
  endpoint, it is not used.
"""


def environment_example() -> str:
    """Every variable that Turnwise reads, commented out, at its default."""
    lines = [
        "# Every variable that Turnwise reads. Copy this file to .env, uncomment what you need, and load it with",
        "#   set -a; . ./.env; set +a",
        "",
        "# An OpenAI-compatible endpoint to answer with, such as http://localhost:11434/v1 for Ollama.",
        "# OPENAI_BASE_URL=",
        "# The key for it, where it wants one. Not used without an endpoint.",
        "# OPENAI_API_KEY=",
    ]
    for each in _defaults():
        value = each.value if isinstance(each.value, str) else json.dumps(each.value)
        about = f"{each.about} Allowed: {each.allowed}." if each.allowed else each.about
        lines += ["", f"# {about}", f"# {PREFIX}{each.name.upper()}={value}"]
    return "\n".join(lines) + "\n"


def cli_page() -> str:
    sections = [_section(name, command) for name, command in verbs().items()]
    return "\n".join(["# The command line", "", _section("turnwise", turnwise, "COMMAND …"), *sections])


def verbs() -> dict[str, click.Command]:
    """Every verb by how it is called; those of a group one by one."""
    found: dict[str, click.Command] = {}
    for name, command in turnwise.commands.items():
        inner = command.commands if isinstance(command, click.Group) else {"": command}
        found |= {f"turnwise {name} {each}".strip(): verb for each, verb in inner.items()}
    return found


def _section(name: str, command: click.Command, rest: str = "") -> str:
    arguments = [
        each.metavar or f"{each.name}...".upper() for each in command.params if isinstance(each, click.Argument)
    ]
    options = [each for each in command.params if isinstance(each, click.Option)]
    rows = "\n".join(f"| `{_written(each)}` | {each.help} |" for each in options)
    about = inspect.cleandoc(command.help or "").replace("\b\n", "```text\n")
    if "```text" in about:
        about += "\n```"
    usage = " ".join([name, *arguments, rest]).strip()
    return f"## `{usage}`\n\n{about}\n\n| option | |\n|---|---|\n{rows}\n"


def _written(option: click.Option) -> str:
    if option.is_flag:
        return option.opts[0]
    return f"{option.opts[0]} {option.metavar or option.name.upper() if option.name else ''}"


def _defaults() -> list[Origin]:
    return load(environment={}, file=Path("/dev/null"))[1]


if __name__ == "__main__":
    for path, text in generated().items():
        (ROOT / path).write_text(text, encoding="utf-8")
