"""Choose from where on the guard's networks speak, on texts that they did not learn from, and write it into their card.

    python training/guard/calibrate.py FOLDER MODELS     (FOLDER as prepare.py left it; MODELS holds guard.*)

A chance of one half is where the given share of honest texts would be flagged. What somebody else writes is further
from what was learnt than what was held out. So where there are honest texts of others (messages in English, passages)
the threshold is one that fewer than 1 % of each public family of them reach, those of conversations among them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from turnwise.models.guard import OnnxGuard, kind_of

# Share of honest texts that would be flagged at a chance of one half. They were written to be mistaken for attacks,
# those in other languages above all: of ordinary texts it is far less.
FLAGGED = {"quick": 0.01, "foreign": 0.06, "foreign_long": 0.05}
BY_OTHERS = {
    "attack": 1.35,
    "opening": 0.2,
    "attack_long": 0.35,
    "planted": 1.55,
}  # log-odds that what others wrote seldom reaches
PLAIN = {name: [1.0, 0.0] for name in (*FLAGGED, *BY_OTHERS)}
SLOPE = 0.6
MOST = 2000  # texts of a kind


def main(folder: Path, models: Path) -> None:
    card = json.loads((models / "guard.json").read_text())
    (models / "guard.json").write_text(json.dumps(card | {"calibration": PLAIN}))
    guard = OnnxGuard(models)
    rows = {
        name: [row for row in map(json.loads, (folder / f"{name}.jsonl").open()) if row["held"]]
        for name in ("messages", "passages")
    }
    odds: dict[str, dict[int, list[float]]] = {name: {0: [], 1: []} for name in PLAIN}
    for row in rows["messages"][: 2 * MOST]:
        text, label = row["text"], row["label"]
        odds["quick"][label].append(_odds(guard.quickly([text])[0]))
        odds[kind_of(text)][label].append(guard.odds(text)[0])
    for row in rows["passages"][:MOST]:
        odds["planted"][row["label"]].append(_odds(guard.planted([row["text"]])[0][0]))
    odds["opening"] = odds["attack"]
    found: dict[str, object] = {}
    for name in PLAIN:
        honest, hostile = np.array(odds[name][0]), np.array(odds[name][1])
        threshold = BY_OTHERS.get(name)
        if threshold is None:
            threshold = float(np.quantile(honest, 1 - FLAGGED[name]))
        found[name] = [SLOPE, round(-SLOPE * threshold, 3)]
        print(
            f"{name}: threshold {threshold:.2f}; of {len(honest)} honest ones {np.mean(honest > threshold):.4f},"
            f" of {len(hostile)} others {np.mean(hostile > threshold):.3f}"
        )
    (models / "guard.json").write_text(json.dumps(card | {"calibration": found}, indent=1) + "\n")


def _odds(chance: float) -> float:
    return float(np.log(max(chance, 1e-9) / max(1 - chance, 1e-9)))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
