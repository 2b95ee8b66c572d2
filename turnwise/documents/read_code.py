"""Reads source code: each definition becomes a section with its name as heading."""

from __future__ import annotations

import re
from pathlib import Path

from turnwise.documents.blocks import Builder

TOP_LEVEL, INNER_LEVEL = 3, 4  # below PART_LEVEL, so that small neighbours may share a passage

_DEFINITION = re.compile(
    r"""(?:(?:export|default|public|private|protected|internal|static|async|abstract|final|sealed|partial|open|data|
        inline|unsafe|pub(?:\([^)\n]{0,40}\))?|extern(?:\ "C")?|local|declare)\s+){0,6}
    (?:def|class|function\*?|func|fn|struct|enum|trait|interface|module|namespace|record|object|protocol|sub|impl|type|
        macro_rules!|message|service)(?:\s+|(?=<))
    (?:\([^)\n]{0,80}\)\s*|<[^>\n]{0,80}>\s*)?(?P<name>(?:[\w$.~?!]|::)+)""",
    re.VERBOSE,
)
_ASSIGNED_FUNCTION = re.compile(
    r"(?:export\s+)?(?:const|let|var)\s+(?P<name>[\w$]+)\s*=\s*(?:async\s*)?(?:function\b|\([^)\n]{0,200}\)\s*(?::[^=\n]{0,80})?=>|\w+\s*=>)"
    r"|(?P<r>[\w.]+)\s*(?:<-|=)\s*function\s*\("
)
_SHELL_FUNCTION = re.compile(r"(?P<name>[\w-]+)\s*\(\)\s*\{?$")
_C_FUNCTION = re.compile(r"[A-Za-z_][\w\s*&:<>,]{0,150}?[\s*&](?P<name>[\w:~]+)\s*\((?![^\n]*;\s*$)")
_SQL_DEFINITION = re.compile(
    r"create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+|unique\s+|materialized\s+)?(?:table|view|function|procedure|index|"
    r"trigger|type|schema)\s+(?:if\s+not\s+exists\s+)?(?P<name>[\w.\"`]+)",
    re.IGNORECASE,
)
_SECTION = re.compile(r"\[\[?(?P<name>[^\]\n]{1,100})\]\]?\s*(?:#.*)?$")
_YAML_KEY = re.compile(r"(?P<name>[\w.-]+):(?:\s|$)")
_STATEMENT = re.compile(r"(?:if|for|while|switch|return|else|do|case|using|typedef|goto|throw|new|delete)\b")
_INNER_DEFINITION = re.compile(r"(?: {2,4}|\t)(?:async\s+)?(?:def|fn|pub fn|func|fun)\s+(?P<name>[\w?!]+)")
_COMMENT_OR_DECORATOR = re.compile(r"\s*(?:@|#|//|/\*|\*|--|;;|template\s*<)")  # belongs to the definition below it

_PATTERNS_BY_EXTENSION: dict[str, tuple[re.Pattern[str], ...]] = {
    **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".hpp"), (_DEFINITION, _C_FUNCTION)),
    **dict.fromkeys((".sh", ".bash"), (_DEFINITION, _SHELL_FUNCTION)),
    **dict.fromkeys((".toml", ".ini", ".cfg"), (_SECTION,)),
    **dict.fromkeys((".yaml", ".yml"), (_YAML_KEY,)),
    ".sql": (_SQL_DEFINITION,),
    ".json": (),
}
_DEFAULT_PATTERNS = (_DEFINITION, _ASSIGNED_FUNCTION)


def read_code(text: str, name: str, builder: Builder) -> str:
    """Read code into the builder, split at definitions and blank lines. Returns the file name as title."""
    patterns = _PATTERNS_BY_EXTENSION.get(Path(name).suffix.lower(), _DEFAULT_PATTERNS)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4).split("\n")
    waiting: list[str] = []
    for line in lines:
        found = _definition_in(line, patterns)
        if found:
            above = _leading_comment_lines(waiting)
            _add_blocks(waiting[: len(waiting) - above], builder)
            waiting = waiting[len(waiting) - above :]
            builder.heading(*found, written=False)
        waiting.append(line)
    _add_blocks(waiting, builder)
    return Path(name).name


def _definition_in(line: str, patterns: tuple[re.Pattern[str], ...]) -> tuple[int, str] | None:
    """The heading level and the name of the definition on a line, or None."""
    if line[:1].isspace():
        found = _INNER_DEFINITION.match(line) if patterns is _DEFAULT_PATTERNS else None
        return (INNER_LEVEL, found["name"]) if found else None
    if _STATEMENT.match(line):
        return None
    for pattern in patterns:
        if found := pattern.match(line):
            return TOP_LEVEL, next(name for name in found.groupdict().values() if name)
    return None


def _leading_comment_lines(lines: list[str]) -> int:
    """How many of the last lines are comments or decorators of the next definition."""
    count = 0
    while count < len(lines) and _COMMENT_OR_DECORATOR.match(lines[-1 - count]):
        count += 1
    return count


def _add_blocks(lines: list[str], builder: Builder) -> None:
    """Add lines as blocks, split at blank lines."""
    for piece in re.split(r"\n(?:[ \t]*\n)+", "\n".join(lines)):
        builder.block(piece, code=True)
