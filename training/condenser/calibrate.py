"""Fit how the signals of a follow-up make one confidence, on the conversations that the condenser was not trained on.

    python training/condenser/calibrate.py DIR     (DIR holds rewrite/ and followup/)

Prints the weights for MIX in turnwise/dialogue/follow_up.py, and how well the confidence decides, fitted on nine tenths
of the conversations and measured on the tenth left out. Every question also stands after the history of another.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
from prepare import Row, load, switched

from turnwise.dialogue.follow_up import closeness
from turnwise.dialogue.signs import by_pattern
from turnwise.dialogue.window import window
from turnwise.models.condenser import OnnxCondenser
from turnwise.models.embedder import OnnxEmbedder
from turnwise.types import Message

NAMES = ("pattern", "far", "model", "bias")
FOLDS = 10
UNKNOWN = 0.6  # closeness of a message that is too short to compare


def main(folder: Path) -> None:
    _, kept = load(folder)
    later = {name: [row for row in rows if row["history"]] for name, rows in kept.items()}
    histories = [row for rows in later.values() for row in rows]
    rows = [(row, 1.0) for name in ("labels", "cast19", "ikat23") for row in later[name]]
    rows += [(row, 0.3) for row in switched(kept, histories, 700, random.Random(5))]
    judged = len(later["labels"])
    embedder, condenser = OnnxEmbedder(), OnnxCondenser()
    facts = np.array([describe(row, embedder, condenser) for row, _ in rows])
    labels = np.array([float(row["needs_context"]) for row, _ in rows])
    weights = np.array([weight for _, weight in rows])
    of = {key: number % FOLDS for number, key in enumerate(dict.fromkeys(row["conversation_id"] for row, _ in rows))}
    fold = np.array([of[row["conversation_id"]] for row, _ in rows])
    chance = np.empty(len(rows))
    for left_out in range(FOLDS):
        rest = fold != left_out
        chance[~rest] = probability(facts[~rest] @ fit(facts[rest], labels[rest], weights[rest]))
    print({name: round(float(value), 2) for name, value in zip(NAMES, fit(facts, labels, weights), strict=True)})
    said, true = chance[:judged] >= 0.5, labels[:judged] == 1
    f1 = 2 * np.sum(said & true) / (said.sum() + true.sum())
    print(f"CAsT-19 labels: accuracy {np.mean(said == true):.3f}, F1 {f1:.3f}")
    print(f"seen as a follow-up after an unrelated history: {np.mean(chance[-700:] >= 0.5):.3f}")


def describe(row: Row, embedder: OnnxEmbedder, condenser: OnnxCondenser) -> list[float]:
    history = [Message(said["role"], said["content"]) for said in row["history"]]
    question, recent = row["question"], history[-20:]
    near = closeness(question, recent, embedder.embed_query)
    model = condenser.predict(question, window(question, history)).needs_context
    pattern = by_pattern(question, recent, "en").confidence
    return [log_odds(pattern), min(0.0, log_odds(UNKNOWN if near is None else near)), log_odds(model), 1.0]


def fit(facts: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Logistic regression by Newton's method, lightly held to zero but for the bias."""
    held = np.diag([1.0] * (facts.shape[1] - 1) + [1e-6])
    found = np.zeros(facts.shape[1])
    for _ in range(50):
        chance = probability(facts @ found)
        gradient = facts.T @ (weights * (chance - labels)) + held @ found
        found -= np.linalg.solve((facts * (weights * chance * (1 - chance))[:, None]).T @ facts + held, gradient)
    return found


def probability(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-values))


def log_odds(chance: float) -> float:
    inside = min(0.98, max(0.02, chance))
    return float(np.log(inside / (1 - inside)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
