"""Answers as HTML that is safe to put on a page: no raw HTML, no images, links only to web and mail addresses.

Formulas become MathML and code is highlighted here on the server: the page runs no scripts for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.dollarmath.index import math_inline_dollar

from turnwise.server import highlighting, maths
from turnwise.text import CITATION

MAX_HUGGED_LENGTH = 24  # characters before a citation that stay on its line
MAX_FORMULA_LINES = 60  # between \\[ and \\]
MAX_FORMULAS_LENGTH = 20_000  # characters of all formulas in one answer; further ones are shown as written

# An amount of money and then words, up to the next dollar sign: "$5 (about 4$".
_MONEY = re.compile(r"[\d.,]+ [^=^_\\{}<>]*[a-zA-Z]{2}[^=^_\\{}<>]*")


def render(text: str, cited: Collection[int] = ()) -> str:
    """The HTML of a Markdown text; [n] becomes a button where n is one of the cited numbers."""
    return str(
        _markdown.render(
            text, {"cited": frozenset(cited), "maths": MAX_FORMULAS_LENGTH, "code": highlighting.MAX_CODE_LENGTH}
        )
    )


def _cite(state: StateCore) -> None:
    for block in state.tokens:
        if block.type == "inline" and block.children:
            block.children = list(_with_citations(block.children, state.env["cited"]))


def _with_citations(tokens: Sequence[Token], cited: Collection[int]) -> Iterator[Token]:
    in_link = False
    for token in tokens:
        in_link = token.type == "link_open" or (in_link and token.type != "link_close")
        if token.type != "text" or in_link:
            yield token
        else:
            yield from _split(token.content, cited)


def _split(text: str, cited: Collection[int]) -> Iterator[Token]:
    start = 0
    for mark in CITATION.finditer(text):
        if int(mark[1]) not in cited:
            continue
        before = text[start : mark.start()].rstrip(" ")
        word = before[before.rfind(" ") + 1 :][-MAX_HUGGED_LENGTH:]
        yield Token("text", "", 0, content=before[: len(before) - len(word)])
        yield Token("citation", "", 0, content=word, info=str(int(mark[1])))
        start = mark.end()
    yield Token("text", "", 0, content=text[start:])


def _citation(_: RendererHTML, tokens: Sequence[Token], position: int, *__: Any) -> str:
    """The button with the word before it, which the page keeps on one line."""
    word, number = escapeHtml(tokens[position].content), tokens[position].info
    button = f'<button type="button" class="cite" data-number="{number}" aria-label="Source {number}">{number}</button>'
    return f'<span class="hug">{word}{button}</span>'


def _cell(renderer: RendererHTML, tokens: Sequence[Token], position: int, options: Any, env: Any) -> str:
    """A cell with its alignment as a class: the page's policy allows no inline styles."""
    align = str(tokens[position].attrs.pop("style", "")).removeprefix("text-align:")
    if align:
        tokens[position].attrSet("class", f"align-{align}")
    return renderer.renderToken(tokens, position, options, env)


def _link(renderer: RendererHTML, tokens: Sequence[Token], position: int, options: Any, env: Any) -> str:
    tokens[position].attrSet("rel", "noopener noreferrer nofollow")
    tokens[position].attrSet("target", "_blank")
    return renderer.renderToken(tokens, position, options, env)


_dollars = math_inline_dollar(allow_space=False, allow_digits=False, allow_double=True)


def _math_in_dollars(state: StateInline, silent: bool) -> bool:
    """Formulas between dollar signs, and not amounts of money."""
    start = state.pos
    if state.src[start] != "$" or (start and state.src[start - 1].isalnum()):
        return False
    end = state.src.find("$", start + 1)
    return not _MONEY.fullmatch(state.src[start + 1 : end][: maths.MAX_FORMULA_LENGTH]) and _dollars(state, silent)


def _math_in_brackets(state: StateInline, silent: bool) -> bool:
    """Formulas between \\( and \\), \\[ and \\]."""
    close = {"\\(": "\\)", "\\[": "\\]"}.get(state.src[state.pos : state.pos + 2])
    end = state.src.find(close, state.pos + 2, state.pos + maths.MAX_FORMULA_LENGTH) if close else -1
    if end < 0:
        return False
    if not silent:
        token = state.push("math_inline" if close == "\\)" else "math_inline_double", "math", 0)
        token.content = state.src[state.pos + 2 : end]
    state.pos = end + 2
    return True


def _math_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A formula on its own lines between \\[ and \\], so that none of its lines is read as a list."""
    if not _line(state, start).startswith("\\["):
        return False
    last = next(
        (at for at in range(start, min(end, start + MAX_FORMULA_LINES)) if _line(state, at).endswith("\\]")), None
    )
    if last is None:
        return False
    if not silent:
        token = state.push("math_block", "math", 0)
        token.block, token.map = True, [start, last + 1]
        token.content = "\n".join(_line(state, at) for at in range(start, last + 1))[2:-2]
        state.line = last + 1
    return True


def _line(state: StateBlock, at: int) -> str:
    return state.src[state.bMarks[at] + state.tShift[at] : state.eMarks[at]].strip()


def _formula(display: bool) -> Callable[..., str]:
    def rendered(_: RendererHTML, tokens: Sequence[Token], position: int, __: Any, env: Any) -> str:
        source = tokens[position].content
        env["maths"] -= len(source)
        html = maths.mathml(source, display) if env["maths"] >= 0 else f"<code>{escapeHtml(source)}</code>"
        return f"<p>{html}</p>\n" if tokens[position].block else html

    return rendered


def _fence(_: RendererHTML, tokens: Sequence[Token], position: int, __: Any, env: Any) -> str:
    code, language = tokens[position].content, tokens[position].info.strip().partition(" ")[0]
    coloured = highlighting.highlighted(code, language) if len(code) <= env["code"] else None
    env["code"] -= len(code) if coloured is not None else 0
    return f"<pre><code>{escapeHtml(code) if coloured is None else coloured}</code></pre>\n"


class _SafeMarkdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802
        return url.lower().startswith(("http://", "https://", "mailto:"))


def _build() -> MarkdownIt:
    markdown = _SafeMarkdown("commonmark", {"html": False}).enable("table").disable(["image", "reference"])
    dollarmath_plugin(markdown, allow_labels=False, allow_blank_lines=False)
    markdown.inline.ruler.at("math_inline", _math_in_dollars)
    markdown.inline.ruler.before("escape", "math_brackets", _math_in_brackets)
    markdown.block.ruler.before("fence", "math_brackets", _math_block, {"alt": ["paragraph", "blockquote", "list"]})
    for name, display in (("math_inline", False), ("math_inline_double", True), ("math_block", True)):
        markdown.add_render_rule(name, _formula(display))
    markdown.add_render_rule("fence", _fence)
    markdown.core.ruler.push("citations", _cite)
    markdown.add_render_rule("citation", _citation)
    markdown.add_render_rule("link_open", _link)
    markdown.add_render_rule("td_open", _cell)
    markdown.add_render_rule("th_open", _cell)
    return markdown


_markdown = _build()
