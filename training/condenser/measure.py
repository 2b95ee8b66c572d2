"""How the product condenses conversations that the condenser was not trained on.

    python training/condenser/measure.py [FILE.jsonl]     (conversations as in talks/; default: unseen/library.jsonl)

Prints the F1 of the words that are added, how many of the questions that stand by themselves are changed, and how often
it is told rightly whether a question needs its context.
"""

from __future__ import annotations

import sys
from pathlib import Path

from prepare import read, talked

from turnwise.app import embedder_of, senses_of
from turnwise.config import Settings
from turnwise.evaluation.metrics import Tally, added_terms, decisions, overlap
from turnwise.evaluation.suites import Product
from turnwise.types import Message

UNSEEN = Path(__file__).parent / "unseen" / "library.jsonl"


def main(file: Path) -> None:
    settings = Settings()
    product = Product(settings, senses_of(settings, embedder_of(settings)))
    terms, changed = Tally(), []
    said: list[bool] = []
    true: list[bool] = []
    for row in talked(read(file)):
        if not row["history"]:
            continue
        question, history = row["question"], tuple(Message(**each) for each in row["history"])
        added = added_terms(question, product.condense(question, history).query)
        terms += overlap(added, added_terms(question, row["rewrite"]))
        said.append(product.understand(question, history).follow_up.is_follow_up)
        true.append(row["needs_context"])
        if not row["needs_context"]:
            changed.append(bool(added))
    print(f"added terms: F1 {terms.f1:.3f}, precision {terms.precision:.3f}, recall {terms.recall:.3f}")
    print(f"changed of those that stand by themselves: {sum(changed)} of {len(changed)}")
    print("needs its context: " + ", ".join(f"{name} {value:.3f}" for name, value in decisions(said, true).items()))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else UNSEEN)
