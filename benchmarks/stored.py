"""The size of a turn in the store: bytes per column, on the bundled sample library, without a language model.

python benchmarks/stored.py
"""

from __future__ import annotations

import argparse
import sqlite3
import tempfile
from pathlib import Path

from turn import CONVERSATIONS, PACKAGE, converse

import turnwise

TURN_COLUMNS = ("prompt", "response", "sources", "shown", "record")


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    with tempfile.TemporaryDirectory() as folder, turnwise.open(folder) as engine:
        engine.add(PACKAGE / "sample")
        turns = sum(len(converse(engine, talk)) for talk in CONVERSATIONS)
        (path,) = (each for each in Path(folder).rglob("*.db") if "turns" in _tables(each))
        with sqlite3.connect(path) as database:
            sizes = {name: _mean(database, name, "turns") for name in TURN_COLUMNS}
            sizes["facts"] = _mean(database, "facts", "turn_facts")
    print(f"{turns} turns of {len(CONVERSATIONS)} conversations; mean bytes per turn\n")
    for name, size in sizes.items():
        print(f"{name:12} {size:10,.0f}")
    print(f"{'together':12} {sum(sizes.values()):10,.0f}")


def _tables(path: Path) -> set[str]:
    with sqlite3.connect(path) as database:
        return {name for (name,) in database.execute("SELECT name FROM sqlite_master")}


def _mean(database: sqlite3.Connection, column: str, table: str) -> float:
    (size,) = database.execute(f"SELECT avg(coalesce(length(CAST({column} AS BLOB)), 0)) FROM {table}").fetchone()
    return float(size)


if __name__ == "__main__":
    main()
