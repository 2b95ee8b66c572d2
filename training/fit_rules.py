"""Fit the weights of the rules in dialogue/signs.py and dialogue/rules.py on public conversations.

    python training/fit_rules.py DIR     (DIR holds followup/cast19_labels, rewrite/cast19, ikat23, qrecc, canard)

Prints both tables, ready to be pasted, and how well they do on conversations that were left out of the fit. The rows
that are for evaluation only (CAsT-20, CAsT-21, iKAT-24) are never read. Needs nothing but numpy.
"""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from turnwise.dialogue import rules, signs
from turnwise.dialogue.window import window
from turnwise.text import content_stems, stem, words
from turnwise.types import Message

Floats = npt.NDArray[np.float64]
FOLDS = 5
RECENT = 20  # messages that the signs look at


def main(folder: Path) -> None:
    labels = read(folder / "followup/cast19_labels.jsonl")
    cast, ikat = read(folder / "rewrite/cast19.jsonl"), read(folder / "rewrite/ikat23.jsonl")
    qrecc, canard = read(folder / "rewrite/qrecc.jsonl.gz"), read(folder / "rewrite/canard.jsonl.gz")
    # QReCC marks many questions with a pronoun as self-contained, so it teaches which words are missing, not when.
    fit_follow_up([(row, 1.0) for row in labels + cast + ikat] + [(row, 0.15) for row in canard])
    fit_terms([(row, 1.0) for row in cast + ikat] + [(row, 0.3) for row in qrecc] + [(row, 0.1) for row in canard])


def fit_follow_up(rows: list[tuple[dict[str, Any], float]]) -> None:
    """Self-contained questions are rare in these sets, so each counts as four."""
    names = list(signs.WEIGHTS)
    facts, labels, weights, folds = [], [], [], []
    for row, weight in rows:
        recent = history(row)[-RECENT:]
        said = set().union(*(content_stems(each.content) for each in recent))
        asked = set().union(*(content_stems(each.content) for each in recent if each.role == "user"))
        found = signs.signs(row["question"], said, asked)
        facts.append([float(name in found) for name in names])
        labels.append(row["needs_context"])
        weights.append(weight if row["needs_context"] else 6 * weight)
        folds.append(fold(row))
    report("understand", names, np.array(facts), np.array(labels), np.array(weights), np.array(folds), 0.5)


def fit_terms(rows: list[tuple[dict[str, Any], float]]) -> None:
    names = list(rules.WEIGHTS)
    facts, labels, weights, folds = [], [], [], []
    for row, weight in rows:
        if not row["needs_context"]:
            continue
        own = {stem(word) for word in words(row["question"])}
        missing = content_stems(row["rewrite"]) - own
        for key, _, described in rules.describe(window(row["question"], history(row))):
            if key not in own:
                facts.append([float(described[name]) for name in names])
                labels.append(key in missing)
                weights.append(weight)
                folds.append(fold(row))
    report("condense", names, np.array(facts), np.array(labels), np.array(weights), np.array(folds), 0.25)


def report(
    part: str, names: list[str], facts: Floats, labels: Any, weights: Floats, folds: Any, threshold: float
) -> None:
    predicted = np.zeros(len(labels))
    for left_out in range(FOLDS):
        kept = folds != left_out
        solution = fit(facts[kept], labels[kept], weights[kept])
        predicted[~kept] = probability(facts[~kept], solution)
    chosen = predicted >= threshold
    precision = (weights * (chosen & labels)).sum() / (weights * chosen).sum()
    recall = (weights * (chosen & labels)).sum() / (weights * labels).sum()
    solution = fit(facts, labels, weights)
    print(f"{part}: left out, weighted, at {threshold}: precision {precision:.3f} recall {recall:.3f}")
    print(f"BIAS = {solution[0]:.2f}\nWEIGHTS = {{")
    for name, value in zip(names, solution[1:], strict=True):
        print(f'    "{name}": {value:.2f},')
    print("}")


def fit(facts: Floats, labels: Any, weights: Floats, ridge: float = 1.0, rounds: int = 30) -> Floats:
    """Logistic regression by Newton's method; the first number is the bias."""
    design = np.hstack([np.ones((len(facts), 1)), facts])
    solution = np.zeros(design.shape[1])
    penalty = ridge * np.eye(design.shape[1])
    penalty[0, 0] = 0
    for _ in range(rounds):
        guess = 1 / (1 + np.exp(-design @ solution))
        slope = design.T @ (weights * (guess - labels)) + penalty @ solution
        curve = (design * (weights * guess * (1 - guess))[:, None]).T @ design + penalty
        solution -= np.linalg.solve(curve, slope)
    return solution


def probability(facts: Floats, solution: Floats) -> Floats:
    result: Floats = 1 / (1 + np.exp(-solution[0] - facts @ solution[1:]))
    return result


def history(row: dict[str, Any]) -> tuple[Message, ...]:
    return tuple(Message(each["role"], each["content"]) for each in row["history"])


def fold(row: dict[str, Any]) -> int:
    return zlib.crc32(row["conversation_id"].encode()) % FOLDS


def read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        return [row for row in map(json.loads, lines) if row["turn"] > 1]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
