"""Answers as HTML that is safe to put on a page: no raw HTML, no images, links only to where a person would follow."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from turnwise.text import CITATION

LONGEST_HUGGED = 24  # characters before a citation that stay on its line


def render(text: str, cited: Collection[int] = ()) -> str:
    """The HTML of a Markdown text; [n] becomes a button where n is one of the cited numbers."""
    return str(_markdown.render(text, {"cited": frozenset(cited)}))


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
        word = before[before.rfind(" ") + 1 :][-LONGEST_HUGGED:]
        yield Token("text", "", 0, content=before[: len(before) - len(word)])
        yield Token("citation", "", 0, content=word, info=str(int(mark[1])))
        start = mark.end()
    yield Token("text", "", 0, content=text[start:])


def _citation(_: RendererHTML, tokens: Sequence[Token], position: int, *__: Any) -> str:
    """The button with the word before it, which the page keeps on one line."""
    word, number = escapeHtml(tokens[position].content), tokens[position].info
    button = f'<button type="button" class="cite" data-number="{number}" aria-label="Source {number}">{number}</button>'
    return f'<span class="hug">{word}{button}</span>'


def _link(renderer: RendererHTML, tokens: Sequence[Token], position: int, options: Any, env: Any) -> str:
    tokens[position].attrSet("rel", "noopener noreferrer nofollow")
    tokens[position].attrSet("target", "_blank")
    return renderer.renderToken(tokens, position, options, env)


class _SafeMarkdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802
        return url.lower().startswith(("http://", "https://", "mailto:"))


def _build() -> MarkdownIt:
    markdown = _SafeMarkdown("commonmark", {"html": False}).enable("table").disable(["image", "reference"])
    markdown.core.ruler.push("citations", _cite)
    markdown.add_render_rule("citation", _citation)
    markdown.add_render_rule("link_open", _link)
    return markdown


_markdown = _build()
