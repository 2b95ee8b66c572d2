"""The output rails, on the stream: only real sources can be cited, no picture can carry data away, and what rails find
is taken out before a character of it is shown."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from turnwise.guard.stream import Redactor, Shown, StreamRail, Watch
from turnwise.guard.verdict import Action, Finding

# What has begun at the end of the text and may still become a citation; it is held back until it is clear.
_OPEN = re.compile(r"(?: ?\[[\[\]\d ]*| )$")
_MARKER = re.compile(r" ?\[(\d{1,4})\](?!\()")
_PICTURE = re.compile(r"(?<=!)(?=\[)|(?<=<)(?=img)", re.I)
_PICTURE_BEGUN = re.compile(r"<(?:im?)?$", re.I)
LONGEST_HELD = 200
DEEPEST = 20  # removing a citation may leave another, as in [[9]9]


class OutputGuard:
    """Takes an answer piece by piece and gives back what may be shown; a citation is never split.

    In this order, since each may bring to light what the next looks for: links and pictures, citations, what else must
    not be shown, and pictures once more.
    """

    def __init__(
        self, citable: Collection[int] | None, rails: Sequence[StreamRail] = (), shown: Shown | None = None
    ) -> None:
        shown = shown or Shown()
        self._first = Redactor([rail for rail in rails if rail.name == "links"], shown)
        self._citations = Citations(citable)
        self._then = Redactor([rail for rail in rails if rail.name != "links"], shown)
        self._pictures = Pictures()
        self._idle = [rail for rail in rails if rail not in [watch.rail for watch in self._watches]]

    @property
    def _watches(self) -> list[Watch]:
        return [*self._first.watches, *self._then.watches]

    def feed(self, piece: str) -> str:
        return self._passed(piece, False)

    def close(self) -> str:
        return self._passed("", True)

    def _passed(self, piece: str, final: bool) -> str:
        piece = self._citations.feed(self._first.feed(piece, final), final)
        return self._pictures.feed(self._then.feed(piece, final), final)

    @property
    def held(self) -> int:
        """How many characters wait to be judged."""
        return self._first.held + self._citations.held + self._then.held + self._pictures.held

    @property
    def blocked(self) -> str:
        """Why nothing more is shown; empty where nothing was blocked."""
        return self._first.blocked or self._then.blocked

    @property
    def why(self) -> str:
        """The same for a person: what it held, or which rail failed."""
        return self.blocked if self.blocked.startswith("the rail ") else f"it held {_named(self.blocked)}"

    @property
    def removed(self) -> list[str]:
        """What was taken out, in words."""
        hits = [_named(hit.kind) for watch in self._watches if watch.rail.action != "warn" for hit in watch.hits]
        return [*self._citations.removed, *hits, *self._pictures.removed]

    def findings(self) -> list[Finding]:
        """What each rail has found so far."""
        return [
            *map(_finding, self._watches),
            *(
                Finding(rail.name, state="skipped", reason="there is nothing to look for", fails=rail.fails)
                for rail in self._idle
            ),
        ]


def _finding(watch: Watch) -> Finding:
    rail = watch.rail
    if watch.state == "failed":
        action: Action = "block" if rail.fails == "closed" else "allow"
        return Finding(rail.name, action, reason=watch.trouble, state="failed", fails=rail.fails)
    if not watch.hits:
        return Finding(rail.name, reason="nothing found", fails=rail.fails)
    kinds = {
        kind: sum(hit.kind == kind for hit in watch.hits) for kind in dict.fromkeys(hit.kind for hit in watch.hits)
    }
    reason = f"the answer held {', '.join(map(_named, kinds))}"
    return Finding(rail.name, rail.action, 1.0, 0.5, reason, state="found", fails=rail.fails, facts={"kinds": kinds})


def _named(kind: str) -> str:
    if kind in ("HTML", "system prompt"):
        return {"HTML": "HTML that loads or runs something", "system prompt": "words of the system prompt"}[kind]
    return f"{'an' if kind[0] in 'aeioAEIO' or kind[:2] in ('SS', 'xA') else 'a'} {kind}"


class Citations:
    """Takes out the citations of what is no source; none where the sources are not known."""

    def __init__(self, citable: Collection[int] | None) -> None:
        self._citable = citable
        self._held = ""
        self.removed: list[str] = []

    @property
    def held(self) -> int:
        return len(self._held)

    def feed(self, piece: str, final: bool) -> str:
        if self._citable is None:
            return piece
        text = self._held + piece
        opened = None if final else _OPEN.search(text, max(0, len(text) - LONGEST_HELD))
        cut = opened.start() if opened else len(text)
        text, self._held = text[:cut], text[cut:]
        for _ in range(DEEPEST):
            before, text = text, _MARKER.sub(self._if_real, text)
            if text == before:
                break
        return text

    def _if_real(self, marker: re.Match[str]) -> str:
        if self._citable is None or int(marker[1]) in self._citable:
            return marker[0]
        self.removed.append(f"a citation of [{marker[1]}], which is no source")
        return ""


class Pictures:
    """Keeps what is left from becoming a picture: the signs that begin one never meet."""

    def __init__(self) -> None:
        self._held = ""
        self._last = ""  # the last character shown
        self.removed: list[str] = []

    @property
    def held(self) -> int:
        return len(self._held)

    def feed(self, piece: str, final: bool) -> str:
        text = self._held + piece
        begun = None if final else _PICTURE_BEGUN.search(text, max(0, len(text) - 3))
        cut = begun.start() if begun else len(text)
        text, self._held = text[:cut], text[cut:]
        shown, pictures = _PICTURE.subn(" ", self._last + text)
        self.removed += ["a picture"] * pictures
        shown = shown[len(self._last) :]
        self._last = shown[-1:] or self._last
        return shown
