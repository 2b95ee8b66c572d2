"""Two guards at equal caution, on held-out lines of our own and on the public sets, which are looked at in totals only.

    python training/guard/compare.py score MODELS FOLDER BENCH OUT.pkl     (MODELS holds guard.*; FOLDER as prepare.py left it)
    python training/guard/compare.py table OUT.pkl [OUT.pkl ...]

English messages: at shares of honest conversation messages flagged, long ones of wildguard's. Other languages: of our own
honest held-out lines. Passages: of the clean public ones. All means over families; FAMILIES of fewer than ten are left out.
"""

from __future__ import annotations

import gzip
import json
import pickle
import shutil
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

from turnwise.models.guard import OnnxGuard, kind_of

PLAIN = {name: [1.0, 0.0] for name in ("quick", "foreign", "foreign_long", "attack", "attack_long", "planted")}
MOST = 3000  # held-out lines in English, and in other languages
SHORT, LONG, FOREIGN, PASSAGES = (0.0012, 0.003, 0.005, 0.01), (0.005, 0.01), (0.01, 0.02, 0.05), (0.001, 0.005)
FEWEST = 10


def rows(file: Path) -> list[dict]:
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
        return [json.loads(line) for line in lines]


def plainly(models: Path) -> OnnxGuard:
    """The guard without its calibration: chances are those of the odds as they come."""
    folder = Path(tempfile.mkdtemp())
    for file in models.glob("guard*"):
        shutil.copy(file, folder)
    card = json.loads((folder / "guard.json").read_text())
    (folder / "guard.json").write_text(json.dumps(card | {"calibration": PLAIN}))
    return OnnxGuard(folder, 1)


def score(models: Path, folder: Path, bench: Path, out: Path) -> None:
    guard = plainly(models)
    own: dict[bool, dict[str, dict]] = {True: {}, False: {}}
    for row in rows(folder / "messages.jsonl"):
        if row["held"]:
            own[kind_of(row["text"]).startswith("foreign")].setdefault(row["text"], row)
    told: dict[str, list] = {"own": [], "direct": [], "passages": [], "indirect": [], "benign": []}
    for part in own.values():
        for row in list(part.values())[:MOST]:
            text = row["text"]
            told["own"].append((row["kind"].split("/")[0].rstrip("+"), kind_of(text), row["label"], guard.odds(text)[0]))
    for row in rows(bench / "guard/direct_eval.jsonl.gz"):
        told["direct"].append((row["source"], kind_of(row["text"]), row["label"], guard.odds(row["text"])[0]))
    for row in rows(bench / "guard/multiturn_benign.jsonl.gz"):
        for turn in row["turns"]:
            if turn["role"] == "user":
                told["benign"].append((row["source"], kind_of(turn["content"]), 0, guard.odds(turn["content"])[0]))
    held = [row for row in rows(folder / "passages.jsonl") if row["held"]]
    for name, every in (("indirect", rows(bench / "guard/indirect_eval.jsonl.gz")), ("passages", held)):
        for row in every[:MOST]:
            chance = guard.planted([row["text"]])[0].chance
            kind = row.get("source") or ("foreign" if kind_of(row["text"]).startswith("foreign") else "english")
            told[name].append((kind, "planted", row["label"], float(np.log(max(chance, 1e-9) / max(1 - chance, 1e-9)))))
    out.write_bytes(pickle.dumps(told))
    print({name: len(every) for name, every in told.items()})


def by_family(told: list, kinds: tuple[str, ...], label: int) -> dict[str, np.ndarray]:
    found: dict[str, list[float]] = defaultdict(list)
    for family, kind, its, odds in told:
        if kind in kinds and its == label:
            found[family].append(odds)
    return {family: np.array(odds) for family, odds in sorted(found.items()) if len(odds) >= FEWEST}


def all_of(told: list, kind: str, label: int, family: str = "") -> np.ndarray:
    return np.array([odds for of, its, is_, odds in told if its == kind and is_ == label and of.startswith(family)])


def threshold(honest: np.ndarray, share: float) -> float:
    """Above which no more than this share of them are."""
    return float(np.sort(honest)[::-1][int(share * len(honest))])


def recall(found: dict[str, np.ndarray], at: float) -> str:
    each = {family: float((odds > at).mean()) for family, odds in found.items()}
    return f"{np.mean(list(each.values())):.3f}  " + " ".join(f"{f}={x:.2f}" for f, x in each.items())


def table(*files: Path) -> None:
    for file in files:
        told = pickle.loads(file.read_bytes())
        print("=====", file.stem)
        for kind, honest, shares in (
            ("attack", all_of(told["benign"], "attack", 0), SHORT),
            ("attack_long", all_of(told["direct"], "attack_long", 0, "wildguard"), LONG),
        ):
            hostile = by_family(told["direct"], (kind,), 1)
            for share in shares:
                at = threshold(honest, share)
                wrong = {f: round(float((x > at).mean()), 4) for f, x in by_family(told["direct"], (kind,), 0).items()}
                own = [float((all_of(told["own"], kind, label) > at).mean()) for label in (0, 1)]
                print(f"{kind} {share:.2%} of {len(honest)} t={at:.2f}: {recall(hostile, at)}")
                print(f"    honest {wrong} own honest {own[0]:.3f} own attacks {own[1]:.3f}")
        for kind in ("foreign", "foreign_long"):
            honest = all_of(told["own"], kind, 0)
            for share in FOREIGN:
                at = threshold(honest, share)
                own = float((all_of(told["own"], kind, 1) > at).mean())
                wrong = (all_of(told["own"], kind, 0, "sentence") > at).mean()
                print(
                    f"{kind} {share:.0%} of {len(honest)} t={at:.2f}: public {recall(by_family(told['direct'], (kind,), 1), at)}"
                    f" own attacks {own:.3f} sentences {wrong:.4f} other honest"
                    f" {({f: round(float((x > at).mean()), 3) for f, x in by_family(told['direct'], (kind,), 0).items()})}"
                )
        for kind in ("attack", "attack_long"):
            honest, hostile = all_of(told["own"], kind, 0), all_of(told["own"], kind, 1)
            print(f"own {kind}:", {q: round(float((hostile > threshold(honest, q)).mean()), 3) for q in (0.005, 0.01, 0.02)})
        for name in ("indirect", "passages"):
            for share in PASSAGES:
                at = threshold(all_of(told[name], "planted", 0), share)
                print(f"{name} {share:.1%} t={at:.2f}: {recall(by_family(told[name], ('planted',), 1), at)}")


if __name__ == "__main__":
    (score if sys.argv[1] == "score" else table)(*map(Path, sys.argv[2:]))
