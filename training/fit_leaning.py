"""Fit the weights of turnwise/extractive/leaning.py on conversations whose right answers are marked, or those of
foreign_judge.py.

    python training/fit_leaning.py [--foreign] [FOLDER ...]     (as benchmarks/talks.py reads them)

Without a folder, all in its talks/ are taken, or in its talks_foreign/. Every conversation is held, and each time a
message is read in it, the facts about the sentences are kept. Prints the weights, and how well they do on each folder
when fitted on the others. Needs nothing but numpy.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import turnwise
from turnwise.engine import TurnFailed
from turnwise.extractive import foreign_judge, leaning

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
PENALTY, FOREIGN_PENALTY = 0.02, 0.001  # on the squares of the weights
STEPS, RATE = 1500, 0.05

Floats = npt.NDArray[np.float64]


class Turn(NamedTuple):
    """A message that was read: the facts about each sentence that was read, and which of them answer."""

    folder: str
    facts: Floats
    right: npt.NDArray[np.bool_]
    unanswerable: bool


def read(folder: Path, by: ModuleType) -> list[Turn]:
    """Hold the conversations of a folder, and note what is read."""
    found: list[Turn] = []
    seen: list[tuple[list[str], list[dict[str, float]]]] = []
    described = by.described

    def noted(*given: object) -> object:
        candidates, facts = described(*given)  # type: ignore[arg-type]
        seen.append(([each.text for each in candidates], facts))
        return candidates, facts

    by.described = noted
    try:
        with TemporaryDirectory() as place, turnwise.open(Path(place) / "library") as engine:
            engine.add(*(str(each) for each in sorted(folder.iterdir()) if each.name != "talks.jsonl"))
            for line in (folder / "talks.jsonl").read_text(encoding="utf-8").splitlines():
                chat = engine.chat()
                for turn in json.loads(line)["turns"]:
                    seen.clear()
                    try:
                        chat.ask(turn["ask"])
                    except TurnFailed:
                        continue
                    for texts, facts in seen[:1]:
                        table = np.array([[each[name] for name in by.WEIGHTS] for each in facts])
                        right = np.array([answers(text, turn["gold"]) for text in texts])
                        found.append(Turn(folder.name, table, right, turn["none"]))
    finally:
        by.described = described
    return found


def answers(text: str, gold: list[list[str]]) -> bool:
    """Whether a sentence has a phrase of the answer."""
    told = " ".join(text.split()).lower()
    return any(phrase.lower() in told for group in gold for phrase in group)


def chances(weights: Floats, facts: Floats) -> Floats:
    """How likely each sentence answers, and last, that none does."""
    scores = np.append(facts @ weights[:-1], weights[-1])
    found: Floats = np.exp(scores - scores.max())
    found /= found.sum()
    return found


def fit(turns: list[Turn], penalty: float) -> Floats:
    """Conditional logit by gradient descent (Adam): the last weight is that of "none"."""
    weights, mean, square = (np.zeros(turns[0].facts.shape[1] + 1) for _ in range(3))
    for step in range(1, STEPS):
        slope = np.append(penalty * weights[:-1], 0.0)
        for turn in turns:
            chance = chances(weights, turn.facts)
            meant = chance * np.append(turn.right, not turn.right.any())
            error = (chance - meant / max(meant.sum(), 1e-12)) / len(turns)
            slope += np.append(error[:-1] @ turn.facts, error[-1])
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--foreign", action="store_true")
    given = parser.parse_args()
    by, talks = (foreign_judge, "talks_foreign") if given.foreign else (leaning, "talks")
    penalty = FOREIGN_PENALTY if given.foreign else PENALTY
    folders = given.folders or sorted(each for each in (BENCHMARKS / talks).iterdir() if each.is_dir())
    turns = [turn for folder in folders for turn in read(folder, by)]
    told = dict.fromkeys(("right", "another answer", "no answer", "answered, though nothing answers"), 0)
    for folder in dict.fromkeys(turn.folder for turn in turns):
        weights = fit([turn for turn in turns if turn.folder != folder], penalty)
        for turn in turns:
            if turn.folder == folder:
                chance = chances(weights, turn.facts)[:-1]
                best = int(chance.argmax())
                if chance[best] < by.LIKELY:
                    told["no answer"] += 1
                elif turn.unanswerable:
                    told["answered, though nothing answers"] += 1
                else:
                    told["right" if turn.right[best] else "another answer"] += 1
    unanswerable = sum(turn.unanswerable for turn in turns)
    print(f"{len(turns)} turns, {unanswerable} of them not answerable; each folder as the others teach:", told)
    *weights, none = fit(turns, penalty).round(2).tolist()
    print("WEIGHTS =", dict(zip(by.WEIGHTS, weights, strict=True)), "\nNONE =", none)


if __name__ == "__main__":
    main()
