"""A conversation as Markdown: pleasant to read, and nothing in it runs or loads anything where it is shown."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from turnwise.conversation import Conversation, Turn
from turnwise.types import Source

SOURCE = Source(3, 17, "On *Öl*", "papers/öl.pdf", "Methods > Data", 4, "Oil floats.", "Oil floats.")
AT = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def told(turns: list[Turn], title: str = "What floats?") -> str:
    return Conversation("c", metadata={"title": title}, turns=turns, created_at=AT).to_markdown()


def test_a_conversation_is_told_as_questions_answers_and_sources() -> None:
    turns = [
        Turn("What floats?\n\nOn water.", "**Oil** [3].\n\n```python\nif a < b: print('<b>')\n```", sources=(SOURCE,)),
        Turn("And?", None, status="failed", error={"message": "The model *timed out*."}),
        Turn(None, "Are you there?"),
        Turn("Yes", "Half an", status="interrupted"),
    ]
    assert (
        told(turns)
        == r"""# What floats?

*2026-01-02 03:04 UTC*

> What floats?
>
> On water.

**Oil** [3].

```python
if a < b: print('<b>')
```

Sources:

- \[3\] On \*Öl\*, p. 4, Methods \> Data

> And?

*(failed: The model \*timed out\*.)*

Are you there?

> Yes

Half an

*(interrupted)*
"""
    )
    assert Conversation("c", created_at=AT).to_markdown() == "# Conversation\n\n*2026-01-02 03:04 UTC*\n"


MARKS = """<script> <img-src=x/onerror=y> ![a](http://x/y) [a](javascript:b) [a]:javascript:b [a] </pre> <!-- --> <?x
&lt;
&#106; ( ] ![ ](data:x) <http://x> | ` `` ``` ~~~ \\ > - a # 1. * _""".split()
PIECES = st.lists(
    st.sampled_from([*MARKS, "\n", "\n\n", "\n```", "\n~~~\n", "    ", "\t", " ", "\r", "\x0b"]), max_size=12
)


@given(*[PIECES.map("".join)] * 3)
@example("", "\\`<script>\\`", "")
@example("", "```a`b\n<script>\n```", "")
@example("", "```\nopen <b>", "")
@example("```\r<script>\r```", "", "<b>\n# x")
def test_nothing_in_it_runs_or_is_loaded(prompt: str, response: str, title: str) -> None:
    source = Source(1, 1, f"<b>{title}", title, prompt, None, response)
    turns = [Turn(prompt, response, sources=(source,)), Turn("last question", "last answer")]
    page = MarkdownIt("commonmark", {"html": True}).render(told(turns, title))
    tags = set(re.findall(r"<\s*[/!?]?\s*([A-Za-z0-9!?-]*)", page))
    assert tags <= {"h1", "h2", "p", "em", "strong", "blockquote", "ul", "ol", "li", "pre", "code", "a", "hr", "br"}, (
        page
    )
    assert all(url.startswith("http") for url in re.findall(r'href="([^"]*)', page)), page
    assert "<p>last answer</p>" in page, page
