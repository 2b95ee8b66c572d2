"""How the product answers, without a language model, questions about documents that nothing was trained on.

    python training/reranker/measure.py [FOLDER]     (documents with questions as in documents/; default: unseen/)

All documents are one library, every question a conversation of its own. Of the questions that the documents answer it
is counted how many get a sentence that answers, one that answers a part, another one, or none; of the others, how many
rightly get none.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import turnwise
from turnwise.dialogue.citing import abstains
from turnwise.engine import TurnFailed
from turnwise.text import points, without_citations

UNSEEN = Path(__file__).parent / "unseen"
_MARK = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")


def outcome(row: dict[str, list[str]], answer: str | None) -> str:
    """What came of a question; there is no answer where the guard stopped it."""
    if answer is None:
        return "blocked"
    if abstains(answer):
        return "wrongly none" if row["answers"] else "rightly none"
    if not row["answers"]:
        return "answered, though nothing answers"
    said = [without_citations(each).rstrip(".") for each in points(answer)]
    for name, stated in (("answered", row["answers"]), ("a part", row["partly"])):
        ends = tuple(_MARK.sub("", each).rstrip(".") for each in stated)
        if any(each.endswith(ends) for each in said):
            return name
    return "another sentence"


def main(folder: Path) -> None:
    found: dict[str, Counter[str]] = {}
    with TemporaryDirectory() as place, turnwise.open(Path(place) / "library") as engine:
        engine.add(*map(str, sorted(folder.glob("*.md"))))
        for file in sorted(folder.glob("*.jsonl")):
            for row in map(json.loads, file.read_text().splitlines()):
                try:
                    answer = engine.chat().ask(row["question"]).text
                except TurnFailed:
                    answer = None
                found.setdefault(file.stem, Counter())[outcome(row, answer)] += 1
            print(file.stem, dict(found[file.stem]), flush=True)
    every = sum(found.values(), Counter[str]())
    silent = every["rightly none"], every["rightly none"] + every["answered, though nothing answers"]
    answerable = every.total() - silent[1] - every["blocked"]
    print(json.dumps(every, indent=1))
    print(
        f"answered {every['answered'] / answerable:.3f}, wrongly none {every['wrongly none'] / answerable:.3f}", end=""
    )
    print(f" of {answerable}; rightly none {silent[0] / max(1, silent[1]):.3f} of {silent[1]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else UNSEEN)
