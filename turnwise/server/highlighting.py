"""Code as HTML with classes for keywords, strings, comments and numbers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from markdown_it.common.utils import escapeHtml

if TYPE_CHECKING:
    from pygments.token import _TokenType

MAX_CODE_LENGTH = 10_000  # characters that are highlighted in one answer; the rest is shown plain
BLOCK_SECONDS = 0.25  # for one block, then plain too: some lexers take quadratic time on malicious code

LANGUAGES = {
    name: languages[0]
    for languages in (
        ("bash", "sh", "shell", "zsh", "console"),
        ("c", "h"),
        ("cpp", "c++", "cc", "hpp"),
        ("csharp", "c#", "cs"),
        ("css",),
        ("diff", "patch"),
        ("docker", "dockerfile"),
        ("go", "golang"),
        ("haskell", "hs"),
        ("html",),
        ("java",),
        ("javascript", "js", "jsx", "mjs"),
        ("json", "jsonl"),
        ("julia", "jl"),
        ("kotlin", "kt"),
        ("lua",),
        ("make", "makefile"),
        ("php",),
        ("python", "py", "python3"),
        ("pycon",),
        ("r",),
        ("ruby", "rb"),
        ("rust", "rs"),
        ("scala",),
        ("sql", "postgresql", "sqlite"),
        ("swift",),
        ("tex", "latex"),
        ("toml",),
        ("typescript", "ts", "tsx"),
        ("xml", "svg"),
        ("yaml", "yml"),
    )
    for name in languages
}

CLASSES = ("tok-comment", "tok-keyword", "tok-name", "tok-number", "tok-string", "tok-deleted", "tok-inserted")


def highlighted(code: str, language: str) -> str | None:
    """The code as HTML with a class for each kind of token; None if the language is unknown or the code too long."""
    name = LANGUAGES.get(language.lower())
    if name is None or len(code) > MAX_CODE_LENGTH:
        return None
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name(name, stripnl=False, ensurenl=False)
    read = ((_class_of(kind), value) for _, kind, value in lexer.get_tokens_unprocessed(code))
    return "".join(_spans(_pieces_in_time(read, code)))


def _pieces_in_time(pieces: Iterable[tuple[str, str]], code: str) -> Iterator[tuple[str, str]]:
    """The pieces that come in time, then the rest of the code as one piece without a class."""
    end, read = time.monotonic() + BLOCK_SECONDS, 0
    for kind, value in pieces:
        yield kind, value
        read += len(value)
        if time.monotonic() > end:
            break
    yield "", code[read:]


def _spans(pieces: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Neighbours of the same class share an element."""
    for kind, group in groupby(pieces, key=itemgetter(0)):
        words = escapeHtml("".join(value for _, value in group))
        yield f'<span class="{kind}">{words}</span>' if kind else words


def _class_of(kind: _TokenType) -> str:
    from pygments.token import Comment, Generic, Keyword, Name, Number, String

    kinds = (
        (Comment, "tok-comment"),
        (Keyword, "tok-keyword"),
        (Name.Tag, "tok-keyword"),
        (Number, "tok-number"),
        (String, "tok-string"),
        (Name.Function, "tok-name"),
        (Name.Class, "tok-name"),
        (Name.Builtin, "tok-name"),
        (Name.Decorator, "tok-name"),
        (Name.Attribute, "tok-name"),
        (Generic.Deleted, "tok-deleted"),
        (Generic.Inserted, "tok-inserted"),
    )
    return next((name for parent, name in kinds if kind in parent), "")
