"""Fit the weights of turnwise/extractive/leaning.py on conversations whose right answers are marked.

    python training/fit_leaning.py [FOLDER ...]     (as benchmarks/talks.py reads them; without one, all in its talks/)

Every conversation is held, and each time a message that leans on it is read, the facts about the sentences are kept.
Prints the weights, and how well they do on each folder when fitted on the others. Needs nothing but numpy.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import turnwise
from turnwise.engine import TurnFailed
from turnwise.extractive import leaning

TALKS = Path(__file__).parents[1] / "benchmarks" / "talks"
NAMES = list(leaning.WEIGHTS)
PENALTY = 0.02  # on the squares of the weights
STEPS, RATE = 1500, 0.05

Floats = npt.NDArray[np.float64]


class Turn(NamedTuple):
    """A message that leans: the facts about each sentence that was read, and which of them answer."""

    folder: str
    facts: Floats
    right: npt.NDArray[np.bool_]
    unanswerable: bool


def read(folder: Path) -> list[Turn]:
    """Hold the conversations of a folder, and note what is read."""
    found: list[Turn] = []
    seen: list[tuple[list[str], list[dict[str, float]]]] = []
    described = leaning.described

    def noted(*given: object) -> object:
        candidates, facts = described(*given)  # type: ignore[arg-type]
        seen.append(([each.text for each in candidates], facts))
        return candidates, facts

    leaning.described = noted  # type: ignore[assignment]
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
                        table = np.array([[each[name] for name in NAMES] for each in facts])
                        right = np.array([answers(text, turn["gold"]) for text in texts])
                        found.append(Turn(folder.name, table, right, turn["none"]))
    finally:
        leaning.described = described
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


def fit(turns: list[Turn]) -> Floats:
    """Conditional logit by gradient descent (Adam): the last weight is that of "none"."""
    weights, mean, square = (np.zeros(len(NAMES) + 1) for _ in range(3))
    for step in range(1, STEPS):
        slope = np.append(PENALTY * weights[:-1], 0.0)
        for turn in turns:
            chance = chances(weights, turn.facts)
            meant = chance * np.append(turn.right, not turn.right.any())
            error = (chance - meant / max(meant.sum(), 1e-12)) / len(turns)
            slope += np.append(error[:-1] @ turn.facts, error[-1])
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return weights


def main(folders: list[Path]) -> None:
    turns = [turn for folder in folders for turn in read(folder)]
    told = dict.fromkeys(("right", "another answer", "no answer", "answered, though nothing answers"), 0)
    for folder in dict.fromkeys(turn.folder for turn in turns):
        weights = fit([turn for turn in turns if turn.folder != folder])
        for turn in turns:
            if turn.folder == folder:
                chance = chances(weights, turn.facts)[:-1]
                best = int(chance.argmax())
                if chance[best] < leaning.LIKELY:
                    told["no answer"] += 1
                elif turn.unanswerable:
                    told["answered, though nothing answers"] += 1
                else:
                    told["right" if turn.right[best] else "another answer"] += 1
    unanswerable = sum(turn.unanswerable for turn in turns)
    print(f"{len(turns)} turns, {unanswerable} of them not answerable; each folder as the others teach:", told)
    *weights, none = fit(turns).round(2).tolist()
    print("WEIGHTS =", dict(zip(NAMES, weights, strict=True)), "\nNONE =", none)


if __name__ == "__main__":
    main([Path(each) for each in sys.argv[1:]] or sorted(each for each in TALKS.iterdir() if each.is_dir()))
