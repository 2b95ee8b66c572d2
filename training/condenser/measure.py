"""How the product condenses conversations that the condenser was not trained on.

    python training/condenser/measure.py [FILE.jsonl]     (conversations as in talks/; default: unseen/library.jsonl)
    python training/condenser/measure.py DIR     (holds rewrite/ and followup/: the rows held out of what was learnt)

Prints what `turnwise eval condense` and `turnwise eval followup` say of them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from prepare import Row, load, read, talked

from turnwise.evaluation.run import run

UNSEEN = Path(__file__).parent / "unseen" / "library.jsonl"


def main(given: Path) -> None:
    with TemporaryDirectory() as folder:
        (Path(folder) / "rewrite").mkdir()
        for name, rows in measured(given).items():
            lines = (json.dumps(row | {"needs_context": bool(row["needs_context"])}) + "\n" for row in rows)
            (Path(folder) / "rewrite" / f"{name}.jsonl").write_text("".join(lines))
        for suite in ("condense", "followup"):
            print(suite, json.dumps(run(suite, Path(folder)), indent=1))


def measured(given: Path) -> dict[str, list[Row]]:
    """The rows by name."""
    if not given.is_dir():
        return {given.stem: talked(read(given))}
    _, held_out = load(given)
    return {name: held_out[name] for name in ("qrecc", "cast19", "ikat23", "talks")}


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else UNSEEN)
