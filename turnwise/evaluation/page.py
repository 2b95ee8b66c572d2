"""A report on the user's own conversations as one HTML file: the figures, then the turns, worst first."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from turnwise.evaluation.transcripts import WAYS, Findings, Scored

SHOWN = 200  # turns; a longer page helps nobody
NAMES = {
    "raw": "the message alone",
    "condensed": "the condensed question",
    "fused": "as a turn searches (both, weighted)",
}

STYLE = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")


def page(findings: Findings, name: str) -> str:
    """The whole page; nothing in it comes from elsewhere."""
    body = "\n".join([*_head(findings, name), *(_turn(each) for each in findings.turns[:SHOWN])])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(name)}: what its turns find</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n"
        "</body>\n</html>\n"
    )


def _head(findings: Findings, name: str) -> Iterator[str]:
    told = findings.figures()
    yield f"<h1>What the turns of {escape(name)} find</h1>"
    unjudged = f" {told['unjudged']} turns could not be judged: they have no answer." if told["unjudged"] else ""
    talks = "1 conversation" if told["conversations"] == 1 else f"{told['conversations']} conversations"
    yield (
        f'<p class="quiet">{told["turns"]} turns of {talks}, {told["later_turns"]} of '
        f"them after the first.{unjudged} A score of 1 means that the first five passages hold all that the answer "
        "says, or are the relevant documents; the gain is over the message alone, with a 95 % interval by "
        "conversations.</p>"
    )
    numbers = "".join(f'<th class="n">{each}</th>' for each in ("all turns", "later turns", "gain"))
    yield f"<table><tr><th>searched by</th>{numbers}</tr>"
    for way in WAYS:
        figures = told[way]
        gain = ""
        if way != "raw":
            gain = f"{figures['gain_later']:+.3f} ({figures['gain_low']:+.3f} to {figures['gain_high']:+.3f})"
        yield (
            f'<tr><td>{NAMES[way]}</td><td class="n">{figures["score"]:.3f}</td>'
            f'<td class="n">{figures["score_later"]:.3f}</td><td class="n">{gain}</td></tr>'
        )
    yield "</table>"
    if len(findings.turns) > SHOWN:
        yield f'<p class="quiet">The {SHOWN} worst turns of {len(findings.turns)}:</p>'


def _turn(each: Scored) -> str:
    asked = each.asked
    rows = "".join(
        f'<tr><td>{NAMES[way]}</td><td>{escape(each.queries[way])}</td><td class="n {_class(each, way)}">'
        f"{each.scores[way]:.2f}</td><td>{escape(', '.join(dict.fromkeys(each.found[way])) or 'nothing')}</td></tr>"
        for way in WAYS
    )
    said = "".join(f"<p><b>{message.role}</b> {escape(message.content[:500])}</p>" for message in asked.history[-6:])
    before = f"<details><summary>what was said before</summary>{said}</details>" if said else ""
    wanted = escape(", ".join(asked.relevant) or asked.answer[:300])
    return (
        f"<article><h2>{escape(asked.question)}</h2>"
        f'<p class="quiet">{escape(asked.conversation)}, turn {asked.number} · should find: {wanted}</p>'
        f'<table><tr><th>searched by</th><th>query</th><th class="n">score</th><th>found</th></tr>{rows}</table>'
        f"{before}</article>"
    )


def _class(each: Scored, way: str) -> str:
    difference = each.scores[way] - each.scores["raw"]
    return "good" if difference > 0.005 else "bad" if difference < -0.005 else ""
