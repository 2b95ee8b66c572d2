"""Choose from where on the guard's networks speak, on texts that they did not learn from, and write it into their card.

    python training/guard/calibrate.py FOLDER MODELS [NAME ...]     (FOLDER as prepare.py left it; MODELS holds guard*)

A chance of one half is where the given share of honest texts would be flagged. What somebody else writes is further
from what was learnt than what was held out. So where there are honest texts of others (messages in English, long ones,
passages) the threshold is one that fewer than 1 % of each public family reach, those of conversations among them.
With names (foreign, foreign_long, ...) these alone are chosen anew, the others stay as they are.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from turnwise.models.guard import OnnxGuard, kind_of

# Share of honest texts that would be flagged at a chance of one half. They were written to be mistaken for attacks,
# those in other languages above all: of ordinary texts it is no more than 1 %.
FLAGGED = {"quick": 0.01, "foreign_opening": 0.03}
BY_OTHERS = {
    "attack": 2.75,
    "opening": 0.3,
    "attack_long": 0.4,
    "foreign": 2.75,
    "foreign_few": 2.0,
    "foreign_long": -0.3,
    "planted": 1.58,
}  # log-odds that what others wrote seldom reaches
PLAIN = {name: [1.0, 0.0] for name in (*FLAGGED, *BY_OTHERS)}
SLOPE = 0.6
MOST = 2000  # texts of a kind
ORDINARY = (
    "sentence",
    "asked",
    "pasted",
    "multilingual4",
)  # kinds of honest texts that were not written to be mistaken


def main(folder: Path, models: Path, *names: str) -> None:
    chosen = names or tuple(PLAIN)
    card = json.loads((models / "guard.json").read_text())
    (models / "guard.json").write_text(json.dumps(card | {"calibration": PLAIN}))
    guard = OnnxGuard(models)
    rows = {
        name: [row for row in map(json.loads, (folder / f"{name}.jsonl").open()) if row["held"]]
        for name in ("messages", "passages")
    }
    odds: dict[str, dict[int, list[float]]] = {name: {0: [], 1: []} for name in PLAIN}
    ordinary: dict[str, list[float]] = {name: [] for name in PLAIN}
    for row in rows["messages"][: 2 * MOST]:
        text, label, kind = row["text"], row["label"], kind_of(row["text"])
        if names and kind not in names:
            continue
        odds["quick"][label].append(_odds(guard.quickly([text])[0]))
        odds[kind][label].append(guard.odds(text)[0])
        if not label and row["kind"].split("/")[0] in ORDINARY:
            ordinary[kind].append(odds[kind][label][-1])
    for row in rows["passages"][:MOST] if "planted" in chosen else ():
        odds["planted"][row["label"]].append(_odds(guard.planted([row["text"]])[0][0]))
    for opening, kind in (("opening", "attack"), ("foreign_opening", "foreign"), ("foreign_few", "foreign")):
        odds[opening], ordinary[opening] = odds[kind], ordinary[kind]
    found: dict[str, object] = dict(card.get("calibration", {}))
    for name in chosen:
        honest, hostile = np.array(odds[name][0]), np.array(odds[name][1])
        threshold = BY_OTHERS.get(name)
        if threshold is None:
            of_ordinary = float(np.quantile(ordinary[name], 0.99)) if ordinary[name] else -np.inf
            threshold = max(float(np.quantile(honest, 1 - FLAGGED[name])), of_ordinary)
        found[name] = [SLOPE, round(-SLOPE * threshold, 3)]
        print(
            f"{name}: threshold {threshold:.2f}; of {len(honest)} honest ones {np.mean(honest > threshold):.4f},"
            f" of {len(hostile)} others {np.mean(hostile > threshold):.3f},"
            f" of {len(ordinary[name])} ordinary ones {np.mean(np.array(ordinary[name]) > threshold):.4f}"
        )
    (models / "guard.json").write_text(json.dumps(card | {"calibration": found}, indent=1) + "\n")


def _odds(chance: float) -> float:
    return float(np.log(max(chance, 1e-9) / max(1 - chance, 1e-9)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
