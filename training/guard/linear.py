"""Train the linear model over pieces of text, of messages.

    python training/guard/linear.py FOLDER OUT.npz      (FOLDER as prepare.py left it)

Needs scikit-learn and scipy. Logistic regression over the very features that the product reads; a long text is learnt
by its windows.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import SGDClassifier

from turnwise.models.ngrams import BITS, WINDOW_WORDS, read_pieces

STEADY = 3e-6  # L2


def windows(text: str) -> list[np.ndarray]:
    """The buckets of each window."""
    places, buckets, words, runs = read_pieces(text)
    found = []
    for first in range(0, max(1, len(places) - WINDOW_WORDS // 2), WINDOW_WORDS // 2):
        last = min(len(places), first + WINDOW_WORDS)
        if last > first:
            own = buckets[:, first:last].ravel()
            found.append(np.concatenate([own[own >= 0], *(runs[word] for word in words[first:last])]))
    return found


def matrix(rows: list[np.ndarray]) -> csr_matrix:
    each = np.array([len(row) for row in rows])
    values = np.repeat(1 / np.sqrt(np.maximum(1, each)), each).astype(np.float32)
    ends = np.concatenate([[0], np.cumsum(each)])
    return csr_matrix((values, np.concatenate(rows), ends), shape=(len(rows), 2**BITS))


def fitted(rows: list[np.ndarray], labels: list[int], weights: list[float]) -> tuple[np.ndarray, float]:
    model = SGDClassifier(loss="log_loss", alpha=STEADY, max_iter=12, tol=None, average=True, random_state=0)
    model.fit(matrix(rows), labels, sample_weight=weights)
    return model.coef_[0].astype(np.float32), float(model.intercept_[0])


def main(folder: Path, out: Path) -> None:
    rows, labels, weights = [], [], []
    for line in (folder / "messages.jsonl").open():
        each = json.loads(line)
        if each["held"] or each["kind"].endswith("+"):  # beside something honest it is no example of itself
            continue
        cut = windows(each["text"])
        cut = cut[:6] if each["label"] else cut
        rows += cut
        labels += [each["label"]] * len(cut)
        weights += [1 / len(cut) ** 0.5] * len(cut)
    print(len(rows), sum(labels), flush=True)
    coefficients, bias = fitted(rows, labels, weights)
    np.savez(out, weights=coefficients, bias=np.float32(bias))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
