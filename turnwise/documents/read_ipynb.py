"""Reads Jupyter notebooks into headings and blocks: text, code and output."""

from __future__ import annotations

import json
import re
from typing import Any

from turnwise.documents.blocks import Builder
from turnwise.documents.read_markdown import read_markdown
from turnwise.errors import UnreadableDocument

MAX_OUTPUT_CHARS = 2000  # of one output
_ANSI_COLOUR = re.compile("\x1b\\[[\\d;]*[A-Za-z]")


def read_ipynb(text: str, name: str, builder: Builder) -> str:
    """Read the cells into the builder. Returns the first main heading, or ""."""
    try:
        notebook = json.loads(text)
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
        if not all(isinstance(cell, dict) for cell in cells):
            raise ValueError("a cell is no object")
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise UnreadableDocument(f"{name} is not a readable notebook.", "Check that it opens in Jupyter.") from error
    for cell in cells:
        source = _joined(cell.get("source", cell.get("input", "")))
        if cell.get("cell_type") == "markdown":
            read_markdown(source, builder)
        elif cell.get("cell_type") == "code":
            builder.block(source, code=True)
            for output in cell.get("outputs", ()):
                printed = _ANSI_COLOUR.sub("", _output(output)).strip()
                builder.block(f"Output:\n{printed[:MAX_OUTPUT_CHARS]}" if printed else "", code=True, tight=True)
        else:
            builder.block(source)
    return builder.main_heading


def _output(output: dict[str, Any]) -> str:
    if output.get("output_type") in ("error", "pyerr"):
        return f"{output.get('ename', '')}: {output.get('evalue', '')}"
    return _joined(output.get("text") or output.get("data", {}).get("text/plain", ""))


def _joined(lines: Any) -> str:
    return "".join(map(str, lines)) if isinstance(lines, list) else str(lines)
