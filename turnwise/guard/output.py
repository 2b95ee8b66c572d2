"""The output rails on a streamed answer: only real sources can be cited, no image can carry data away, and what the
rails find is removed before any of it is shown."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from turnwise.guard.stream import AnswerContext, RailRun, Redactor, StreamRail
from turnwise.guard.verdict import Action, Finding

# The end of the text so far, if it may still become a citation: it is held back until that is clear.
_OPEN = re.compile(r"(?: ?\[[\[\]\d ]*| )$")
_MARKER = re.compile(r" ?\[(\d{1,4})\](?!\()")
_PICTURE = re.compile(r"(?<=!)(?=\[)|(?<=<)(?=img)", re.I)
_PICTURE_BEGUN = re.compile(r"<(?:im?)?$", re.I)
MAX_HELD_CHARS = 200
MAX_CITATION_PASSES = 20  # removing a citation may leave another, as in [[9]9]


class OutputGuard:
    """Takes an answer piece by piece and returns what may be shown; a citation is never split.

    The order matters, because each step may expose what the next one looks for: links and images, citations, everything
    else that must not be shown, and images once more.
    """

    def __init__(
        self, citable: Collection[int] | None, rails: Sequence[StreamRail] = (), context: AnswerContext | None = None
    ) -> None:
        context = context or AnswerContext()
        self._links = Redactor([rail for rail in rails if rail.name == "links"], context)
        self._citations = Citations(citable)
        self._rest = Redactor([rail for rail in rails if rail.name != "links"], context)
        self._pictures = Pictures()
        self._idle = [rail for rail in rails if rail not in [run.rail for run in self._runs]]

    @property
    def _runs(self) -> list[RailRun]:
        return [*self._links.runs, *self._rest.runs]

    def feed(self, piece: str) -> str:
        return self._process(piece, False)

    def close(self) -> str:
        return self._process("", True)

    def _process(self, piece: str, final: bool) -> str:
        piece = self._citations.feed(self._links.feed(piece, final), final)
        return self._pictures.feed(self._rest.feed(piece, final), final)

    @property
    def held(self) -> int:
        """Number of characters held back."""
        return self._links.held + self._citations.held + self._rest.held + self._pictures.held

    @property
    def blocked(self) -> str:
        """Why nothing more is shown; empty if nothing was blocked."""
        return self._links.blocked or self._rest.blocked

    @property
    def why(self) -> str:
        """The reason for the block as a phrase: what the answer held, or which rail failed."""
        return self.blocked if self.blocked.startswith("the rail ") else f"it held {_with_article(self.blocked)}"

    @property
    def removed(self) -> list[str]:
        """Descriptions of what was removed."""
        hits = [_with_article(hit.kind) for run in self._runs if run.rail.action != "warn" for hit in run.hits]
        return [*self._citations.removed, *hits, *self._pictures.removed]

    def findings(self) -> list[Finding]:
        """What each rail has found so far."""
        return [
            *map(_finding, self._runs),
            *(
                Finding(rail.name, state="skipped", reason="there is nothing to look for", fails=rail.fails)
                for rail in self._idle
            ),
        ]


def _finding(run: RailRun) -> Finding:
    rail = run.rail
    if run.state == "failed":
        action: Action = "block" if rail.fails == "closed" else "allow"
        return Finding(rail.name, action, reason=run.error, state="failed", fails=rail.fails)
    if not run.hits:
        return Finding(rail.name, reason="nothing found", fails=rail.fails)
    kinds = {kind: sum(hit.kind == kind for hit in run.hits) for kind in dict.fromkeys(hit.kind for hit in run.hits)}
    reason = f"the answer held {', '.join(map(_with_article, kinds))}"
    return Finding(rail.name, rail.action, 1.0, 0.5, reason, state="found", fails=rail.fails, facts={"kinds": kinds})


def _with_article(kind: str) -> str:
    if kind in ("HTML", "system prompt"):
        return {"HTML": "HTML that loads or runs something", "system prompt": "words of the system prompt"}[kind]
    return f"{'an' if kind[0] in 'aeioAEIO' or kind[:2] in ('SS', 'xA') else 'a'} {kind}"


class Citations:
    """Removes citations of sources that do not exist. If the sources are not known, it removes nothing."""

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
        opened = None if final else _OPEN.search(text, max(0, len(text) - MAX_HELD_CHARS))
        cut = opened.start() if opened else len(text)
        text, self._held = text[:cut], text[cut:]
        for _ in range(MAX_CITATION_PASSES):
            before, text = text, _MARKER.sub(self._keep_if_citable, text)
            if text == before:
                break
        return text

    def _keep_if_citable(self, marker: re.Match[str]) -> str:
        if self._citable is None or int(marker[1]) in self._citable:
            return marker[0]
        self.removed.append(f"a citation of [{marker[1]}], which is not a source")
        return ""


class Pictures:
    """Keeps the remaining text from becoming an image: the characters that start one are kept apart."""

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
