"""Links and images in an answer: none may send data to an address that the reader has not already seen.

Images load without a click, so all of them are removed. A link is kept if its exact address is in what the reader has
seen, or if its host is allowed. Any other link is reduced to its text, and a bare address to its host and path.

Code stays as it was written, but for what would load something from elsewhere, should a page not take it for code. Only
code that every page takes for code counts: fences that begin a line, and inline code within one.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any

from turnwise.guard.stream import AnswerContext, Reader, SeenText, StreamHit
from turnwise.guard.verdict import Action, Fails, Span

MAX_TEXT_CHARS = 300  # of a link; a longer text is broken so that it does not become a link
MAX_ADDRESS_CHARS = 2000
MAX_PAREN_DEPTH = 8  # nested parentheses in an address
NOT_CLOSED = -1
MAX_TAG_CHARS = 200  # of a tag that loads nothing
MAX_BEGUN_CHARS = 40
MAX_CODE_CHARS = 500  # of inline code, and of the line that opens a fence

_TOKEN = re.compile(r"\\[^\w\s]|!?\[|\]|<|`+|~{3,}|[\n\r$]|(?<![^\W_])(?:https?://|www\.)", re.I | re.S)
# The end of the text so far, if it may still become one of these.
_BEGUN = re.compile(r"(?:\\|!|~{1,2}|(?<![^\W_])(?:h(?:t(?:t(?:p(?:s?(?::/?)?)?)?)?)?|w(?:ww?)?))$", re.I)
_NAME = re.compile(r"</?([a-z][a-z0-9-]{0,30})(?=[\s/>])", re.I)
_NAME_BEGUN = re.compile(r"</?(?:[a-z][a-z0-9-]{0,30})?$", re.I)
_AUTOLINK = re.compile(r"<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*)>", re.I)
_AUTOLINK_BEGUN = re.compile(r"<[a-z][a-z0-9+.-]{0,31}(?::[^\s<>]*)?$", re.I)
_ADDRESS = re.compile(r"[^\s<>\"'`\[\](){}|\\^“”‘’«»]*")
_DEFINED = re.compile(r"\]:[ \t]{0,4}\n?[ \t]{0,4}(\S{1,2000})")
_DEFINED_BEGUN = re.compile(r"\]:[ \t]{0,4}\n?[ \t]{0,4}\S{0,2000}$")
_REFERENCE = re.compile(r"\]\[[^\[\]]{0,100}\]")
_REFERENCE_BEGUN = re.compile(r"\]\[[^\[\]]{0,100}$")
_TAG_LIKE = re.compile(r"<[a-z/!?]", re.I)
_TICKS = re.compile("`+")
_LINE_END = re.compile(r"[\n\r]")
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
    """Images, and links to addresses that the reader has not already seen."""

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
    """Reads streamed Markdown and HTML, keeping track of open brackets."""

    def __init__(self, seen: SeenText, hosts: frozenset[str]) -> None:
        self._seen = seen
        self._hosts = hosts
        self._text = ""
        self._at = 0
        self._pos = 0  # the buffer has been read up to here
        self._open: list[tuple[int, bool]] = []  # open brackets: position in the whole text, and whether of an image
        self._hits: list[StreamHit] = []  # complete hits that are not returned yet, such as those in an open bracket
        self._fence = ""  # what the code block we are in was opened with
        self._code_end = 0  # in the whole text: where the last inline code ends
        self._line = 0  # in the whole text: where the line begins
        self._odd = False  # whether inline code of this paragraph is left to the page: it may pair other ticks than we
        self._begun = ""  # what of the line is no longer in the buffer
        self._maths = False  # whether the line has a "$", which may be a formula with ticks
        self._unsure = False  # whether blocks are left to the page: in HTML and lists they end elsewhere

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
        self._open = [] if final else [each for each in self._open if at - each[0] <= MAX_TEXT_CHARS]
        settled = min([at, *(each[0] for each in self._open[:1])])
        ready = [hit for hit in self._hits if hit.end <= settled]
        self._hits = self._hits[len(ready) :]
        gone = max(0, settled - self._at - 2)
        self._begun = (self._begun + self._text[self._line_start() : gone])[:MAX_BEGUN_CHARS]
        self._text, self._at, self._pos = self._text[gone:], self._at + gone, self._pos - gone
        return ready, settled

    def _step(self, token: re.Match[str], final: bool) -> int | None:
        """Read the construct that starts here. Returns its end, or None if that is not known yet."""
        sign = token[0]
        if sign[0] in "`~":
            return self._ticks(token, final)
        if sign in "\n\r$":
            return self._line_end(token)
        if sign.endswith("["):
            self._open.append((self._at + token.start(), sign == "!["))
            return token.end()
        if sign == "]":
            return self._bracket(token.start(), final)
        if sign == "<":
            return self._tag(token.start(), final)
        if sign[0] == "\\" or self._is_code(token.start()):
            return token.end()
        return self._bare(token.start(), final)

    # --- code ---

    def _is_code(self, at: int) -> bool:
        return bool(self._fence) or self._at + at < self._code_end

    def _line_start(self) -> int:
        return max(0, self._line - self._at)

    def _line_end(self, token: re.Match[str]) -> int:
        if token[0] == "$":
            self._maths = True
            return token.end()
        if not self._fence:
            self._unsure = self._unsure or token[0] == "\r"
            self._odd = self._odd and bool((self._begun + self._text[self._line_start() : token.start()]).strip(" \t"))
        self._line, self._begun, self._maths = self._at + token.end(), "", False
        return token.end()

    def _ticks(self, token: re.Match[str], final: bool) -> int | None:
        """Read what may open or close code."""
        text, at, end, sign = self._text, token.start(), token.end(), token[0]
        if end == len(text) and not final:
            return None
        if self._at + at < self._code_end:
            return end
        ended = _LINE_END.search(text, end)
        rest, goes_on = text[end : ended.start() if ended else len(text)], not (ended or final)
        before = self._begun + text[self._line_start() : at]
        if self._fence:
            return self._close_fence(sign, rest, before, end, goes_on)
        is_first = not before.strip()
        if len(sign) >= 3 and is_first and not (sign[0] == "`" and "`" in rest):
            if goes_on and len(rest) <= MAX_CODE_CHARS:
                return None
            if before or len(rest) > MAX_CODE_CHARS or self._unsure:
                self._unsure = True
            else:
                self._fence = sign
            return end + len(rest)
        return end if sign[0] == "~" else self._inline_code(sign, rest, end, goes_on)

    def _close_fence(self, sign: str, rest: str, before: str, end: int, goes_on: bool) -> int | None:
        indented = len(before) <= 3 and not before.strip(" ")
        may_close = indented and sign[0] == self._fence[0] and len(sign) >= len(self._fence) and not rest.strip(" \t")
        if may_close and goes_on:
            return None
        self._fence = "" if may_close else self._fence
        return end

    def _inline_code(self, sign: str, rest: str, end: int, goes_on: bool) -> int | None:
        closing = next((each for each in _TICKS.finditer(rest) if each[0] == sign), None)
        at_the_end = closing is not None and closing.end() == len(rest)
        if goes_on and (closing is None or at_the_end) and len(rest) <= MAX_CODE_CHARS:
            return None
        code = rest[: closing.start()] if closing else ""
        if self._odd or self._unsure or self._maths or closing is None or re.search(r"\||\]:", code):
            self._odd = True
        else:
            self._code_end = self._at + end + closing.end()
        return end

    # --- [text](address), ![text](address), ![text][name], [name]: address ---

    def _bracket(self, at: int, final: bool) -> int | None:
        text = self._text
        if at + 1 == len(text) and not final:
            return None
        start, picture = -1, False
        place = self._at + at
        while self._open and start < 0:
            opened, picture = self._open.pop()
            if place - opened <= MAX_TEXT_CHARS:
                start = opened - self._at
        after = text[at + 1 : at + 2]
        done: int | None = at + 1
        if after == "(":
            done = self._inline(start, at, picture, final)
        elif after == ":" and start >= 0:
            done = self._definition(start, at, final)
        elif after == "[" and picture and start >= 0:
            reference = _REFERENCE.match(text, at)
            if reference is None and not final and _REFERENCE_BEGUN.match(text, at):
                done = None
            else:
                done = reference.end() if reference else at + 1
                if not self._is_code(at):
                    self._reduce(start, at, done, picture)
        if done is None and start >= 0:
            self._open.append((start + self._at, picture))
        return done

    def _inline(self, start: int, at: int, picture: bool, final: bool) -> int | None:
        closed = self._closing(at + 1) if start >= 0 else NOT_CLOSED
        if closed is None and not final and len(self._text) - at <= MAX_ADDRESS_CHARS:
            return None
        code = self._is_code(at)
        if closed is None or closed == NOT_CLOSED:
            loads = start >= 0 and (closed or _ELSEWHERE.search(self._text, at, at + MAX_ADDRESS_CHARS))
            if not code or loads:
                self._add(at, at + 2, "link", "] (")
            return at + 2
        address = self._text[at + 2 : closed].strip().split(maxsplit=1)[:1]
        if code and not (picture and address and _ELSEWHERE.search(html.unescape(address[0]))):
            return closed + 1
        if picture or (address and not self._known(address[0].strip("<>"))):
            self._reduce(start, at, closed + 1, picture)
        return closed + 1

    def _closing(self, at: int) -> int | None:
        """The position where the parenthesis that opens here closes, or None if it has not closed yet."""
        depth = 0
        for found in _IN_PARENTHESES.finditer(self._text, at, at + MAX_ADDRESS_CHARS):
            depth += {"(": 1, ")": -1}.get(found[0], 0)
            if depth == 0:
                return found.start()
            if depth > MAX_PAREN_DEPTH:
                return NOT_CLOSED
        return None

    def _reduce(self, start: int, at: int, end: int, picture: bool) -> None:
        """Replace a link by its text, in which other links may already have been replaced."""
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
        if (
            found
            and not self._is_code(at)
            and _SCHEME.search(address := found[1].strip("<>"))
            and not self._known(address)
        ):
            self._hits = [hit for hit in self._hits if hit.start < self._at + start]
            self._add(start, found.end(), "link", "")
            return found.end()
        return at + 2

    # --- <img src=...>, <https://...> and https://... ---

    def _tag(self, at: int, final: bool) -> int | None:
        text, code = self._text, self._is_code(at)
        if not final and (_NAME_BEGUN.match(text, at) or self._may_continue(_AUTOLINK_BEGUN, at)):
            return None
        self._unsure = self._unsure or (not code and _TAG_LIKE.match(text, at) is not None)
        if link := _AUTOLINK.match(text, at):
            if not code and not self._known(link[1]):
                self._add(at, link.end(), "link", _host_and_path(link[1]))
            return link.end()
        name = _NAME.match(text, at)
        if name is None:
            return at + 1
        active = name[1].lower() in _ACTIVE
        longest = MAX_ADDRESS_CHARS if active else MAX_TAG_CHARS
        end = text.find(">", at, at + longest)
        if end < 0:
            if not final and len(text) - at < longest:
                return None
            if not code or _ELSEWHERE.search(html.unescape(text[at : at + longest])):
                self._add(at, at + 1, "HTML", "< ")
            return at + 1
        tag = text[at : end + 1]
        if active:
            kind = "picture" if name[1].lower() in _PICTURES else "HTML"
            if _ELSEWHERE.search(html.unescape(tag)):
                self._add(at, end + 1, kind, "")
                return end + 1
            if not code:
                self._add(at, at + 1, kind, "< ")
            return at + 1
        if code and not _ELSEWHERE.search(html.unescape(tag)):
            return at + 1
        if _LOADS.search(tag) and not self._harmless(name[1].lower(), tag):
            self._add(at, end + 1, "link" if name[1].lower() == "a" else "HTML", f"<{name[1]}>")
            return end + 1
        return at + 1 if "<" in tag[1:] else end + 1  # the page may begin a tag there

    def _may_continue(self, begun: re.Pattern[str], at: int) -> bool:
        return len(self._text) - at < MAX_ADDRESS_CHARS and begun.match(self._text, at) is not None

    def _harmless(self, name: str, tag: str) -> bool:
        """Whether this is only a link to a known address."""
        address = _HREF.search(tag)
        return name == "a" and address is not None and len(_LOADS.findall(tag)) == 1 and self._known(address[1])

    def _bare(self, at: int, final: bool) -> int | None:
        end = _ADDRESS.match(self._text, at, at + MAX_ADDRESS_CHARS).end()  # type: ignore[union-attr]
        if end == len(self._text) and not final and end - at < MAX_ADDRESS_CHARS:
            return None
        address = self._text[at:end].rstrip(".,;:!?*_~")
        if len(address) > len("https://") and not self._known(address):
            self._add(at, at + len(address), "link", _host_and_path(address))
        return end

    # --- helpers ---

    def _known(self, address: str) -> bool:
        address = html.unescape(address)
        plain = re.sub(r"[\s\x00-\x1f]", "", address)
        if address.startswith("#"):
            return True
        scheme = re.match(r"([a-z][a-z0-9+.-]*):", plain, re.I)
        if plain.startswith("//") or (scheme and scheme[1].lower() not in ("http", "https", "mailto", "www")):
            return False
        return _host(plain) in self._hosts or self._seen.holds_url(address)

    def _add(self, start: int, end: int, kind: str, replacement: str) -> None:
        self._hits.append(StreamHit(self._at + start, self._at + end, kind, replacement))


def _host(address: str) -> str:
    authority = re.split(r"[/?#\\]", re.sub(r"^https?://", "", address, flags=re.I), maxsplit=1)[0]
    return "" if "@" in authority else authority.rpartition(":")[0].lower() or authority.lower()


def _host_and_path(address: str) -> str:
    """The host and path of an address, as text that is not a link and carries no parameters."""
    bare = re.split(r"[?#;\\]", re.sub(r"^[a-z][a-z0-9+.-]*:(?://)?", "", address, flags=re.I), maxsplit=1)[0]
    return bare.rpartition("@")[2] if len(bare) <= 100 else bare.rpartition("@")[2].partition("/")[0][:100]
