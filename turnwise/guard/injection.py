"""The injection rail, first form: plain commands to drop the instructions. Quoting or asking about one passes."""

from __future__ import annotations

import re
import unicodedata

from turnwise.types import Verdict

_QUOTED = re.compile(r"[\"“«„][^\"”»“]{0,400}[\"”»“]|(?<!\w)['‘][^'’]{0,400}['’](?!\w)|`[^`]{0,400}`")
_BEGINS = r"(?:^|[.!?:;,\n] ?|\b(?:please|now|just|then|you (?:must|should|will|can)|you to|let['’]s) )"
_COMMAND = re.compile(
    rf"{_BEGINS}(?:ignore|disregard|forget|override|bypass) (?:all |any |every |the |your |of |these |those )*"
    r"(?:previous|prior|above|earlier|preceding|existing|original|initial|system) "
    r"(?:instructions?|prompts?|rules?|directions?|guidelines?|messages?)",
    re.I,
)
_LEAK = re.compile(
    rf"{_BEGINS}(?:reveal|print|show|output|repeat|tell|give) (?:me |us )?"
    r"(?:your |the )(?:(?:full|entire|exact|hidden|secret|original) )*"
    r"(?:system prompt|system message|initial instructions)",
    re.I,
)


def injection(content: str) -> Verdict:
    text = unicodedata.normalize("NFKC", content)
    text = "".join(character for character in text if unicodedata.category(character) != "Cf")
    own_words = _QUOTED.sub(" ", text)
    in_lines = "\n".join(" ".join(line.split()) for line in own_words.splitlines() if line.strip())
    readings = (in_lines, in_lines.replace("\n", " "))  # a command may begin on a new line, or be broken over lines
    for pattern, meaning in ((_COMMAND, "asks to drop the instructions"), (_LEAK, "asks for the hidden instructions")):
        for found in filter(None, map(pattern.search, readings)):
            return Verdict("block", "injection", f"“{found[0].strip(' .,:;!?')}” {meaning}")
    return Verdict("allow", "injection", "nothing found")
