"""Links and pictures in an answer: none may carry data to a place that the reader has not been shown.

A picture is fetched without a click, so none stays. A link stays where its very address stands in what the reader has
seen, or its host is allowed; any other is reduced to its text, and a bare address to its host and path.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from turnwise.guard.stream import AnswerContext, Reader, SeenText, StreamHit
from turnwise.guard.verdict import Action, Fails, Span

LONGEST_TEXT = 300  # characters of a link's text; what is longer is kept from being a link
LONGEST_ADDRESS = 2000
DEEPEST = 8  # parentheses in an address
NEVER = -1
LONGEST_TAG = 200  # of a tag that loads nothing

_TOKEN = re.compile(r"\\[^\w\s]|!?\[|\]|<|(?<![^\W_])(?:https?://|www\.)", re.I | re.S)
# What has begun at the end of the text and may still become one of these.
_BEGUN = re.compile(r"(?:\\|!|(?<![^\W_])(?:h(?:t(?:t(?:p(?:s?(?::/?)?)?)?)?)?|w(?:ww?)?))$", re.I)
_NAME = re.compile(r"</?([a-z][a-z0-9-]{0,30})(?=[\s/>])", re.I)
_NAME_BEGUN = re.compile(r"</?(?:[a-z][a-z0-9-]{0,30})?$", re.I)
_AUTOLINK = re.compile(r"<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*)>", re.I)
_AUTOLINK_BEGUN = re.compile(r"<[a-z][a-z0-9+.-]{1,31}:[^\s<>]*$", re.I)
_ADDRESS = re.compile(r"[^\s<>\"'`\[\](){}|\\^“”‘’«»]*")
_DEFINED = re.compile(r"\]:[ \t]{0,4}\n?[ \t]{0,4}(\S{1,2000})")
_DEFINED_BEGUN = re.compile(r"\]:[ \t]{0,4}\n?[ \t]{0,4}\S{0,2000}$")
_REFERENCE = re.compile(r"\]\[[^\[\]]{0,100}\]")
_REFERENCE_BEGUN = re.compile(r"\]\[[^\[\]]{0,100}$")
_IN_PARENTHESES = re.compile(r"\\.|[()]", re.S)
_SCHEME = re.compile(r"^[^\w\s/#?]*[a-z][a-z0-9+.-]*:|//|www\.", re.I)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]{1,20}:|//|url\(", re.I)
_LOADS = re.compile(
    r"\b(?:src|srcset|href|style|background|poster|action|formaction|data|ping|on\w{1,20})\s{0,9}=", re.I
)
_HREF = re.compile(r"\bhref\s{0,9}=\s{0,9}[\"']?([^\s\"'>]{1,2000})", re.I)
_PICTURES = {"img", "image", "picture", "source", "svg", "video", "audio", "track", "embed", "object", "input"}
_ACTIVE = _PICTURES | {
    *("script", "style", "iframe", "frame", "frameset", "link", "meta", "base", "form", "button", "applet", "portal"),
    *("area", "body", "math", "template", "noscript", "param", "isindex", "bgsound", "layer", "xml"),
}


class LinkRail:
    """Pictures and links to places that the reader has not been shown."""

    name = "links"

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.fails: Fails = options.get("fails", "closed")
        self.action: Action = options.get("action", "redact")
        self._hosts = frozenset(host.lower() for host in options.get("hosts", ()))

    def open(self, context: AnswerContext) -> Reader | None:
        return LinkReader(context.seen, self._hosts)

    def spans(self, text: str, context: AnswerContext) -> list[Span]:
        hits, _ = LinkReader(context.seen, self._hosts).feed(text, True)
        return [Span(hit.start, hit.end, hit.kind) for hit in hits]


class LinkReader:
    """Reads Markdown and HTML as they come, with the brackets that are open."""

    def __init__(self, allowed: SeenText, hosts: frozenset[str]) -> None:
        self._allowed = allowed
        self._hosts = hosts
        self._text = ""
        self._at = 0
        self._pos = 0  # in the buffer, up to which it has been read
        self._open: list[tuple[int, bool]] = []  # brackets that are open, by place in the whole text; of a picture?
        self._hits: list[StreamHit] = []  # complete, inside a bracket that is open

    def feed(self, piece: str, final: bool) -> tuple[list[StreamHit], int]:
        self._text += piece
        end = len(self._text)
        while self._pos < end:
            token = _TOKEN.search(self._text, self._pos)
            if token is None:
                begun = None if final else _BEGUN.search(self._text, max(self._pos, end - 8))
                self._pos = begun.start() if begun else end
                break
            after = self._step(token, final)
            if after is None:
                self._pos = token.start()
                break
            self._pos = after
        at = self._at + self._pos
        self._open = [] if final else [each for each in self._open if at - each[0] <= LONGEST_TEXT]
        settled = min([at, *(each[0] for each in self._open[:1])])
        ready = [hit for hit in self._hits if hit.end <= settled]
        self._hits = self._hits[len(ready) :]
        gone = max(0, settled - self._at - 2)
        self._text, self._at, self._pos = self._text[gone:], self._at + gone, self._pos - gone
        return ready, settled

    def _step(self, token: re.Match[str], final: bool) -> int | None:
        """Read what begins here, and give where it ends; None where that cannot be told yet."""
        sign = token[0]
        if sign.endswith("["):
            self._open.append((self._at + token.start(), sign == "!["))
            return token.end()
        if sign == "]":
            return self._bracket(token.start(), final)
        if sign == "<":
            return self._tag(token.start(), final)
        return token.end() if sign[0] == "\\" else self._bare(token.start(), final)

    # --- [text](address), ![text](address), ![text][name], [name]: address ---

    def _bracket(self, at: int, final: bool) -> int | None:
        text = self._text
        if at + 1 == len(text) and not final:
            return None
        start, picture = -1, False
        place = self._at + at
        while self._open and start < 0:
            opened, picture = self._open.pop()
            if place - opened <= LONGEST_TEXT:
                start = opened - self._at
        after = text[at + 1 : at + 2]
        done: int | None = at + 1
        if after == "(":
            done = self._inline(start, at, picture, final)
        elif after == ":" and start >= 0:
            done = self._definition(start, at, final)
        elif after == "[" and picture and start >= 0:
            named = _REFERENCE.match(text, at)
            if named is None and not final and _REFERENCE_BEGUN.match(text, at):
                done = None
            else:
                done = named.end() if named else at + 1
                self._reduce(start, at, done, picture)
        if done is None and start >= 0:
            self._open.append((start + self._at, picture))
        return done

    def _inline(self, start: int, at: int, picture: bool, final: bool) -> int | None:
        closed = self._closing(at + 1) if start >= 0 else NEVER
        if closed is None and not final and len(self._text) - at <= LONGEST_ADDRESS:
            return None
        if closed is None or closed == NEVER:
            self._add(at, at + 2, "link", "] (")
            return at + 2
        address = self._text[at + 2 : closed].strip().split(maxsplit=1)[:1]
        if picture or (address and not self._known(address[0].strip("<>"))):
            self._reduce(start, at, closed + 1, picture)
        return closed + 1

    def _closing(self, at: int) -> int | None:
        """Where the parenthesis closes that opens here; None where it has not so far."""
        depth = 0
        for found in _IN_PARENTHESES.finditer(self._text, at, at + LONGEST_ADDRESS):
            depth += {"(": 1, ")": -1}.get(found[0], 0)
            if depth == 0:
                return found.start()
            if depth > DEEPEST:
                return NEVER
        return None

    def _reduce(self, start: int, at: int, end: int, picture: bool) -> None:
        """A link becomes its text, in which others may have been reduced."""
        first = start + (2 if picture else 1)
        inner = [hit for hit in self._hits if hit.start >= self._at + start]
        self._hits = [hit for hit in self._hits if hit.start < self._at + start]
        pieces, place = [], first
        for hit in inner:
            pieces += [self._text[place : hit.start - self._at], hit.replacement]
            place = hit.end - self._at
        self._add(start, end, "picture" if picture else "link", "".join([*pieces, self._text[place:at]]))

    def _definition(self, start: int, at: int, final: bool) -> int | None:
        if not final and _DEFINED_BEGUN.match(self._text, at):
            return None
        found = _DEFINED.match(self._text, at)
        if found and _SCHEME.search(address := found[1].strip("<>")) and not self._known(address):
            self._hits = [hit for hit in self._hits if hit.start < self._at + start]
            self._add(start, found.end(), "link", "")
            return found.end()
        return at + 2

    # --- <img src=...>, <https://...> and https://... ---

    def _tag(self, at: int, final: bool) -> int | None:
        text = self._text
        if not final and (_NAME_BEGUN.match(text, at) or self._waits(_AUTOLINK_BEGUN, at)):
            return None
        if link := _AUTOLINK.match(text, at):
            if not self._known(link[1]):
                self._add(at, link.end(), "link", _place(link[1]))
            return link.end()
        name = _NAME.match(text, at)
        if name is None:
            return at + 1
        active = name[1].lower() in _ACTIVE
        longest = LONGEST_ADDRESS if active else LONGEST_TAG
        end = text.find(">", at, at + longest)
        if end < 0:
            if not final and len(text) - at < longest:
                return None
            self._add(at, at + 1, "HTML", "< ")
            return at + 1
        tag = text[at : end + 1]
        if active:
            kind = "picture" if name[1].lower() in _PICTURES else "HTML"
            if _ELSEWHERE.search(html.unescape(tag)):
                self._add(at, end + 1, kind, "")
                return end + 1
            self._add(at, at + 1, kind, "< ")
            return at + 1
        if _LOADS.search(tag) and not self._harmless(name[1].lower(), tag):
            self._add(at, end + 1, "link" if name[1].lower() == "a" else "HTML", f"<{name[1]}>")
        return end + 1

    def _waits(self, begun: re.Pattern[str], at: int) -> bool:
        return len(self._text) - at < LONGEST_ADDRESS and begun.match(self._text, at) is not None

    def _harmless(self, name: str, tag: str) -> bool:
        """Whether this is a link to a known place, and nothing else."""
        address = _HREF.search(tag)
        return name == "a" and address is not None and len(_LOADS.findall(tag)) == 1 and self._known(address[1])

    def _bare(self, at: int, final: bool) -> int | None:
        end = _ADDRESS.match(self._text, at, at + LONGEST_ADDRESS).end()  # type: ignore[union-attr]
        if end == len(self._text) and not final and end - at < LONGEST_ADDRESS:
            return None
        address = self._text[at:end].rstrip(".,;:!?*_~")
        if len(address) > len("https://") and not self._known(address):
            self._add(at, at + len(address), "link", _place(address))
        return end

    # ---

    def _known(self, address: str) -> bool:
        address = html.unescape(address)
        plain = re.sub(r"[\s\x00-\x1f]", "", address)
        if address.startswith("#"):
            return True
        scheme = re.match(r"([a-z][a-z0-9+.-]*):", plain, re.I)
        if plain.startswith("//") or (scheme and scheme[1].lower() not in ("http", "https", "mailto", "www")):
            return False
        return _host(plain) in self._hosts or self._allowed.holds_url(address)

    def _add(self, start: int, end: int, kind: str, replacement: str) -> None:
        self._hits.append(StreamHit(self._at + start, self._at + end, kind, replacement))


def _host(address: str) -> str:
    authority = re.split(r"[/?#\\]", re.sub(r"^https?://", "", address, flags=re.I), maxsplit=1)[0]
    return "" if "@" in authority else authority.rpartition(":")[0].lower() or authority.lower()


def _place(address: str) -> str:
    """The host and the path of an address, by which nothing is opened and nothing sent."""
    bare = re.split(r"[?#;\\]", re.sub(r"^[a-z][a-z0-9+.-]*:(?://)?", "", address, flags=re.I), maxsplit=1)[0]
    return bare.rpartition("@")[2] if len(bare) <= 100 else bare.rpartition("@")[2].partition("/")[0][:100]
