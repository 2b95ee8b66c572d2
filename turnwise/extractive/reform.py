"""The last answer in another form: as a list, as a table, or shorter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from turnwise.dialogue.citing import abstains, cited_points, without_again
from turnwise.dialogue.language import CODES, courtesies, says
from turnwise.text import ITEM, content_stems, one_line, points, without_citations
from turnwise.types import Prompt

SHORT_TABLE_ROWS = 5

_NUMBERED = re.compile(r"number|numm?er|numérot|\bordered|编号|編號|番号", re.I)  # in a request for a numbered list
_TOLD_TOPIC = re.compile(  # "A weir is a low dam", "Weir - a low dam"
    r"((?:An? |The )?(?!(?:It|This|That|There|Here|They|You|We|If|In|On|At|For|When|What|How|One|Each)\b)"
    r"[A-Z][\w’'-]*(?: [\w’'-]+){0,3}?)"
    r"(?: is (?:an?|the)\b| [-–—] |: (?i:an?|the) )"
)
_PLURAL = re.compile(r"[^suia]s$")
_ARTICLE = re.compile(r"^(?:an?|the) ", re.I)
TABLE = re.compile(r"^(\|.+)\n\|[ :|-]+\n((?:\|.*(?:\n|$))+)", re.M)  # its header, and its rows


def reform_last(prompt: Prompt) -> str:
    """The last answer in the form that the user asks for."""
    if prompt.form == "quiz":
        return _quiz(prompt)
    last = _without_opening(prompt.said[-1]) if prompt.said else ""
    if not last or abstains(last) or last in courtesies():
        return says(prompt.language, "nothing_to_reform")
    if prompt.form == "simpler" and len(points(last)) < 2:
        return says(prompt.language, "cannot_simplify")
    form = "numbered list" if prompt.form == "list" and _NUMBERED.search(prompt.question) else prompt.form
    answer = reform(last, form, prompt.last_question)
    if not answer:
        return says(prompt.language, "needs_model")
    if form == "shorter" and answer == last and not prompt.reforms:
        answer = says(prompt.language, "shortest") + "\n\n" + answer
    if not prompt.reforms:
        return answer
    return says(prompt.language, "reforms_earlier", question=one_line(prompt.reforms, 120)) + "\n\n" + answer


def _asks_for(topic: str) -> str:
    verb = "are" if _PLURAL.search(topic) else "is"
    return f"What {verb} {_ARTICLE.sub(lambda article: article[0].lower(), topic)}?"


def _quiz(prompt: Prompt) -> str:
    """A question on something that an answer said what it is, the newest first; not the one that was just asked."""
    known = [answer for answer in reversed(prompt.said) if not abstains(answer)]
    told = [point for answer in known for point in points(without_citations(answer))]
    topics = [found[1] for point in told if (found := _TOLD_TOPIC.match(without_again(point).lstrip("-•* ")))]
    asked = list(map(_asks_for, dict.fromkeys(topics)))
    new = [each for each in asked if not any(each in answer for answer in prompt.said)]
    return says(prompt.language, "quiz", question=new[0]) if new else says(prompt.language, "no_quiz")


def _without_opening(answer: str) -> str:
    """What an answer tells, without "You are right, I said that before. The documents also say:"."""
    opening, _, rest = answer.partition("\n\n")
    openings = tuple(says(code, kind) for code in CODES for kind in ("also", "shortest"))
    earlier = tuple(says(code, "reforms_earlier", question="\n").split("\n")[0] for code in CODES)
    return rest if opening.endswith(openings) or opening.startswith(earlier) else answer


def answer_objection(kind: str, new: Sequence[str], prompt: Prompt) -> str:
    """The reply to "that's wrong", "you already said that" or "not that one", the kinds of `objection`, with what the
    documents say that is `new`."""
    also = "\n\n".join([says(prompt.language, "also"), *new]) if new else ""
    if kind == "repeated":
        opening = says(prompt.language, "already_said")
        return f"{opening} {also or says(prompt.language, 'no_more')}"
    if kind == "other":
        return also or says(prompt.language, "which_other")
    opening = _where_from(prompt) or says(prompt.language, "frustrated")
    return "\n\n".join(filter(None, (opening, also)))


def _where_from(prompt: Prompt) -> str:
    """Where the last answer with a citation comes from, or an empty string if the one after it was not known. The point
    with most words of the question is quoted."""
    sources = {source.number: source for source in prompt.known}
    question = prompt.asked[0] if prompt.asked else prompt.question
    wanted = content_stems(question)
    template = says(prompt.language, "disputed", question="", place="", quote="", number="")
    ending = template.rpartition("]")[2]  # of an earlier reply to an objection, which is no answer
    answers = (each for each in reversed(prompt.said) if ending not in each)
    for answer in takewhile(lambda each: not abstains(each), answers):
        cited = [(number, quote) for number, quote in cited_points(answer) if number in sources]
        if cited:
            number, quote = max(cited, key=lambda each: len(wanted & content_stems(each[1])))
            place = " – ".join(filter(None, (sources[number].title, sources[number].heading)))
            values = {"question": question, "place": place, "quote": quote}
            short = {name: one_line(text, 200) for name, text in values.items()}
            return says(prompt.language, "disputed", number=str(number), **short)
    return ""


def reform(answer: str, form: str, question: str = "") -> str:
    """An answer in another form, with its citations; empty where only a language model could give it. A shorter one
    keeps the point that has most of the question."""
    said = list(map(without_again, points(answer)))
    rows = TABLE.search(answer)
    if form == "repeat" or (form == "table" and rows and not rows[1].rstrip("| ").endswith("Source")):
        return answer
    if form == "list":
        return "\n".join(f"- {point}" for point in said)
    if form == "numbered list":
        return "\n".join(f"{number}. {point}" for number, point in enumerate(said, 1))
    if form == "table":
        lead = f"{said.pop(0)}\n\n" if len(said) > 1 and said[0].endswith(":") else ""
        cells = (re.fullmatch(r"(.*?)\s*((?:\[\d+\])*)", point, re.S) for point in said)
        body = "\n".join(f"| {row[1].replace('|', '/')} | {row[2]} |" for row in cells if row)
        return f"{lead}| Point | Source |\n|---|---|\n{body}"
    if form in ("shorter", "simpler"):
        lines = answer.splitlines()
        if rows:
            return _first_of(lines, [line for line in rows[2].splitlines() if line], SHORT_TABLE_ROWS)
        items = [line for line in lines if ITEM.match(line)]
        if len(items) > 1:
            return _first_of(lines, items, (len(items) + 1) // 2)
        if form == "shorter":
            asked = content_stems(question)
            return max(said, key=lambda point: len(asked & content_stems(point)), default=answer)
        others = sorted(said[1:], key=len)[: (len(said) - 1) // 2]
        return "\n".join(f"- {point}" for point in said if point in (*said[:1], *others)) or answer
    return ""


def _first_of(lines: Sequence[str], items: Sequence[str], count: int) -> str:
    """An answer with only the first rows of its table or items of its list."""
    left_out = set(items[count:]) - set(items[:count])
    return "\n".join(line for line in lines if line not in left_out)
