"""The rows that an answer told in words, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from turnwise.dialogue.citing import without_again
from turnwise.extractive.statements import Candidate
from turnwise.extractive.writing import quote


def drawn_rows(answer: str, pool: Sequence[Candidate]) -> str:
    """The rows of one table that an answer told, drawn as a table with its columns, under the line above them and above
    the sum of their prices; empty if it told anything else."""
    rows = [each for each in pool if len(each.statement.cells) > 1 and quote(each) in answer]
    columns = {tuple(name for name, _ in each.statement.cells) for each in rows}
    rest = without_again(answer)
    for each in sorted(rows, key=lambda row: -len(quote(row))):
        rest = rest.replace(quote(each), "")
    left = [line for each in rest.split("\n") if (line := each.strip("-• "))]
    lead = left.pop(0) if left and left[0].endswith(":") else ""
    if len(columns) != 1 or "[" in "".join(left):
        return ""
    cells = [[cell for _, cell in each.statement.cells] for each in rows]
    lines = [[name.replace("_", " ") for name in columns.pop()], *cells]
    head, *body = (f"| {' | '.join(each.replace('|', '/') for each in line)} |" for line in lines)
    table = "\n".join([head, f"|{'---|' * len(lines[0])}", *body])
    citations = "".join(f"[{number}]" for number in dict.fromkeys(each.evidence.number for each in rows))
    return "\n\n".join(filter(None, (lead, table, citations, *left)))
