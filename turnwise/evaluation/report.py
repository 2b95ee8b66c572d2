"""The figures of a suite as a table for the terminal."""

from __future__ import annotations

from typing import Any


def table(result: dict[str, Any]) -> str:
    """One line per file (and per way of asking, if there are several), one column per metric."""
    lines = [(name, figures) for key, value in result.items() for name, figures in _lines(key, value)]
    columns = list(dict.fromkeys(column for _, figures in lines for column in figures))
    cells = [["", *columns]]
    cells += [[name, *(_cell(column, figures.get(column)) for column in columns)] for name, figures in lines]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in cells
    )


def tree(result: dict[str, Any], depth: int = 0) -> str:
    """Nested figures, one per line, indented by depth."""
    lines = []
    for name, value in result.items():
        if isinstance(value, dict):
            lines += [f"{'  ' * depth}{name}", *([tree(value, depth + 1)] if value else [])]
        else:
            lines.append(f"{'  ' * depth}{name:<{44 - 2 * depth}}{_cell(name, value):>8}")
    return "\n".join(lines)


def _lines(key: str, value: dict[str, Any]) -> list[tuple[str, dict[str, float]]]:
    if all(isinstance(inner, dict) for inner in value.values()):
        return [(f"{key} {way}", figures) for way, figures in value.items()]
    return [(key, value)]


def _cell(column: str, value: float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.2f}" if column.endswith("_ms") else f"{value:.3f}"
