"""The calculator: exact sums, percentages and units, also of the number that the last answer gave. Never `eval`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from turnwise.sums.grammar import CURRENCIES, Node, NoSum, Number, Operation, That, nodes, parsed, unit_name
from turnwise.sums.read import SEVERAL, Sum, number_of, read_sum
from turnwise.text import one_line, sentences, without_citations, words
from turnwise.tools.values import CannotCalculate, evaluated, symbol
from turnwise.tools.writing import LONG, SAYS, is_rounded, places_of, result_of, sentence, written
from turnwise.types import Message, StepResult

LOOKED_BACK = 20  # sums that go on from one another
ASKED = 5  # numbers among which the user may choose
CHOICE = 4  # words of a message that chooses one
LOOKED_AT = 4000  # characters of an answer that are looked through for numbers

Language = Callable[[str, Iterable[str]], str]
_LETTER = re.compile(r"\b[^\W\d_]\b|\d[A-Za-z\d]*")  # a number or a unit, which tell no language


class Calculator:
    """A tool for sums. `language` tells that of a message, for 0,5 or 0.5; without it all is read as English."""

    name = "calculator"
    about = "Works out a sum, a percentage or a conversion of units exactly, such as 15 % of 80 or 3 miles in km."

    def __init__(self, language: Language | None = None) -> None:
        self._language = language

    async def read(self, question: str, history: Sequence[Message]) -> str:
        """The sum that a message asks for, with the numbers of the conversation put in; empty where it asks for none.

        After a semicolon stand what the number was taken from, and the language where that is not English."""
        return await asyncio.to_thread(self._read, question, history)

    async def run(self, given: str) -> StepResult:
        return await asyncio.to_thread(calculated, given)

    def _read(self, question: str, history: Sequence[Message]) -> str:
        try:
            found = self._sum(question, history, LOOKED_BACK)
        except CannotCalculate:  # what it goes on from has no result, as was said
            return ""
        if found is None:
            return ""
        tree, note = found
        code = self._code(question, history)
        return "; ".join(filter(None, (written(tree), note, code if code in SAYS and code != "en" else "")))

    def _code(self, question: str, history: Sequence[Message]) -> str:
        earlier = (each.content for each in reversed(history) if each.role == "user")
        return self._language(_LETTER.sub(" ", question), earlier) if self._language else "en"

    def _sum(self, question: str, history: Sequence[Message], left: int) -> tuple[Node, str] | None:
        """The sum of a message without a "that", and what was taken for it."""
        code = self._code(question, history)
        found = read_sum(question, code)
        if found is None:
            worked_out = _per(question, history) or _for_several(question, history)
            return worked_out or (self._chosen(question, history, left) if left else None)
        return self._with_that(found, history, left) if found.leans else (found.tree, "")

    def _with_that(self, found: Sum, history: Sequence[Message], left: int) -> tuple[Node, str] | None:
        before, answer = _last_exchange(history)
        if answer is None:
            return None if found.bare else (found.tree, "")
        earlier = self._sum(history[before].content, history[:before], left - 1) if before >= 0 and left else None
        if earlier is not None and not any(isinstance(node, That) for node in nodes(earlier[0])):
            return _put(found.tree, _result_of(earlier[0])), ""
        candidates = numbers(history[answer].content, self._code("", history))
        if isinstance(found.tree, Operation) and found.tree.name == "to":
            candidates = [each for each in candidates if isinstance(each[0], Number) and each[0].unit]
            if not candidates:
                return None
        main = [each for each in candidates if each[1] == candidates[0][1]]
        chosen = candidates if len(candidates) == 1 else main if len(main) == 1 else []
        if before >= 0 and _OF_MONEY.search(history[before].content[:LOOKED_AT]):
            prices = [each for each in candidates if _is_price(*each)]
            chosen = prices if len(prices) == 1 else chosen
        if chosen:
            number, stated = chosen[0]
            return _put(found.tree, number), f"“{one_line(stated, 100).replace(';', ',')}”"
        if found.bare and not candidates:
            return None
        return found.tree, " or ".join(written(number) for number, _ in candidates[:ASKED])

    def _chosen(self, question: str, history: Sequence[Message], left: int) -> tuple[Node, str] | None:
        """The last sum with the number that the user was asked for and now names."""
        before, answer = _last_exchange(history)
        if before < 0 or answer is None or "?" in question or len(words(question[:LOOKED_AT])) > CHOICE:
            return None
        named = numbers(question, self._code(question, history))
        if len(named) != 1:
            return None
        last = self._sum(history[before].content, history[:before], left - 1)
        if last is None or not any(isinstance(node, That) for node in nodes(last[0])):
            return None
        return _put(last[0], named[0][0]), ""


def _per(question: str, history: Sequence[Message]) -> tuple[Node, str] | None:
    """What the last answer says of one period, for another: "and how much is that a year?" of 940 euros a month."""
    asked = _PER.fullmatch(question.strip())
    answer = _last_exchange(history)[1] if asked else None
    if asked is None or answer is None:
        return None
    said = numbers(history[answer].content)
    rates = [
        (number, stated, factor)
        for number, stated in said
        if isinstance(number, Number)
        and stated == said[0][1]
        and (period := _PERIOD.search(stated))
        and (factor := _TIMES.get(((period[1] or period[2]).lower(), asked[1].lower())))
    ]
    prices = [each for each in rates if _is_price(each[0], each[1])] or rates
    if len(prices) != 1:
        return None
    number, stated, factor = prices[0]
    tree = Operation("*" if factor > 1 else "/", (number, Number(max(factor, 1 / factor))))
    return tree, f"“{one_line(stated, 100).replace(';', ',')}”"


def _for_several(question: str, history: Sequence[Message]) -> tuple[Node, str] | None:
    """The price that was asked for, so many times: "for 4 people?" """
    asked = SEVERAL.fullmatch(question.strip())
    before, answer = _last_exchange(history) if asked else (-1, None)
    if asked is None or answer is None or before < 0 or not _OF_MONEY.search(history[before].content[:LOOKED_AT]):
        return None
    prices = [each for each in numbers(history[answer].content) if _is_price(*each)]
    if len(prices) != 1 or not _PEOPLE.search(question) or _GROUP.search(prices[0][1]):
        return None
    number, stated = prices[0]
    tree = Operation("*", (Number(Fraction(number_of(asked["number"]))), number))
    return tree, f"“{one_line(stated, 100).replace(';', ',')}”"


def _is_price(number: Node, stated: str) -> bool:
    """Whether a number that a sentence states is an amount of money, by its unit or what the field is called."""
    if not isinstance(number, Number):
        return False
    amount = re.escape(written(replace(number, unit="")))
    field = rf"\b(?:price|cost|fee|fare|premium|rent|charge)s?\b[^:;]{{0,20}}: ?{amount}\b"
    return number.unit in CURRENCIES or bool(re.search(field, stated, re.I))


def _last_exchange(history: Sequence[Message]) -> tuple[int, int | None]:
    """The places of the last answer that holds a number, and of the message that it answered (-1 where there is none);
    courtesies in between are passed over, within reason."""
    answers = [place for place in range(len(history)) if history[place].role == "assistant"][-3:]
    held = [place for place in answers if re.search(r"\d", without_citations(history[place].content))]
    answer = (held or answers)[-1] if answers else None
    if answer is None:
        return -1, None
    return answer - 1 if answer and history[answer - 1].role == "user" else -1, answer


def _result_of(tree: Node) -> Node:
    """What the next sum goes on from: the result where it can be written exactly, else the sum itself."""
    value = evaluated(tree)
    sign = symbol(value.unit) if value.unit is not None else value.sign
    short = places_of(value.amount) is not None and abs(value.amount) < 10**LONG
    if not (value.exact and short) or (value.unit is not None and not unit_name(sign)):
        return tree.parts[0] if isinstance(tree, Operation) and tree.name == "to" else tree
    number = Number(value.amount, "" if sign == "%" else sign)
    return Operation("%", (number,)) if sign == "%" else number


def _put(tree: Node, number: Node) -> Node:
    """The tree with a number in place of each "that"; twice 80 % is 160 %."""
    if isinstance(tree, That):
        return number
    if isinstance(tree, Operation):
        scaled = tree.name in ("*", "/") and isinstance(tree.parts[0], That) and isinstance(tree.parts[1], Number)
        if scaled and isinstance(number, Operation) and number.name == "%":
            return Operation("%", (Operation(tree.name, (number.parts[0], tree.parts[1])),))
        return Operation(tree.name, tuple(_put(part, number) for part in tree.parts), tree.unit)
    return tree


# --- numbers of an answer -----------------------------------------------------------------------------------------

_IN_TEXT = re.compile(
    r"(?<![\w.,/-])(?P<before>[$€£¥]\s?)?"
    r"(?P<number>\d{1,3}(?:[,. \u202f\xa0]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
    r"(?P<after>\s?(?:%|[€$£¥]|°[CF]|[A-Za-zÀ-ÿ]+(?: cent\b| celsius\b| fahrenheit\b)?(?:/[a-z]+)?|[\u4e00-\u9fff]))?"
    r"(?![\w/]|-\w|[.,]\d)"
)
# What was asked, or a number was taken from, in words of our own: it is not what is said.
_NOT_SAID = re.compile(r"\(from “[^”]{0,400}”\)|(?:do not answer|no answer to|is about) “[^”]{0,400}”")
_CURRENCY = re.compile(r"[_ (](eur|usd|gbp)\)?: ?$", re.I)  # of a field
_SIGNS = {"eur": "€", "usd": "$", "gbp": "£"}
_ITEM = re.compile(r"^\s*\d{1,3}[.)]\s", re.M)
_OF_MONEY = re.compile(
    r"\b(?:costs?|prices?|pays?|paid|fees?|charg\w+|fares?|rent|budget|deposit|how much|worth)\b", re.I
)
_PER = re.compile(
    r"(?:(?:so|and|then),? )?(?:what(?:['’]s| is| would)|how much (?:is|would|does|will)) (?:that|it|this) "
    r"(?:be |cost |make |come to )?(?:an?|per|each|every) (day|week|month|year)\W*",
    re.I,
)
_PEOPLE = re.compile(r"\b(?:people|persons|guests?|visitors?|friends|tickets?|pieces|of us)\b", re.I)
_GROUP = re.compile(r"\b(?:adults?|child(?:ren)?|kids|students?|seniors?|groups?|famil(?:y|ies)|deposit)\b", re.I)
_PERIOD = re.compile(
    r"(?:\b(?:an?|per|each|every) |/ ?)(day|week|month|quarter|year)\b|\b(week|month|quarter|year)ly\b", re.I
)
_TIMES = {  # how many times what a period costs, another does
    ("day", "week"): Fraction(7),
    ("week", "year"): Fraction(52),
    ("month", "year"): Fraction(12),
    ("quarter", "year"): Fraction(4),
    ("year", "month"): Fraction(1, 12),
    ("year", "week"): Fraction(1, 52),
    ("week", "day"): Fraction(1, 7),
}
_DATE = re.compile(
    r"\b(?:\d{4}-\d{2}(?:-\d{2})?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d{2}|(?:\d{1,2}\.? )?"
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"(?: \d{1,2},)?(?: \d{4})?)\b"
)


def numbers(text: str, code: str = "en") -> list[tuple[Node, str]]:
    """The different numbers that a text states, each with its unit and its sentence; years only where there is nothing
    else, and neither citations, dates, the numbers of a list nor those in names."""
    found: dict[str, tuple[Node, str]] = {}
    years: dict[str, tuple[Node, str]] = {}
    plain = _DATE.sub(" ", _ITEM.sub("", _NOT_SAID.sub(" ", without_citations(text[:LOOKED_AT]))))
    aside = re.sub(r"\([^()]{0,200}\)", " ", plain)
    plain = aside if re.search(r"\d", aside) else plain  # brackets hold asides, where a number stands outside
    for stated in sentences(plain):
        for each in _IN_TEXT.finditer(stated):
            before, amount, after = each["before"] or "", each["number"], each["after"] or ""
            if not before and (field := _CURRENCY.search(stated, 0, each.start())):
                before, after = _SIGNS[field[1].lower()], ""
            if after.strip().lower() in ("pound", "pounds") and _OF_MONEY.search(stated):
                before, after = "£", ""
            for spelled in (before + amount + after, before + amount, amount):
                try:
                    tree = parsed(spelled, code)
                except NoSum:
                    continue
                year = re.fullmatch(r"(?:1[5-9]|20)\d\d", amount) and isinstance(tree, Number) and not tree.unit
                (years if year else found).setdefault(written(tree), (tree, stated))
                break
    return list((found or years).values())


# --- working it out -----------------------------------------------------------------------------------------------


def calculated(given: str) -> StepResult:
    """What comes of a sum as `Calculator.read` writes it, or as a language model does."""
    first, *notes = (part.strip() for part in given[:2000].split(";"))
    code = notes.pop() if notes and notes[-1] in SAYS else "en"
    note = notes[0] if notes else ""
    try:
        tree = _tree(first)
        if any(isinstance(node, That) for node in nodes(tree)):
            return StepResult(_which(note, code), details={"sum": first})
        value = evaluated(tree)
        text = sentence(tree, value, code)
    except NoSum:
        error = CannotCalculate("unread", sum=one_line(first, 60))
        return _failed(error, first, code)
    except CannotCalculate as error:
        return _failed(error, first, code)
    details = {"sum": first, "result": result_of(tree, value, "en"), "exact": not is_rounded(value)}
    if note:
        return StepResult(f"{text} ({SAYS[code]['from'].format(note=note)})", details={**details, "from": note})
    return StepResult(text, details=details)


def _tree(text: str) -> Node:
    try:
        return parsed(text)
    except NoSum:
        found = read_sum(text)
        if found is None:
            raise
        return found.tree


def _failed(error: CannotCalculate, read: str, code: str) -> StepResult:
    said = SAYS[code][error.why].format(**error.values)
    return StepResult(said, error=said, details={"sum": read})


def _which(note: str, code: str) -> str:
    listed = ", ".join(written(parsed(each), code) for each in note.split(" or ") if note)
    return SAYS[code]["which"].format(numbers=listed) if listed else SAYS[code]["none"]
