"""Recognises messages that are a sum and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from turnwise.english import NUMBER_WORD, number_of
from turnwise.sums.grammar import (
    FORMS,
    LIST_FORM,
    MAX_SUM_CHARS,
    Node,
    NoSum,
    Number,
    Operation,
    That,
    Tokens,
    nodes,
    normalize,
    parse_sum,
    unit_name,
)

_LEADING_WORDS = re.compile(
    r"\A(?:(?:so|and|then|now|ok|okay|but|please|hey|also|can you|could you|und|dann|et|alors|y|e|entonces|então|"
    r"那|那么|では|じゃあ|what about|how about|was ist mit)\b[ ,]*|请|請)+",
    re.I,
)
_QUESTION_START = re.compile(
    r"(?P<sure>(?:how much (?:is|are|does)|calculate|compute|work out|evaluate|solve|convert|"
    r"wie ?viele? (?:ist|sind|macht|ergibt)|berechne|rechne|rechne aus|"
    r"combien (?:font|fait|est)|calcule[rz]?|quel est le résultat de|convertis|"
    r"cu[aá]nto (?:es|son|da)|calcula|convierte|quanto (?:é|são|dá)|calcule|converta) |"
    r"(?:计算|計算して|算一下|計算) ?)|"
    r"(?:what(?:['’]s| is| are| do you get for)|what(?= (?:percent|per cent|%))|was (?:ist|sind|macht|ergibt)|"
    r"wie ?viel(?= prozent)|qu(?:el|e) est|(?:qué|cuál) es|qual é|o que é|is(?= [^=]*\d\s?=)) ",
    re.I,
)
_TRAILING_WORDS = re.compile(
    r"(?: (?:equal|equals|make|please|in total|bitte|exactly|zusammen|then|instead))+$"
    r"|(?:等于|等於|是)(?:多少|几|幾|什么)?$|(?:は|って)?(?:いくつ|いくら|何|なに)?(?:ですか|になりますか|でしょうか)?$",
    re.I,
)
_CLAIMED_RESULT = re.compile(r"(?<=[\d)%!])\s?=\s?-?\d[\d.,]*$")  # the claimed result in "2 + 2 = 5?"
_SEVERAL = (  # "two", but not "one"
    rf"(?P<number>\d{{1,2}}(?!\d)|\d{{1,9}}(?= of us| [a-z])|(?!one\b){NUMBER_WORD})(?: of us)?"
)
_COUNTED = (
    r"(?:people|persons|adults?|children|kids|students?|guests?|visitors?|members?|seniors?|friends|tickets?|"
    r"pieces|nights?|days?|hours?|weeks?|months?|years?)"
)
_FOR_SEVERAL = re.compile(  # "what is that for 4 people?"
    rf"(?:what(?:['’]s| is| would)|how much (?:is|would|does|will)) that (?:be |cost |make |come to )?"
    rf"for (?:the |all )?{_SEVERAL}(?: {_COUNTED})?\W*",
    re.I,
)
FOR_SEVERAL = re.compile(  # "for 4 people?", "how much is it for 3 hours?", "and 6 hours?", only after a price
    r"(?:(?:(?:so|and|what about|how about),? )?(?:how much (?:(?:is|would|does|will) (?:it|that) (?:be |cost )?)?)?"
    rf"for (?:the |all )?|(?:and|(?:and )?(?:what|how) about) ){_SEVERAL}"
    rf" (?:{_COUNTED}|(?P<thing>[a-z][\w-]{{2,}}s))\W*",
    re.I,
)
PER_PERIOD = re.compile(  # "and how much is that a year?", only after a price
    r"(?:(?:so|and|then),? )?(?:what(?:['’]s| is| would)|how much (?:is|would|does|will)) (?:that|it|this) "
    r"(?:be |cost |make |come to )?(?:an?|per|each|every) (day|week|month|year)\W*",
    re.I,
)
_ALL_OF_IT = r"(?:(?:all )?together|altogether|in total|in all|combined|for (?:both|all)(?: of (?:them|these|those))?)"
TOGETHER = re.compile(  # "how much is that together?", "and in total?", only after prices
    rf"(?:(?:so|and|then|ok|okay),? )?(?:{_ALL_OF_IT}"
    r"|(?:what(?:['’]s| is| are| would| does| do)|how much (?:is|are|would|does|do|will)) "
    r"(?:that|it|they|this|these|those|both|(?:all|both) of (?:them|these|those|it|that)|everything|all) "
    rf"(?:be |cost |make |come to )?{_ALL_OF_IT}"
    r"|(?:what(?:['’]s| is) )?the (?:total|sum)(?: (?:price|cost|of (?:that|them|these|those|both|all)))?"
    r"|what (?:does|do) (?:that|it|they|these|those) (?:all )?(?:add up|come|amount) to)\W*",
    re.I,
)
_PER_THING = re.compile(  # "how much is that per sachet?", "what is that each?"
    r"(?:(?:so|and|then),? )?(?:what(?:['’]s| is| would| does)|how much (?:is|would|does|will)) (?:that|it|this) "
    r"(?:be |cost |make |come to )?(?:(?:per|for each|for every) [\w-]+(?: [\w-]+)?|each|apiece)\W*",
    re.I,
)
_REMAINDER = re.compile(r"(\d+)(?: % |%)(\d+)")
_BY_ZERO = re.compile(r"\d+/0+")  # cannot be a date or a name
# The beginning of a message that continues from the last answer: "times 3", "in miles"
_CONTINUES = re.compile(
    r"[*/^]|\+ |(?:plus|minus|times|multiplied by|divided by|squared|cubed|to the power of|mal|geteilt durch|fois|"
    r"moins|divisé par|menos|más|mais|vezes|por|dividido (?:por|entre))\b|[乘加减減掛割足引]|除以|"
    r"(?:in|to|into|en|em) (?=\S)",
    re.I,
)
_PRICED = re.compile(
    r"[$€£¥]|\d ?%|\b(?:prices?|costs?|fees?|fares?|rent|charges?)\b|\d ?(?:euros?|dollars?|pounds?|cents?)\b", re.I
)
_WITH_UNIT = re.compile(r"\d ?([^\W\d_]{1,12}(?:/[a-z]{1,4})?)\b")


@dataclass(frozen=True, slots=True)
class Sum:
    """A message that is a sum. `bare`: it continues from the last answer without a "that" ("and times 3?"). `amount`:
    its "that" is an amount of something ("how much is that for 4 hours?"), and no number of things."""

    tree: Node
    bare: bool = False
    amount: bool = False

    @property
    def refers_back(self) -> bool:
        return any(isinstance(node, That) for node in nodes(self.tree))


@lru_cache(maxsize=1024)
def read_sum(message: str, code: str = "en") -> Sum | None:
    """Parse a message that is a sum and nothing else: "2 + 2", "what is 15 % of 80?", "3 miles to km", "double it".

    Returns None for a question that merely contains numbers, a date, a range of years, a version or a phone number."""
    if len(message) > MAX_SUM_CHARS:
        return None
    text = _LEADING_WORDS.sub("", normalize(message))
    if several := _FOR_SEVERAL.fullmatch(text):
        text = f"{number_of(several['number'])} times that"
    asked = _QUESTION_START.match(text)
    rest = _CLAIMED_RESULT.sub("", normalize(_TRAILING_WORDS.sub("", text[asked.end() :] if asked else text)))
    if remainder := _REMAINDER.fullmatch(rest):
        rest = f"{remainder[1]} mod {remainder[2]}"
    bare = (
        not asked and bool(_CONTINUES.match(rest)) and not re.fullmatch(r"\w+ [A-Z]", rest)
    )  # "in C" names a language
    try:
        tree = parse_sum(f"that {rest}" if bare else rest, code)
        sure = (asked and asked["sure"]) or _BY_ZERO.fullmatch(rest)
        tight = not sure and _only_tight(rest, code)
    except NoSum:
        return None
    return Sum(tree, bare, bool(several)) if not tight and _is_sum(tree, bool(asked)) else None


def scales(message: str) -> bool:
    """Whether a message only reckons with the amount of the last answer, and asks about nothing else: "how much is that
    a year?", "what is that for 4 people?", "how much is that per sachet?", "double it"."""
    text = message.strip()
    if PER_PERIOD.fullmatch(text) or TOGETHER.fullmatch(text) or _PER_THING.fullmatch(text):
        return True
    found = read_sum(text)
    return found is not None and found.refers_back


def states_amount(text: str) -> bool:
    """Whether a text has a price, or a number with a unit: "£1.50", "a fee of 12", "200 g", but not "80 spaces"."""
    return bool(_PRICED.search(text)) or any(unit_name(found[1]) for found in _WITH_UNIT.finditer(text))


def _only_tight(text: str, code: str) -> bool:
    """Whether its only signs are of the kind found in a date or a name: 24/7, 555-1234, 4x4."""
    if any(pattern.fullmatch(text) for pattern, _ in FORMS) or LIST_FORM.fullmatch(text):
        return False
    tokens = Tokens(text, code).tokens
    signs = [token for token in tokens if token.kind != "number"]
    units = any(token.number.unit for token in tokens if token.number)
    return bool(signs) and not units and all(token.tight for token in signs)


def _is_sum(tree: Node, asked: bool) -> bool:
    if not isinstance(tree, Operation) or not any(isinstance(node, Number) for node in nodes(tree)):
        return isinstance(tree, Operation) and tree.name == "to" and _known_unit(tree)
    if any(node.name == "to" and not _known_unit(node) for node in nodes(tree) if isinstance(node, Operation)):
        return False
    if tree.name in ("%", "neg") and not isinstance(tree.parts[0], Operation):
        return False
    if not asked and tree.name == "-" and all(isinstance(part, Number) for part in tree.parts):
        first, second = (part for part in tree.parts if isinstance(part, Number))
        years = all(1000 <= part.value < 2200 and part.value.denominator == 1 for part in (first, second))
        return not years and bool(first.unit) == bool(second.unit)
    return True


def _known_unit(tree: Operation) -> bool:
    """Whether at least one side of a conversion is a known unit."""
    units = [node.unit for node in nodes(tree) if isinstance(node, Number)]
    return bool(unit_name(tree.unit)) or any(unit_name(unit) for unit in units if unit)
