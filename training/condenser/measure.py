"""How the product condenses conversations that the condenser was not trained on.

    python training/condenser/measure.py [FILE.jsonl]     (conversations as in talks/; default: unseen/library.jsonl)

Prints what `turnwise eval condense` and `turnwise eval followup` say of them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from prepare import read, talked

from turnwise.evaluation.run import run

UNSEEN = Path(__file__).parent / "unseen" / "library.jsonl"


def main(file: Path) -> None:
    with TemporaryDirectory() as folder:
        rows = Path(folder) / "rewrite" / file.name
        rows.parent.mkdir()
        rows.write_text("".join(json.dumps(row) + "\n" for row in talked(read(file))))
        for suite in ("condense", "followup"):
            print(suite, json.dumps(run(suite, Path(folder)), indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else UNSEEN)
