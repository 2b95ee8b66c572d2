"""How good answers without a language model stay in conversations, beside the same questions asked alone.

    python benchmarks/talks.py [FOLDER ...] [--each] [--json FILE]

Without a folder, all in talks_unseen/ are asked, of which nothing was learnt; training/fit_leaning.py learns from those
in talks/. talks_unseen_foreign/ and talks_foreign/ are the same in German, French, Spanish and Portuguese.

A folder holds documents and talks.jsonl, a conversation a line: `{"id": …, "turns": [{"ask": …, "standalone": …,
"needs_context": …, "gold": [[…], …], "none": …}]}`. An answer is right if it holds one phrase of each group of `gold`,
or says that it found nothing where the documents hold no answer (`none`). Every turn is asked in its conversation,
after our own answers, and its `standalone` form in a conversation of its own: the difference is what a conversation
costs.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import turnwise
from turnwise.dialogue.citing import abstains
from turnwise.engine import Chat, Engine, TurnFailed
from turnwise.text import without_citations

Row = dict[str, Any]
HERE = Path(__file__).parent


def outcome(turn: Row, answer: str | None) -> str:
    """What came of a turn; there is no answer where the guard stopped it."""
    if answer is None:
        return "blocked"
    if abstains(answer):
        return "rightly none" if turn["none"] else "wrongly none"
    if turn["none"]:
        return "answered, though nothing answers"
    said = " ".join(without_citations(answer).split()).lower()
    return "right" if all(any(each.lower() in said for each in group) for group in turn["gold"]) else "another answer"


def ask(chat: Chat, message: str) -> tuple[str | None, str]:
    """The answer, and the question that was searched for."""
    try:
        reply = chat.ask(message)
    except TurnFailed as failed:
        return None, str(failed)
    return reply.text, reply.condensed_query


def rows(engine: Engine, folder: Path) -> Iterator[Row]:
    for line in (folder / "talks.jsonl").read_text(encoding="utf-8").splitlines():
        talk, chat = json.loads(line), engine.chat()
        for number, turn in enumerate(talk["turns"]):
            answer, searched = ask(chat, turn["ask"])
            alone, _ = ask(engine.chat(), turn["standalone"])
            yield {
                **turn,
                "talk": talk["id"],
                "turn": number + 1,
                "answer": answer,
                "searched": searched,
                "alone": alone,
                "outcome": outcome(turn, answer),
                "outcome_alone": outcome(turn, alone),
            }


def told(found: list[Row]) -> str:
    """The counts, of the turns that lean on the conversation and of the others."""
    lines = []
    for name, chosen in (
        ("openings", [row for row in found if row["turn"] == 1]),
        ("lean on the conversation", [row for row in found if row["turn"] > 1 and row["needs_context"]]),
        ("stand by themselves", [row for row in found if row["turn"] > 1 and not row["needs_context"]]),
        ("all", found),
    ):
        for kind in ("outcome", "outcome_alone"):
            counts = Counter(row[kind] for row in chosen)
            right = counts["right"] + counts["rightly none"]
            where = "in conversation" if kind == "outcome" else "asked alone"
            rest = ", ".join(f"{count} {what}" for what, count in counts.most_common() if not what.startswith("right"))
            lines.append(f"{name:26}{where:16}{right:4} of {len(chosen):4} right; {rest}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=sorted((HERE / "talks_unseen").iterdir()))
    parser.add_argument("--each", action="store_true", help="print the turns that go wrong")
    parser.add_argument("--json", type=Path, help="write every turn here")
    given = parser.parse_args()
    found = []
    for folder in given.folders:
        with TemporaryDirectory() as place, turnwise.open(Path(place) / "library") as engine:
            engine.add(*(str(each) for each in sorted(folder.iterdir()) if each.name != "talks.jsonl"))
            here = list(rows(engine, folder))
        print(f"{folder.name}\n{told(here)}\n", flush=True)
        found += here
    if len(given.folders) > 1:
        print(f"together\n{told(found)}")
    for row in found if given.each else ():
        if not row["outcome"].startswith("right"):
            print(f"\n{row['talk']}.{row['turn']} {row['outcome']} (alone: {row['outcome_alone']})")
            print(f"  asked     {row['ask']}\n  searched  {row['searched']}\n  alone     {row['standalone']}")
            print(f"  wanted    {row['gold']}\n  answer    {row['answer']}")
    if given.json:
        given.json.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in found), encoding="utf-8")


if __name__ == "__main__":
    main()
