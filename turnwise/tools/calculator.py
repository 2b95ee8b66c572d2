"""The calculator: exact sums, percentages and unit conversions, also with a number from the last answer. No `eval`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from turnwise.english import MONTHS, number_of
from turnwise.sums.grammar import (
    CURRENCIES,
    MAX_SUM_CHARS,
    Node,
    NoSum,
    Number,
    Operation,
    That,
    nodes,
    parse_sum,
    unit_name,
)
from turnwise.sums.read import FOR_SEVERAL, PER_PERIOD, TOGETHER, Sum, read_sum
from turnwise.text import content_stems, one_line, sentences, without_citations, words
from turnwise.tools.values import CannotCalculate, evaluate, symbol
from turnwise.tools.writing import (
    MAX_WRITTEN_DIGITS,
    TEXTS,
    format_result,
    format_sum,
    is_rounded,
    places_of,
    result_sentence,
)
from turnwise.types import Message, StepResult

MAX_CHAINED_SUMS = 20  # "times 3", "and halve it": how many earlier sums one may build on
MAX_OFFERED_NUMBERS = 5  # when we ask which number is meant
MAX_CHOICE_WORDS = 4  # in a reply to that question
MAX_ANSWER_CHARS = 4000  # searched for numbers

Language = Callable[[str, Iterable[str]], str]
_NUMBER_OR_LETTER = re.compile(r"\b[^\W\d_]\b|\d[A-Za-z\d]*")  # numbers and units say nothing about the language


class Calculator:
    """A tool for sums. `language` detects the language of a message, because 0,5 and 0.5 depend on it; without it every
    message is read as English."""

    name = "calculator"
    about = "Works out a sum, a percentage or a conversion of units exactly, such as 15 % of 80 or 3 miles in km."

    def __init__(self, language: Language | None = None) -> None:
        self._language = language

    async def read(self, question: str, history: Sequence[Message]) -> str:
        """Return the sum a message asks for, with numbers from the conversation filled in, or "" if there is none.

        After it, separated by semicolons: what a number was taken from, and the language if it is not English."""
        return await asyncio.to_thread(self._read, question, history)

    async def run(self, given: str) -> StepResult:
        return await asyncio.to_thread(calculate, given)

    def _read(self, question: str, history: Sequence[Message]) -> str:
        try:
            found = self._sum(question, history, MAX_CHAINED_SUMS)
        except CannotCalculate:  # it builds on a sum without a result, as the user already knows
            return ""
        if found is None:
            return ""
        tree, note = found
        code = self._code(question, history)
        return "; ".join(filter(None, (format_sum(tree), note, code if code in TEXTS and code != "en" else "")))

    def _code(self, question: str, history: Sequence[Message]) -> str:
        earlier = (each.content for each in reversed(history) if each.role == "user")
        return self._language(_NUMBER_OR_LETTER.sub(" ", question), earlier) if self._language else "en"

    def _sum(self, question: str, history: Sequence[Message], left: int) -> tuple[Node, str] | None:
        """The sum of a message with every "that" replaced, and what the number was taken from."""
        code = self._code(question, history)
        found = read_sum(question, code)
        if found is None:
            scaled = _per_period(question, history) or _for_several(question, history) or _together(question, history)
            return scaled or (self._with_choice(question, history, left) if left else None)
        if found.amount and (scaled := _for_several(question, history)):  # at so much an hour
            return scaled
        return self._with_that(found, question, history, left) if found.refers_back else (found.tree, "")

    def _with_that(self, found: Sum, question: str, history: Sequence[Message], left: int) -> tuple[Node, str] | None:
        before, answer = _last_exchange_with_number(history)
        if answer is None:
            return None if found.bare else (found.tree, "")
        earlier = self._sum(history[before].content, history[:before], left - 1) if before >= 0 and left else None
        if earlier is not None and not any(isinstance(node, That) for node in nodes(earlier[0])):
            return _substitute(found.tree, _result_node(earlier[0])), ""
        candidates = _worked_out(history[answer].content) or numbers_in(
            history[answer].content, self._code("", history)
        )
        if found.amount:
            asked = history[before].content if before >= 0 else ""
            candidates = _amounts_for(question, asked, candidates)
            about = _most_about(asked, [stated for _, stated in candidates])
            candidates = [each for each in candidates if each[1] in about]
        if not candidates and (found.amount or _DIFFERENCE.search(history[answer].content)):
            return None
        if isinstance(found.tree, Operation) and found.tree.name == "to":
            candidates = [each for each in candidates if _converts(found.tree, each[0])]
            if not candidates:
                return None
        main = [each for each in candidates if each[1] == candidates[0][1]]
        chosen = candidates if len(candidates) == 1 else main if len(main) == 1 and not found.amount else []
        if before >= 0 and _ABOUT_MONEY.search(history[before].content[:MAX_ANSWER_CHARS]):
            prices = [each for each in candidates if _is_price(*each)]
            chosen = prices if len(prices) == 1 else chosen
        if chosen:
            number, stated = chosen[0]
            return _substitute(found.tree, number), _noted(stated)
        if found.bare and not candidates:
            return None
        return found.tree, _offered([number for number, _ in candidates])

    def _with_choice(self, question: str, history: Sequence[Message], left: int) -> tuple[Node, str] | None:
        """The last sum, completed with the number the user picks after we asked which one is meant."""
        before, answer = _last_exchange_with_number(history)
        if (
            before < 0
            or answer is None
            or "?" in question
            or len(words(question[:MAX_ANSWER_CHARS])) > MAX_CHOICE_WORDS
        ):
            return None
        named = numbers_in(question, self._code(question, history))
        if len(named) != 1:
            return None
        last = self._sum(history[before].content, history[:before], left - 1)
        if last is None or not any(isinstance(node, That) for node in nodes(last[0])):
            return None
        return _substitute(last[0], named[0][0]), ""


def _per_period(question: str, history: Sequence[Message]) -> tuple[Node, str] | None:
    """The last answer's rate for another period: "and how much is that a year?" after 940 euros a month."""
    asked = PER_PERIOD.fullmatch(question.strip())
    before, answer = _last_exchange_with_number(history) if asked else (-1, None)
    if asked is None or answer is None:
        return None
    stated_numbers = numbers_in(history[answer].content)
    told = list(dict.fromkeys(stated for _, stated in stated_numbers))
    rates = {each: _rates_told(each, stated_numbers, asked[1]) for each in told}
    if not told or len(rates[told[0]]) != 1:
        return None
    about = _most_about(history[before].content if before >= 0 else "", [each for each in told if rates[each]])
    meant = [rates[each][0] for each in about]
    number, stated, factor = meant[0]
    if len({each[2] for each in meant}) > 1 or any(len(rates[each]) > 1 for each in about):
        return None
    tree = Operation("*" if factor > 1 else "/", (That(), Number(max(factor, 1 / factor))))
    if len(meant) > 1:
        return tree, _offered([each[0] for each in meant])
    return _substitute(tree, number), _noted(stated)


def _rates_told(
    told: str, stated_numbers: Sequence[tuple[Node, str]], period: str
) -> list[tuple[Number, str, Fraction]]:
    """The rates of a sentence; if several, those of its parts: "Monthly fee £22, Joining fee £10"."""
    rates = _rates([each for each in stated_numbers if each[1] == told], period)
    if len(rates) < 2:
        return rates
    return [rate for part in re.split("[,;] ", told) for rate in _rates(numbers_in(part), period)]


def _most_about(question: str, told: Sequence[str]) -> list[str]:
    """The sentences that share the most words with the question that they answer."""
    asked = content_stems(question)
    shared = [len(content_stems(each) & asked) for each in told]
    return [each for each, count in zip(told, shared, strict=True) if count == max(shared, default=0)]


def _rates(stated_numbers: Sequence[tuple[Node, str]], period: str) -> list[tuple[Number, str, Fraction]]:
    """The numbers that are rates, each with the factor to this period; only the prices if there are any."""
    rates = [
        (number, stated, factor)
        for number, stated in stated_numbers
        if isinstance(number, Number)
        and (found := _PERIOD.search(stated))
        and (factor := _PERIOD_FACTORS.get(((found[1] or found[2]).lower(), period.lower())))
    ]
    return [each for each in rates if _is_price(each[0], each[1])] or rates


def _for_several(question: str, history: Sequence[Message]) -> tuple[Node, str] | None:
    """The price in the last answer, multiplied: "for 4 people?", "how much for 3 days?" at so much a day."""
    asked = FOR_SEVERAL.fullmatch(question.strip())
    before, answer = _last_exchange_with_number(_before_several(asked[0], history)) if asked else (-1, None)
    if asked is None or answer is None or before < 0:
        return None
    if not any(_ABOUT_MONEY.search(text[:MAX_ANSWER_CHARS]) for text in (question, history[before].content)):
        return None
    prices = [each for each in numbers_in(history[answer].content) if _is_price(*each)]
    time = _TIME.search(question)
    if time:
        prices = [each for each in prices if _is_rate(each[0], each[1], time[1].lower())]
    if asked["thing"]:
        prices = [each for each in prices if _is_of_one(asked["thing"], each[1])]
    people = _PEOPLE.search(question) and _FOR.search(question)
    if len(prices) != 1 or not (time or people or asked["thing"]) or _PRICE_GROUP.search(prices[0][1]):
        return None
    number, stated = prices[0]
    tree = Operation("*", (Number(Fraction(number_of(asked["number"]))), number))
    return tree, _noted(stated)


def _together(question: str, history: Sequence[Message]) -> tuple[Node, str] | None:
    """The sum of the prices in the last answer, or of the one price in each answer to "how much is A?", "and B?"."""
    if not TOGETHER.fullmatch(question.strip()):
        return None
    told: list[Number] = []
    for place in range(len(history) - 1, max(0, len(history) - 2 * MAX_CHAINED_SUMS), -2):
        asked, answer = history[place - 1], history[place]
        if _WHICH.match(asked.content) and place - 2 > 0:  # "which of these is cheaper?" tells none of them anew
            continue
        prices = _prices_only(answer.content) if (asked.role, answer.role) == ("user", "assistant") else []
        if not prices or (told and len(prices) > 1):
            return None
        told = [*prices, *told]
        if len(prices) > 1 or not _AND_ANOTHER.match(asked.content):
            break
    if len(told) < 2 or len({each.unit for each in told}) > 1:
        return None
    tree: Node = told[0]
    for each in told[1:]:
        tree = Operation("+", (tree, each))
    return tree, ""


def _prices_only(answer: str) -> list[Number]:
    """The prices of an answer that has no other numbers, one in each sentence or row; [] for any other answer."""
    prices: list[Number] = []
    for stated in sentences(without_citations(answer[:MAX_ANSWER_CHARS])):
        numbers = numbers_in(stated)
        only = [number for number, _ in numbers if isinstance(number, Number) and _is_price(number, stated)]
        if len(numbers) > 1 or len(only) != len(numbers) or _RATE.search(stated) or _DEPENDS.search(stated):
            return []
        prices += only
    return prices


def _is_of_one(things: str, stated: str) -> bool:
    """Whether a sentence names one of these things, and so tells its price: "Film: 50p", but not "10 films: £4"."""
    return bool(re.search(rf"\b{re.escape(things.removesuffix('s'))}\b", stated, re.I))


def _before_several(message: str, history: Sequence[Message]) -> Sequence[Message]:
    """The messages before those that multiply a price alike: after "for 3 hours?", "for 6 hours?" is of the same."""
    end, noun = len(history), words(message)[-1].rstrip("s")
    while end > 2 and history[end - 2].role == "user":
        earlier = FOR_SEVERAL.fullmatch(history[end - 2].content.strip())
        if not earlier or words(earlier[0])[-1].rstrip("s") != noun:
            break
        end -= 2
    return history[:end]


def _amounts_for(question: str, asked_before: str, candidates: Sequence[tuple[Node, str]]) -> list[tuple[Node, str]]:
    """The numbers that can be multiplied for several people or hours: the prices if there are any and money was asked
    for, but none of another period, or else prices and amounts of something, but no counts, ages or times."""
    prices, time = [each for each in candidates if _is_price(*each)], _TIME.search(question)
    if time and prices:
        rates = {period: [each for each in prices if _is_rate(*each, period)] for period in _PERIODS}
        return rates[time[1].lower()] or ([] if any(rates.values()) else prices)
    if prices and any(_ABOUT_MONEY.search(text[:MAX_ANSWER_CHARS]) for text in (question, asked_before)):
        return prices
    return [each for each in candidates if each in prices or (_has_unit(each[0]) and not _is_time(each[0]))]


def _offered(numbers: Sequence[Node]) -> str:
    """The numbers of which one is meant, as `Calculator.read` notes them."""
    return " or ".join(map(format_sum, numbers[:MAX_OFFERED_NUMBERS]))


def _noted(stated: str) -> str:
    """The sentence that a number was taken from, as `Calculator.read` notes it."""
    return f"“{one_line(stated, 100).replace(';', ',')}”"


def _is_price(number: Node, stated: str) -> bool:
    """Whether a number in a sentence is an amount of money, judged by its unit or its field name."""
    if not isinstance(number, Number):
        return False
    field = rf"\b(?:price|cost|fee|fare|premium|rent|charge)s?\b(?:[^:;]{{0,20}}:)? ?{_as_written(number)}\b"
    return number.unit in CURRENCIES or bool(re.search(field, stated, re.I))


def _has_unit(number: Node) -> bool:
    return isinstance(number, Number) and bool(number.unit)


def _is_rate(number: Node, stated: str, period: str) -> bool:
    """Whether a sentence has a number as the price of one such period: "€45 per day", "Price per day: €45"."""
    if not isinstance(number, Number):
        return False
    written = rf"(?<![\d.,]){_as_written(number)}"
    rate = rf"{written}[^\d,;.]{{0,10}}? ?(?:\b(?:per|an?|each|for an? (?:whole|full))|/) ?{period}\b"
    field = rf"\b(?:per|an?|each) {period}\b(?:: [a-z]+)?:? ?[$€£¥]? ?{written}"
    return bool(re.search(f"{rate}|{field}", stated, re.I))


def _is_time(number: Node) -> bool:
    return isinstance(number, Number) and bool(_TIME_UNIT.fullmatch(number.unit))


def _as_written(number: Number) -> str:
    """A pattern for a number without its unit, perhaps with zeros at its end: 13.4 is written 13.40. £0.50 may be
    written 50p."""
    amount = re.escape(format_sum(replace(number, unit="")))
    amount += "0*" if "." in amount else r"(?:\.0+)?"
    pence = number.unit == "£" and number.value < 1
    return f"(?:{amount}|{format_sum(Number(100 * number.value))}(?= ?p))" if pence else amount


def _converts(tree: Operation, number: Node) -> bool:
    """Whether a conversion of "that" fits a number with its unit."""
    if not isinstance(number, Number) or not number.unit:
        return False
    try:
        evaluate(_substitute(tree, number))
    except CannotCalculate:
        return False
    return True


def _last_exchange_with_number(history: Sequence[Message]) -> tuple[int, int | None]:
    """Return the position of the user message (-1 if missing) and of the last answer that contains a number.

    Looks at the last three answers, so that a "thanks" in between does not matter."""
    answers = [place for place in range(len(history)) if history[place].role == "assistant"][-3:]
    with_number = [place for place in answers if re.search(r"\d", without_citations(history[place].content))]
    answer = (with_number or answers)[-1] if answers else None
    if answer is None:
        return -1, None
    return answer - 1 if answer and history[answer - 1].role == "user" else -1, answer


def _result_node(tree: Node) -> Node:
    """What the next sum builds on: the result if it can be written exactly, else the sum itself."""
    value = evaluate(tree)
    sign = symbol(value.unit) if value.unit is not None else value.sign
    short = places_of(value.amount) is not None and abs(value.amount) < 10**MAX_WRITTEN_DIGITS
    if not (value.exact and short) or (value.unit is not None and not unit_name(sign)):
        return tree.parts[0] if isinstance(tree, Operation) and tree.name == "to" else tree
    number = Number(value.amount, "" if sign == "%" else sign)
    return Operation("%", (number,)) if sign == "%" else number


def _substitute(tree: Node, number: Node) -> Node:
    """Replace each "that" in the tree with a number; twice 80 % is 160 %."""
    if isinstance(tree, That):
        return number
    if isinstance(tree, Operation):
        scaled = tree.name in ("*", "/") and isinstance(tree.parts[0], That) and isinstance(tree.parts[1], Number)
        if scaled and isinstance(number, Operation) and number.name == "%":
            return Operation("%", (Operation(tree.name, (number.parts[0], tree.parts[1])),))
        return Operation(tree.name, tuple(_substitute(part, number) for part in tree.parts), tree.unit)
    return tree


# --- numbers in an answer -----------------------------------------------------------------------------------------

_NUMBER_IN_TEXT = re.compile(
    r"(?<![\w.,/-])(?P<before>[$€£¥]\s?)?"
    r"(?P<number>\d{1,3}(?:[,. \u202f\xa0]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
    r"(?P<after>\s?(?:%|[€$£¥]|°[CF]|[A-Za-zÀ-ÿ]+(?: cent\b| celsius\b| fahrenheit\b)?(?:/[a-z]+)?|[\u4e00-\u9fff]))?"
    r"(?![\w/]|-\w|[.,]\d)"
)
# Our own wording around a quoted question or source, or before rows: the numbers in it are not part of the answer.
_QUOTED_BY_US = re.compile(
    r"\AAs I said: |^(?:\w+ of (?:the|these)|All) \d+(?: found)?(?=[,:])|\(from “[^”]{0,400}”\)"
    r"|(?:do not answer|no answer to|is about) “[^”]{0,400}”",
    re.M,
)
_ASIDE = re.compile(r" ?\([^()]{0,200}\)")
_AGE_COLUMN = re.compile(r"\bunder \d{1,2}(?= ?[$€£¥])", re.I)  # "Under 18 £7"
_AND_ANOTHER = re.compile(r"\s*(?:and|(?:and )?(?:what|how) about|what of)\b", re.I)
_WHICH = re.compile(r"\s*(?:(?:and|so),? )?which\b", re.I)
_DEPENDS = re.compile(
    r"\b(?:or|from|up to|at (?:least|most)|about|only if|discount|instead)\b|[×=]", re.I
)  # no fixed price
_DIFFERENCE = re.compile(r" (?:cheaper|less|more|off|extra)\b", re.I)  # "£1 cheaper" is no price
_CURRENCY_FIELD = re.compile(r"[_ (](eur|usd|gbp)\)?: ?$", re.I)  # "price_eur: "
_ITEM = re.compile(r"^\s*\d{1,3}[.)]\s", re.M)
_WORKED_OUT = re.compile(r"\d+ × \S[^=?!]* is (\S+(?: \w+)?)\.")
_ABOUT_MONEY = re.compile(
    r"\b(?:costs?|prices?|pays?|paid|fees?|fines?|charg\w+|fares?|rent|budget|deposit|how much|worth)\b", re.I
)
_PEOPLE = re.compile(r"\b(?:people|persons|guests?|visitors?|friends|tickets?|pieces|of us)\b", re.I)
_FOR = re.compile(r"\bfor\b", re.I)
_PERIODS = ("hour", "night", "day", "week", "month", "year")
_RATE = re.compile(rf"(?:\b(?:an?|per|each|every)|/) ?(?:{'|'.join(_PERIODS)})\b|\b(?:week|month|year)ly\b", re.I)
_TIME = re.compile(rf"\b({'|'.join(_PERIODS)})s?\W*$", re.I)
_TIME_UNIT = re.compile(rf"(?:{'|'.join(_PERIODS)}|second|minute|sec|min|h|hr)s?", re.I)
_PRICE_GROUP = re.compile(r"\b(?:adults?|child(?:ren)?|kids|students?|seniors?|groups?|famil(?:y|ies)|deposit)\b", re.I)
_PERIOD = re.compile(
    r"(?:\b(?:an?|per|each|every) |/ ?)(day|week|month|quarter|year)\b|\b(week|month|quarter|year)ly\b", re.I
)
_PERIOD_FACTORS = {  # from one period to another
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
    rf"(?:{'|'.join(MONTHS).title()})"
    r"(?: \d{1,2},)?(?: \d{4})?)\b"
)


def _worked_out(text: str) -> list[tuple[Node, str]]:
    """The result of a sum at the end of an answer, "2 × £8 is £16.", with that sentence; [] if there is none."""
    last = sentences(without_citations(text[-MAX_SUM_CHARS:]))[-1:]
    found = _WORKED_OUT.fullmatch(last[0]) if last else None
    try:
        return [(parse_sum(found[1]), last[0])] if found else []
    except NoSum:
        return []


def numbers_in(text: str, code: str = "en") -> list[tuple[Node, str]]:
    """Return the distinct numbers in a text, each with its unit and the sentence it is in.

    Years count only if there is nothing else. Citations, dates, list numbering and numbers in names are skipped."""
    found: dict[str, tuple[Node, str]] = {}
    years: dict[str, tuple[Node, str]] = {}
    plain = _ITEM.sub("", _QUOTED_BY_US.sub(" ", without_citations(text[:MAX_ANSWER_CHARS])))
    aside = _ASIDE.sub("", plain)
    plain = aside if re.search(r"\d", aside) else plain  # skip asides in brackets if there is a number outside them
    for stated in sentences(plain):
        ages = {age.end() for age in _AGE_COLUMN.finditer(stated)}
        dates = [date.span() for date in _DATE.finditer(stated)]
        for each in _NUMBER_IN_TEXT.finditer(stated):
            start, end = each.span("number")
            if end in ages or any(start < last and first < end for first, last in dates):
                continue
            if each["before"] and _DIFFERENCE.match(stated, each.end("number")):
                continue
            before, amount, after = each["before"] or "", each["number"], each["after"] or ""
            if not before and (field := _CURRENCY_FIELD.search(stated, 0, each.start())):
                before, after = CURRENCIES[field[1].lower()], ""
            if after.strip().lower() in ("pound", "pounds") and _ABOUT_MONEY.search(stated):
                before, after = "£", ""
            for spelled in (before + amount + after, before + amount, amount):
                try:
                    tree = parse_sum(spelled, code)
                except NoSum:
                    continue
                year = re.fullmatch(r"(?:1[5-9]|20)\d\d", amount) and isinstance(tree, Number) and not tree.unit
                (years if year else found).setdefault(format_sum(tree), (tree, stated))
                break
    return list((found or years).values())


# --- calculating --------------------------------------------------------------------------------------------------


def calculate(text: str) -> StepResult:
    """Work out a sum as written by `Calculator.read` or by a language model."""
    first, *notes = (part.strip() for part in text[:2000].split(";"))
    code = notes.pop() if notes and notes[-1] in TEXTS else "en"
    note = notes[0] if notes else ""
    try:
        tree = _parse_any(first)
        if any(isinstance(node, That) for node in nodes(tree)):
            return StepResult(_which_number(note, code), details={"sum": first})
        value = evaluate(tree)
        sentence = result_sentence(tree, value, code)
    except NoSum:
        error = CannotCalculate("unread", sum=one_line(first, 60))
        return _failure(error, first, code)
    except CannotCalculate as error:
        return _failure(error, first, code)
    details = {"sum": first, "result": format_result(tree, value, "en"), "exact": not is_rounded(value)}
    if note:
        return StepResult(f"{sentence} ({TEXTS[code]['from'].format(note=note)})", details={**details, "from": note})
    return StepResult(sentence, details=details)


def _parse_any(text: str) -> Node:
    try:
        return parse_sum(text)
    except NoSum:
        found = read_sum(text)
        if found is None:
            raise
        return found.tree


def _failure(error: CannotCalculate, sum_text: str, code: str) -> StepResult:
    message = TEXTS[code][error.why].format(**error.values)
    return StepResult(message, error=message, details={"sum": sum_text})


def _which_number(note: str, code: str) -> str:
    choices = [format_sum(parse_sum(each), code) for each in note.split(" or ") if note]
    if not choices:
        return TEXTS[code]["none"]
    *first, last = choices
    listed = f"{', '.join(first)} {TEXTS[code]['or']} {last}" if first else last
    return TEXTS[code]["which"].format(numbers=listed)
