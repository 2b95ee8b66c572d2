"""The chosen sentences as a text with citations: steps, side by side, or paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from itertools import pairwise, takewhile

from turnwise.dialogue.citing import abstains, without_unknown
from turnwise.dialogue.language import says
from turnwise.dialogue.wishes import LISTS, SHORT
from turnwise.extractive.asking import (
    ANOTHER_EXAMPLE,
    EXAMPLE,
    HOW_IT_WORKS,
    HOW_TO,
    KINDS_OF,
    defined_topic,
    prefers,
    wants_only_more,
)
from turnwise.extractive.cells import is_table_file, row_in_words, statement_in_words
from turnwise.extractive.kinds import SURE_KINDS, UNSURE_KINDS, counts_kinds, gives, has_number
from turnwise.extractive.reform import TABLE, reform
from turnwise.extractive.rows import lead_ins, with_tables
from turnwise.extractive.scoring import lists_materials
from turnwise.extractive.sides import is_about_all, side_of, side_stems
from turnwise.extractive.statements import (
    CACHE_SIZE,
    LEADING_PRONOUN,
    Candidate,
    Statement,
    asked_stems,
    explained_in,
    letters_of,
    line_above,
    neighbours,
    stems_of,
    stems_with_headings,
)
from turnwise.text import ITEM, asks, ends, one_line, points, positions_of, without_citations
from turnwise.types import Passage, Prompt

MAX_STEPS = 8
MAX_ANTECEDENTS = 2  # sentences before one that refers back
MAX_INSTRUCTIONS = 8  # of a paragraph
MAX_ITEMS, SHORT_ITEM_CHARS = 15, 60  # of a list that is told whole, if all its items are short
MAX_PROBLEM_CHARS = 80  # a longer sentence says more than a problem
MAX_REMEDY_SENTENCES = 2
MAX_ANNOUNCED = 5  # sentences that belong to the one before them
MAX_SHOWN_CHARS = 240  # of a sentence that comes near but does not answer

_SAYS_WHAT = re.compile(
    r"(?:an? |the )?([\w’'-]+(?: [\w’'-]+){0,5}) (?:is|are|was|were|means?|refers? to) (?:an?|the|one|that)\b", re.I
)
_ARTICLE = re.compile(r"^(?:an?|the) (?=\S)", re.I)
_AFTER_CITATION = re.compile(r"(\[\d{1,4}\])[ \t]+(?=[^\s\[.,;!?])")
# What stands before the start of a line, list item or sentence, also after a lead such as "As I said:".
_OPENS = re.compile(r"(?:\A|\n|[.!?:…][”\"’*_)]*\s)\s*(?:(?:[-*•]|\d{1,3}[.)])\s+)?[“\"‘*_(]*\Z")
_ASKS_FACT = re.compile(
    r"\W*(?:(?:and|so|but|ok|okay|hi|hello|hey|please),? )*"
    r"(?:what|which|who\w*|when|where|how|is|are|am|was|were|do|does|did|can|could|will|would|shall|should|may|might|must|"
    r"has|have|had|tell|list|show|name|give|explain|describe|compare)\b",
    re.I,
)
_ASKS_HELP = re.compile(
    r"\bwhy\b|\bhow (?:do|can|could|should) (?:i|we)\b|\bhow to\b|\bhelp\b"
    r"|\bwhat (?:now|to do|if|(?:do|can|could|should|must|shall) (?:i|we) do|does (?:it|this|that) mean)\b"
    r"|\bwhat(?:['’]s| is) (?:wrong|up|the (?:matter|problem))\b",
    re.I,
)
_COUNTS_FIRST = re.compile(r"(?:first(?:ly)?|one|to begin with),? ", re.I)
_COUNTS = re.compile(r"(?:first|second|third|fourth|fifth|last|final)(?:ly)?[, ]|(?:one|another|next|also),? ", re.I)
_DENIES = re.compile(  # without it, the sentence before it says the opposite of what is meant
    r"(?:(?:but|however),? )?(?:(?:it|they) (?:(?:does|do|is|are) not|cannot|(?:do|does|is|are)n['’]t)\b(?! only)"
    r"|(?:this|that) (?:is|was) (?:wrong|false|not (?:true|so|right|correct|the case)|a (?:mistake|myth))\b"
    r"|(?:this|that) (?:is|was)n['’]t (?:true|so|right|correct|the case)\b|in (?:fact|reality|truth),)",
    re.I,
)
_EXAMPLE_HERE = re.compile(r"(?:examples?\b[^:.]{0,20}:|(?:for example|for instance|suppose|imagine)\b)", re.I)
_RESULT = re.compile(r"(?:then|so|thus|hence|therefore|in (?:this|that) case|this|that|the result)\b", re.I)
_EXAMPLE_ABOVE = re.compile(r"(?:an? |worked )*examples?\b", re.I)
_ITEM_NUMBER = re.compile(r"\s*(\d{1,3})[.)]\s")
_PURPOSE = re.compile(r"(?:to|for) [^,]+, ", re.I)
_BEFORE_NEXT_ITEM = re.compile(r" ?[,;](?: (?:and|or))?$")
_GOES_ON = re.compile(r"\w|[.,]\d")


def tool_results(prompt: Prompt) -> str:
    """The results of tools, with the numbers of the sources they read."""
    citations = "".join(f"[{each.number}]" for each in prompt.evidence if each.passage.id < 0)
    text = "\n\n".join(prompt.found)
    if text and citations and "\n" not in text:
        return f"{text} {citations}"
    return "\n\n".join(filter(None, (text, citations)))


def write(question: str, chosen: Sequence[Candidate], pool: Sequence[Candidate], prompt: Prompt) -> str:
    """The sentences in a readable form: steps, side by side, or paragraphs."""
    if prompt.sides:
        return _side_by_side(chosen, pool, prompt)
    steps = _steps(chosen[0], pool) if HOW_TO.search(question) or _leans_on_step(chosen[0], pool) else []
    if len(steps) > 1:
        return _numbered(steps)
    if course := [] if prefers(prompt, SHORT) else _course(question, chosen[0], pool):
        lead = course[0][0].statement.above
        return f"{_paragraphs(_with_antecedents(chosen[:1], pool))}\n\n{lead}\n\n{_numbered(course)}"
    formulas = _formulas(chosen, pool)
    chosen = [*chosen, *formulas]
    items = [] if prefers(prompt, SHORT) else _led_list(question, chosen, pool, prompt)
    if items:
        return _with_list(question, items, chosen, pool, says(prompt.language, "again"))
    whole = chosen if prefers(prompt, SHORT) else with_tables(question, chosen, pool, prompt)
    if all(each.said for each in whole):
        return says(prompt.language, "again") + _paragraphs(_with_antecedents(whole, pool))
    problems = [each for each in chosen if prompt.language == "en" and _only_repeats(each, question)]
    remedies = [after for each in problems for after in _next_ones(each, pool, MAX_REMEDY_SENTENCES)]
    instructions = _instructions(chosen[0], pool) if HOW_TO.search(question) and not prefers(prompt, SHORT) else []
    announced = [] if prefers(prompt, SHORT) else _announced(chosen, pool, bool(EXAMPLE.search(question)))
    chosen, whole = [*chosen, *remedies], [*whole, *remedies, *instructions, *announced]
    defined = defined_topic(question)
    if not defined:
        return _paragraphs(_with_antecedents(whole, pool))
    alone = len(chosen) == 1 and not prefers(prompt, SHORT)
    topic = stems_of(defined)
    goes_on = [each for each in pool if _continues(each, chosen[0], topic)] if alone else []
    in_order = formulas or chosen[0].under_asked or chosen[0].statement.refers_back
    first = None if in_order else chosen[0]
    return _paragraphs(_with_antecedents([*chosen, *goes_on], pool), first)


def told_further(chosen: Sequence[Candidate], prompt: Prompt) -> str:
    """A step or sentence that goes on from the last answer, with its number in a list; several as a list."""
    if not chosen:
        return ""
    if len(items := _as_items(chosen)) > 1 and all(item[0].is_item for item in items):
        return "\n".join(f"{_item_mark(item)} {' '.join(map(quote, item))}" for item in items)
    number = item_number(chosen)
    told = f"{number}. {' '.join(map(quote, chosen))}" if number else _paragraphs(chosen)
    again = says(prompt.language, "again") if all(each.said for each in chosen) and not number else ""
    return again + told


def in_preferred_form(text: str, prompt: Prompt) -> str:
    """The text as a list, if the user prefers lists and there is more than one point to list."""
    has_form = prompt.sides or any(map(ITEM.match, text.splitlines())) or TABLE.search(text)
    if has_form or not prefers(prompt, LISTS) or len(points(text)) < 2:
        return text
    return reform(text, "list")


def _continues(candidate: Candidate, other: Candidate, topic: Set[str]) -> bool:
    """Whether it is the sentence after a definition of the topic, is new, and does not define anything else."""
    is_next = neighbours(candidate, other) and candidate.position == other.position + 1
    statement = candidate.statement
    if not is_next or candidate.said or candidate.is_item or statement.is_row or statement.is_entry:
        return False
    defined = _SAYS_WHAT.match(candidate.text)
    return not defined or bool(stems_of(defined[1]) & topic) or bool(LEADING_PRONOUN.match(candidate.text))


def _paragraphs(chosen: Sequence[Candidate], first: Candidate | None = None) -> str:
    """A paragraph for each passage, the best first; its sentences in their own order, but a definition first."""
    paragraphs = []
    for number in dict.fromkeys(each.evidence.number for each in chosen):
        mine = sorted(
            (each for each in chosen if each.evidence.number == number),
            key=lambda each: (each is not first, each.position),
        )
        paragraphs.append(" ".join(f"{lead}{quote(each)}" for lead, each in zip(lead_ins(mine), mine, strict=True)))
    return "\n\n".join(paragraphs)


def _side_by_side(chosen: Sequence[Candidate], pool: Sequence[Candidate], prompt: Prompt) -> str:
    """First what is about both sides, or names neither; then what is about each side, under its name, or that nothing
    was found about it."""
    own = side_stems(prompt.sides)
    placed = [(None if is_about_all(each, own) else side_of(each, own), each) for each in chosen]
    both = [each for place, each in placed if place is None]
    parts = [_paragraphs(both)] if both else []
    for side, name in enumerate(prompt.sides):
        if mine := [each for place, each in placed if place == side]:
            label = _ARTICLE.sub("", name)
            parts.append(f"**{label[:1].upper()}{label[1:]}**: {_paragraphs(mine)}")
        elif not any(own[side] <= stems_with_headings(each) for each in pool):
            parts.append(says(prompt.language, "no_side", about=one_line(name, 80)))
    return "\n\n".join(parts)


def _steps(best: Candidate, pool: Sequence[Candidate]) -> list[list[Candidate]]:
    """The list that contains the best sentence or follows it, without the items that were said before; none if its
    items are not things to do, like those of release notes."""
    items = list_around(best, pool)
    if not any(item_number(item) or item[0].statement.is_instruction for item in items):
        return []
    return [item for item in items if any(each is best or not each.said for each in item)][:MAX_STEPS]


def _leans_on_step(best: Candidate, pool: Sequence[Candidate]) -> bool:
    """Whether it is a step that refers to one before it which was not told: "3. If that does not help, ring us." """
    items = list_around(best, pool) if best.is_item and best.statement.refers_back else []
    return bool(items) and items[0][0] is not best and not any(each.said for item in items for each in item)


def _course(question: str, best: Candidate, pool: Sequence[Candidate]) -> list[list[Candidate]]:
    """The numbered list after the best sentence that says how a thing works: "The pump works in a cycle:"."""
    if not HOW_IT_WORKS.search(question) or _is_listed(best):
        return []
    items = [item for item in list_around(best, pool) if item_number(item)]
    lead = items[0][0].statement.above if items else ""
    told = lead.endswith(":") and len(asked_stems(question) & stems_of(lead)) > 1
    return items[:MAX_STEPS] if told and len(items) > 1 else []


def _numbered(steps: Sequence[Sequence[Candidate]]) -> str:
    own = list(map(item_number, steps))  # they tell whether a step is missing
    numbers = own if own[0] and all(one < other for one, other in pairwise(own)) else range(1, len(steps) + 1)
    return "\n".join(f"{n}. {' '.join(map(quote, step))}" for n, step in zip(numbers, steps, strict=True))


def list_around(best: Candidate, pool: Sequence[Candidate]) -> list[list[Candidate]]:
    """The items of the list that contains a sentence or follows it, each with all its sentences."""
    near = [each for each in pool if each.evidence is best.evidence]
    after = [each for each in near if each.position > best.position]
    before = [each for each in near if each.position < best.position and neighbours(each, best)]

    lead = best.statement.above if _is_listed(best) else next((each.statement.above for each in after[:1]), "")

    def follows(each: Candidate) -> bool:
        return _is_listed(each) and each.statement.above == lead and (neighbours(each, best) or lead.endswith(":"))

    found = list(takewhile(follows, after))
    if _is_listed(best):
        found = [*_last_listed([each for each in before if each.statement.above == lead]), best, *found]
    return _across_passages(_as_items(found), pool)


def _is_listed(candidate: Candidate) -> bool:
    return candidate.is_item or candidate.statement.in_item


def _last_listed(candidates: Sequence[Candidate]) -> list[Candidate]:
    return list(takewhile(_is_listed, reversed(candidates)))[::-1]


def _as_items(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """The sentences of each item."""
    items: list[list[Candidate]] = []
    for each in candidates:
        if each.statement.in_item and items:
            items[-1].append(each)
        else:
            items.append([each])
    return items


def _across_passages(items: list[list[Candidate]], pool: Sequence[Candidate]) -> list[list[Candidate]]:
    """A numbered list that was split between passages, with its items in those that were found."""
    passages: dict[tuple[int, str, int], list[Candidate]] = {}
    for each in pool:
        passage = each.evidence.passage
        passages.setdefault((passage.document_id, passage.heading, passage.position), []).append(each)

    def listed_in(passage: Passage, step: int) -> list[list[Candidate]]:
        there = passages.get((passage.document_id, passage.heading, passage.position + step), [])
        return _as_items(list(takewhile(_is_listed, there)) if step > 0 else _last_listed(there))

    while items and (number := item_number(items[-1])):
        more = listed_in(items[-1][0].evidence.passage, 1)
        if not more or item_number(more[0]) != number + 1:
            break
        items = [*items, *more]
    while items and (number := item_number(items[0])) > 1:
        more = listed_in(items[0][0].evidence.passage, -1)
        if not more or item_number(more[-1]) != number - 1:
            break
        items = [*more, *items]
    return items


def _item_mark(item: Sequence[Candidate]) -> str:
    """What an item of a list is told with: its number, if it has one, or a dash."""
    number = item_number(item)
    return f"{number}." if number else "-"


def item_number(item: Sequence[Candidate]) -> int:
    """The number of an item, or 0 if it has none."""
    found = _ITEM_NUMBER.match(item[0].text)
    return int(found[1]) if found else 0


def _led_list(
    question: str, chosen: Sequence[Candidate], pool: Sequence[Candidate], prompt: Prompt
) -> list[list[Candidate]]:
    """The whole list of a chosen item, if the line above the list is what answers: "It does not cover:". That line has
    words of the question, and no item has others. A heading must have all of them but those of the title, and the items
    must not be sentences, unless all kinds of something are asked for. A long list is not told whole, but steps are, of
    which two were chosen."""
    kinds = KINDS_OF.search(question)
    wanted = asked_stems(KINDS_OF.sub("", question))
    asked = wanted & asked_stems(prompt.question) or wanted
    for best in (each for each in chosen if each.is_item and each.evidence is chosen[0].evidence):
        items = [item for item in list_around(best, pool) if neighbours(item[0], best)]
        texts = [" ".join(each.text for each in item) for item in items]
        lead, passage, materials = best.statement.above, best.evidence.passage, False
        near = stems_of(f"{lead} {passage.called} {passage.heading}")
        if lead.endswith(":"):
            leads = not asked.isdisjoint(stems_of(lead))
        else:
            own = stems_of(line_above(best))
            heads = asked <= own or (bool(own) and own <= asked <= own | stems_of(passage.called))
            materials = lists_materials(best, question)
            leads = materials or (heads and bool(kinds or best.under_asked or not any(map(ends, texts))))
        alike = counts_kinds(question, best) or all(
            gives(item[0], question, (*SURE_KINDS, *UNSURE_KINDS)) for item in items
        )
        named = not materials and any(wanted & stems_of(each) - near for each in texts)
        if len(items) <= MAX_STEPS and sum(item_number(item) > 0 and item[0] in chosen for item in items) > 1:
            return items
        in_a_line = asks(lead) and all(item[0] in chosen for item in items)  # "How long does it take? Two days"
        most = MAX_ITEMS if all(len(each) <= SHORT_ITEM_CHARS for each in texts) else MAX_STEPS
        if leads and alike and not named and not in_a_line and 1 < len(items) <= most:
            return items
    return []


def _with_list(
    question: str,
    items: Sequence[Sequence[Candidate]],
    chosen: Sequence[Candidate],
    pool: Sequence[Candidate],
    again: str,
) -> str:
    """A list under the line above it, with the other chosen sentences and what that line refers to: "It covers:"."""
    first, told = items[0][0], [each for item in items for each in item]
    lead = line_above(first)
    count = f" ({len(items)})" if counts_kinds(question, first) and not has_number(lead) else ""
    lead = f"{lead.rstrip(': ')}{count}"
    lines = "\n".join(f"{_item_mark(item)} {' '.join(map(quote, item))}" for item in items)
    text = f"{lead if asks(lead) else f'{lead}:'}\n\n{lines}"
    if all(each.said for each in told):
        return again + text
    others = [each for each in chosen if not any(each is one for one in told)]
    if LEADING_PRONOUN.match(lead):
        above = [each for each in pool if each.evidence is first.evidence and each.position == first.position - 1]
        others += [each for each in above if not each.said and not each.is_item and not each.statement.is_row]
    before = [each for each in others if each.evidence is first.evidence and each.position < first.position]
    after = [each for each in others if each not in before]
    whole = (_with_antecedents(part, pool) for part in (before, after))
    opening, rest = (_paragraphs([each for each in part if not any(each is one for one in told)]) for part in whole)
    return "\n\n".join(filter(None, (opening, text, rest)))


def _only_repeats(candidate: Candidate, question: str) -> bool:
    """Whether a sentence says nothing but the problem that the user describes: "The red lamp blinks." Where a fact is
    asked for, such a sentence answers: "is the pool heated?", "The pool is heated."."""
    if candidate.statement.is_row or candidate.statement.before or len(candidate.text) > MAX_PROBLEM_CHARS:
        return False
    if _ASKS_FACT.match(question) and not _ASKS_HELP.search(question):
        return False
    wanted, own = asked_stems(question), stems_of(candidate.text)
    return len(own & wanted) > 1 and len(own - wanted) < 2 and not any(map(str.isdigit, "".join(own - wanted)))


def _next_ones(candidate: Candidate, pool: Sequence[Candidate], most: int) -> Iterator[Candidate]:
    """At most so many of the next sentences of its paragraph or list item."""
    places = {each.position: each for each in pool if each.evidence is candidate.evidence}
    for position in range(candidate.position + 1, candidate.position + 1 + most):
        after = places.get(position)
        if after is None or not after.statement.before or after.statement.in_item != candidate.is_item or after.said:
            return
        yield after


def _announced(chosen: Sequence[Candidate], pool: Sequence[Candidate], as_example: bool) -> list[Candidate]:
    """What the chosen sentences begin: "There are two causes. First, ... Second, ...", what denies them, and an example
    worked out in the sentences after its first one: "Suppose ... Then ..." """
    found: list[Candidate] = []
    for each in chosen:
        after = list(_next_ones(each, pool, MAX_ANNOUNCED))
        if after and _DENIES.match(after[0].text):
            found += after[:1]
        elif after and _COUNTS_FIRST.match(after[0].text):
            found += takewhile(lambda one: _COUNTS.match(one.text), after)
        elif as_example and _EXAMPLE_ABOVE.match(each.statement.above):
            found += after
        elif as_example and _EXAMPLE_HERE.match(each.text):
            found += takewhile(lambda one: _RESULT.match(one.text), after)
    return [each for each in found if not any(each is one for one in chosen)]


def _formulas(chosen: Sequence[Candidate], pool: Sequence[Candidate]) -> list[Candidate]:
    """For a chosen formula the sentence after it that says what its letters mean, and the other way round."""
    found: list[Candidate] = []
    for each in pool:
        beside = [one for one in chosen if one.evidence is each.evidence and one is not each]
        letters, own = letters_of(each.text), explained_in(each.text)
        explains = any(own & letters_of(one.text) and 0 < each.position - one.position < 3 for one in beside)
        if each not in chosen and (explains or any(len(letters & explained_in(one.text)) > 1 for one in beside)):
            found.append(each)
    return found


def _instructions(best: Candidate, pool: Sequence[Candidate]) -> list[Candidate]:
    """The best sentence, if it is an instruction, with those right before and after it in its paragraph; all of a short
    section that is about nothing else."""
    if best.under_asked:
        here = {each.position: each for each in pool if neighbours(each, best) and not each.said}
        before, after = range(best.position, -1, -1), range(best.position + 1, best.position + len(pool))
        places = [place for run in (before, after) for place in takewhile(here.__contains__, run)]
        return [here[place] for place in places] if len(places) <= MAX_INSTRUCTIONS else []
    if not best.statement.is_instruction:
        return []
    near = [each for each in pool if each.evidence is best.evidence]
    place = near.index(best)
    first = last = place
    while first > 0 and _belongs_to_previous(near[first]) and near[first - 1].statement.is_instruction:
        first -= 1
    while last + 1 < len(near) and _belongs_to_previous(near[last + 1]) and near[last + 1].statement.is_instruction:
        last += 1
    first = max(first, place - MAX_INSTRUCTIONS + 1)
    return [each for each in near[first : last + 1] if not each.said][:MAX_INSTRUCTIONS]


def _belongs_to_previous(candidate: Candidate) -> bool:
    """Whether an instruction belongs to the previous sentence; "To do something else, ..." begins anew."""
    return bool(candidate.statement.before) and not _PURPOSE.match(candidate.text)


def _with_antecedents(chosen: Sequence[Candidate], pool: Sequence[Candidate]) -> list[Candidate]:
    """The sentences; before each that refers back, what it refers to. A single sentence can do without one that was
    said before; among others it would seem to refer to the wrong one."""
    places = {(each.evidence.number, each.position): each for each in pool}
    ordered: dict[int, Candidate] = {}
    for each in chosen:
        found = [each]
        while len(found) <= MAX_ANTECEDENTS and (found[0].needs_previous or found[0].statement.refers_back):
            before = places.get((each.evidence.number, found[0].position - 1))
            if before is None or not neighbours(before, each):
                break
            if before.text.split()[0] == found[0].text.split()[0]:  # "Its lens …" does not explain "Its battery …"
                break
            if before.said != each.said and (each.said or len(chosen) == 1):
                break
            found.insert(0, before)
        ordered |= {id(one): one for one in found}
    return list(ordered.values())


def quote(candidate: Candidate, column: str = "") -> str:
    """A sentence or row with its citation; of a row, just the cell in this column if one is given."""
    return f"{tidy(row_in_words(candidate, column))} [{candidate.evidence.number}]"


def is_quoted(candidate: Candidate, parts: Sequence[str]) -> bool:
    """Whether one of these parts of an answer has a sentence or row with its citation."""
    citing = [part for part in parts if f"[{candidate.evidence.number}]" in part]
    return any(quote(candidate) in part for part in citing)


def mark_said_rows(pool: Sequence[Candidate], said: Sequence[str]) -> None:
    """Mark the rows that earlier answers told."""
    texts = [_as_told(without_unknown(each)) for each in said]
    for each in pool if texts else ():
        if not (forms := _forms(each)):
            continue
        each.just_said = each.just_said or _has_any(texts[-1:], forms)
        each.said = each.said or each.just_said or _has_any(texts[:-1], forms)


def is_told(row: Candidate, answers: Sequence[str]) -> bool:
    """Whether one of these answers told a row, whole or just one of its cells. False if it is no row."""
    return _has_any(list(map(_as_told, answers)), _forms(row))


def _forms(row: Candidate) -> Sequence[str]:
    """What answers may say of a row: all of it, or just one of its cells."""
    if len(row.statement.cells) < 2:
        return ()
    return _forms_of(row.statement, is_table_file(row.evidence.passage.source))


@lru_cache(maxsize=CACHE_SIZE)
def _forms_of(row: Statement, is_file: bool) -> Sequence[str]:
    columns = [column for column, _ in row.cells[1:]]
    told = (tidy(statement_in_words(row, column, is_file)) for column in ("", *columns))
    return tuple(dict.fromkeys(map(_as_told, told)))


def _as_told(text: str) -> str:
    """The text without its citations; what follows one begins a line, because not every row ends in a full stop."""
    return without_citations(_AFTER_CITATION.sub(r"\1\n", text))


def _has_any(texts: Sequence[str], forms: Sequence[str]) -> bool:
    """Whether a text has a form, not as the end of a longer name: "Latte: £3" is not in "Iced Latte: £3"."""
    return any(
        _OPENS.search(text, max(0, start - 12), start) and not _GOES_ON.match(text, start + len(form))
        for text in texts
        for form in forms
        for start in positions_of(text, form)
    )


def tidy(sentence: str) -> str:
    """A sentence on one line, without the mark of a list item or the comma before the next one."""
    return _BEFORE_NEXT_ITEM.sub("", " ".join(ITEM.sub("", sentence).split()))


def dont_know(question: str, nearest: Candidate | None, prompt: Prompt) -> str:
    """Says that the documents do not answer the question, in the user's words, and what came nearest: a sentence, or
    just the place of the first passage."""
    asked = one_line(question if len(prompt.asked) > 1 else prompt.question, 120)
    if not prompt.evidence:
        return says(prompt.language, "nothing_in_part" if prompt.narrowed else "nothing_found", question=asked)
    if prompt.said and (wants_only_more(prompt) or ANOTHER_EXAMPLE.search(prompt.question)):
        opening, nearest = says(prompt.language, "no_more"), None
    else:
        again = any(map(abstains, prompt.said[-1:]))
        opening = says(prompt.language, "unknown_again" if again else "unknown", question=asked)
    passage = nearest.evidence.passage if nearest else prompt.evidence[0].passage
    place = _place_of(passage)
    if place and nearest:
        return f"{opening} {shown_as_nearest(nearest, prompt)}"
    return f"{opening} {says(prompt.language, 'nearest', place=place)}" if place else opening


def shown_as_nearest(candidate: Candidate, prompt: Prompt) -> str:
    """What is said of a sentence that comes nearest to an answer: where it stands, and what it says."""
    quoted = one_line(tidy(row_in_words(candidate)), MAX_SHOWN_CHARS)
    return says(prompt.language, "nearest_says", place=_place_of(candidate.evidence.passage), quote=quoted)


def _place_of(passage: Passage) -> str:
    return one_line(" – ".join(filter(None, (passage.title, passage.heading))), 100)
