"""Program code, read by its definitions: each has its name as heading."""

from __future__ import annotations

import re
from pathlib import Path

from turnwise.documents.blocks import Builder

TOP, INNER = 3, 4  # levels at which small neighbours may share a passage

_DEFINITION = re.compile(
    r"""(?:(?:export|default|public|private|protected|internal|static|async|abstract|final|sealed|partial|open|data|
        inline|unsafe|pub(?:\([^)\n]{0,40}\))?|extern(?:\ "C")?|local|declare)\s+){0,6}
    (?:def|class|function\*?|func|fn|struct|enum|trait|interface|module|namespace|record|object|protocol|sub|impl|type|
        macro_rules!|message|service)(?:\s+|(?=<))
    (?:\([^)\n]{0,80}\)\s*|<[^>\n]{0,80}>\s*)?(?P<name>(?:[\w$.~?!]|::)+)""",
    re.VERBOSE,
)
_ASSIGNED = re.compile(
    r"(?:export\s+)?(?:const|let|var)\s+(?P<name>[\w$]+)\s*=\s*(?:async\s*)?(?:function\b|\([^)\n]{0,200}\)\s*(?::[^=\n]{0,80})?=>|\w+\s*=>)"
    r"|(?P<r>[\w.]+)\s*(?:<-|=)\s*function\s*\("
)
_SHELL = re.compile(r"(?P<name>[\w-]+)\s*\(\)\s*\{?$")
_C = re.compile(r"[A-Za-z_][\w\s*&:<>,]{0,150}?[\s*&](?P<name>[\w:~]+)\s*\((?![^\n]*;\s*$)")
_SQL = re.compile(
    r"create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+|unique\s+|materialized\s+)?(?:table|view|function|procedure|index|"
    r"trigger|type|schema)\s+(?:if\s+not\s+exists\s+)?(?P<name>[\w.\"`]+)",
    re.IGNORECASE,
)
_SECTION = re.compile(r"\[\[?(?P<name>[^\]\n]{1,100})\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"(?P<name>[\w.-]+):(?:\s|$)")
_STATEMENT = re.compile(r"(?:if|for|while|switch|return|else|do|case|using|typedef|goto|throw|new|delete)\b")
_INNER = re.compile(r"(?: {2,4}|\t)(?:async\s+)?(?:def|fn|pub fn|func|fun)\s+(?P<name>[\w?!]+)")
_BELONGS = re.compile(r"\s*(?:@|#|//|/\*|\*|--|;;|template\s*<)")  # to the definition below: comments, decorators

_FAMILIES: dict[str, tuple[re.Pattern[str], ...]] = {
    **dict.fromkeys((".c", ".h", ".cc", ".cpp", ".hpp"), (_DEFINITION, _C)),
    **dict.fromkeys((".sh", ".bash"), (_DEFINITION, _SHELL)),
    **dict.fromkeys((".toml", ".ini", ".cfg"), (_SECTION,)),
    **dict.fromkeys((".yaml", ".yml"), (_KEY,)),
    ".sql": (_SQL,),
    ".json": (),
}
_OTHERS = (_DEFINITION, _ASSIGNED)


def read_code(text: str, name: str, builder: Builder) -> str:
    """Put the code into the builder, cut at definitions and blank lines. Gives the file's name: it is its title."""
    patterns = _FAMILIES.get(Path(name).suffix.lower(), _OTHERS)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4).split("\n")
    waiting: list[str] = []
    for line in lines:
        found = _defined(line, patterns)
        if found:
            above = _belonging(waiting)
            _put(waiting[: len(waiting) - above], builder)
            waiting = waiting[len(waiting) - above :]
            builder.heading(*found, written=False)
        waiting.append(line)
    _put(waiting, builder)
    return Path(name).name


def _defined(line: str, patterns: tuple[re.Pattern[str], ...]) -> tuple[int, str] | None:
    """The level and the name of what a line defines, if it does."""
    if line[:1].isspace():
        found = _INNER.match(line) if patterns is _OTHERS else None
        return (INNER, found["name"]) if found else None
    if _STATEMENT.match(line):
        return None
    for pattern in patterns:
        if found := pattern.match(line):
            return TOP, next(name for name in found.groupdict().values() if name)
    return None


def _belonging(lines: list[str]) -> int:
    """How many of the last lines are comments or decorators of what follows them."""
    count = 0
    while count < len(lines) and _BELONGS.match(lines[-1 - count]):
        count += 1
    return count


def _put(lines: list[str], builder: Builder) -> None:
    """Lines as blocks, cut where a line is blank."""
    for piece in re.split(r"\n(?:[ \t]*\n)+", "\n".join(lines)):
        builder.block(piece, code=True)
