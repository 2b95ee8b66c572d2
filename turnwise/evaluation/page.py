"""The report on transcripts as one HTML file: the figures, then the turns, worst first."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from turnwise.evaluation.transcripts import WAYS, Findings, ScoredTurn

MAX_TURNS = 200
WAY_LABELS = {
    "raw": "the message alone",
    "condensed": "the condensed question",
    "fused": "as a turn searches (both, weighted)",
}

STYLE = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")


def page(findings: Findings, name: str) -> str:
    """The whole page, with no external resources."""
    body = "\n".join([*_head(findings, name), *(_turn(each) for each in findings.turns[:MAX_TURNS])])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(name)}: what its turns find</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n"
        "</body>\n</html>\n"
    )


def _head(findings: Findings, name: str) -> Iterator[str]:
    figures = findings.figures()
    yield f"<h1>What the turns of {escape(name)} find</h1>"
    unscored = f" {figures['unjudged']} turns could not be scored: they have no answer." if figures["unjudged"] else ""
    talks = "1 conversation" if figures["conversations"] == 1 else f"{figures['conversations']} conversations"
    yield (
        f'<p class="quiet">{figures["turns"]} turns in {talks}, {figures["later_turns"]} of '
        f"them after the first.{unscored} A score of 1 means that the first five passages contain all that the answer "
        "says, or are the relevant documents. The gain is compared with the message alone, with a 95% confidence "
        "interval over conversations.</p>"
    )
    numbers = "".join(f'<th class="n">{each}</th>' for each in ("all turns", "later turns", "gain"))
    yield f"<table><tr><th>searched by</th>{numbers}</tr>"
    for way in WAYS:
        row = figures[way]
        gain = ""
        if way != "raw":
            gain = f"{row['gain_later']:+.3f} ({row['gain_low']:+.3f} to {row['gain_high']:+.3f})"
        yield (
            f'<tr><td>{WAY_LABELS[way]}</td><td class="n">{row["score"]:.3f}</td>'
            f'<td class="n">{row["score_later"]:.3f}</td><td class="n">{gain}</td></tr>'
        )
    yield "</table>"
    if len(findings.turns) > MAX_TURNS:
        yield f'<p class="quiet">The {MAX_TURNS} worst turns of {len(findings.turns)}:</p>'


def _turn(each: ScoredTurn) -> str:
    asked = each.asked
    rows = "".join(
        f'<tr><td>{WAY_LABELS[way]}</td><td>{escape(each.queries[way])}</td><td class="n {_class(each, way)}">'
        f"{each.scores[way]:.2f}</td><td>{escape(', '.join(dict.fromkeys(each.found[way])) or 'nothing')}</td></tr>"
        for way in WAYS
    )
    lines = "".join(f"<p><b>{message.role}</b> {escape(message.content[:500])}</p>" for message in asked.history[-6:])
    history = f"<details><summary>earlier messages</summary>{lines}</details>" if lines else ""
    wanted = escape(", ".join(asked.relevant) or asked.answer[:300])
    return (
        f"<article><h2>{escape(asked.question)}</h2>"
        f'<p class="quiet">{escape(asked.conversation)}, turn {asked.number} · should find: {wanted}</p>'
        f'<table><tr><th>searched by</th><th>query</th><th class="n">score</th><th>found</th></tr>{rows}</table>'
        f"{history}</article>"
    )


def _class(each: ScoredTurn, way: str) -> str:
    difference = each.scores[way] - each.scores["raw"]
    return "good" if difference > 0.005 else "bad" if difference < -0.005 else ""
