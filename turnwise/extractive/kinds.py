"""Kinds of questions: for an amount, a time, a person or a place, and the patterns of sentences that answer them."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from turnwise.dialogue.apart import RIVAL_WORD, rivals
from turnwise.dialogue.irregular import base_stems
from turnwise.english import NUMBER_WORD
from turnwise.extractive.statements import Candidate, asked_stems, line_above, stems_of
from turnwise.text import IN_BRACKETS, content_stems, stem, words

MAX_QUESTION_CHARS = 1000  # that are searched for the kind of question

_CURRENCY = r"[$€£¥₹]|euros?\b|dollars?\b|pounds?\b|francs?\b|crowns?\b|krone[nr]?\b|eur\b|usd\b|gbp\b|chf\b"
_SPELLED_AMOUNT = (
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|"
    r"(?:thir|four|fif|six|seven|eigh|nine)teen|(?:thir|for|fif|six|seven|eigh|nine)ty|hundreds?|thousands?|"
    r"millions?|billions?|dozens?|half|third|quarter|once|twice|none|nothing|free|every|daily|weekly|monthly|yearly|"
    r"annual\w*|hourly)\b"
)
_AMOUNT = re.compile(rf"\d|{_SPELLED_AMOUNT}", re.I)
_PRICE = re.compile(  # a number that is not just a year, such as 1934
    rf"(?<=[$€£¥₹])\d|(?<=[$€£¥₹] )\d|\b(?!(?:1[5-9]|20)\d\d\b(?! ?(?:{_CURRENCY})))\d|{_SPELLED_AMOUNT}", re.I
)
_MOMENT = (
    r"\b(?:january|february|march|april|(?-i:May)|june|july|august|september|october|november|december|weekends?|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|spring|summer|autumn|winter|century|mornings?|afternoons?|evenings?|"
    r"nights?|noon|midnight|dawn|dusk|sunrise|sunset|today|tomorrow|always|before|after|when|while|until|once|during|"
    r"every|daily|weekly|immediately|(?:straight|right) away|at once)\b"
)
_TIME = re.compile(rf"\d|{_MOMENT}|\b(?:years?|months?|weeks?|days?|hours?|annual\w*)\b", re.I)
_MOMENTS = re.compile(rf"{_MOMENT}|\b[12]\d{{3}}\b|\d[:.]\d\d|\d ?(?:[ap]\.?m|st|nd|rd|th)\b", re.I)  # no "three days"
_NAME = re.compile(
    r"(?<=\w )[A-Z]|^(?!(?:An?|The|It|They|This|That|These|Those|In|On|At|For|If|When|Some|Many|Most|All|There)\b)[A-Z]"
    r"|\b(?:people|person|men|women|students?|pupils?|staff|\w+ers?|\w+ors?)\b"
)
_PLACE = re.compile(  # where something is; not when, and not "at its heart"
    r"\b(?:in|at|on|near|under|behind|beside|opposite|inside|outside|between|among|along|next to) (?!(?:the )?(?:its|"
    r"their|his|her|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:jan|febr)uary|march|april|may|june|july|august|\w+ember|october|"
    r"\d|spring|summer|autumn|winter|morning|evening|end|start|beginning|year|advance|general|writing|time|order|case|full|"
    r"total|fact|addition|average)\b)\w|\b(?:rooms? \w?\d|located|address|online|upstairs|downstairs)\b"
    r"|\b(?:place|location|venue|room|office|hall|building|floor|street|town|city):? (?-i:[A-Z\d])",  # in a table row
    re.I,
)
_HOURS = re.compile(
    r"\d[:.]\d\d|\d ?[ap]\.?m\b|\d ?(?:to|–|-) ?\d|\b(?:noon|midnight|closed|daily|hours|\w*days?)\b", re.I
)
_SPAN = re.compile(r"\d(?:[:.]\d\d)?(?: ?[ap]\.?m\.?)? ?(?:to|until|till|–|-) ?\d", re.I)
_MONEY = re.compile(
    r"[$€£¥₹]|\b(?:euros?|dollars?|pounds?|francs?|crowns?|krone[nr]?|cents?|eur|usd|gbp|chf|free|"
    r"(?:price|cost|fee|charge|fare|rate)s?)\b",
    re.I,
)
# Words that ask for a price, and for any amount or time. They do not say of what.
PRICE_WORDS = base_stems(content_stems("cost price fee charge fare pay expensive"))
OPENING_WORDS = base_stems(content_stems("open opening close closing hours time times"))
MEASURE_WORDS = PRICE_WORDS | base_stems(
    content_stems("open opening close closing hours times last take start end leave")
)
_AMOUNT_WORDS = PRICE_WORDS | base_stems(
    content_stems("long often far last take hours times late early soon whole entire thing")
)
_BRINGS = r"(?:can|may|could) (?:i|we|he|she|they|(?:my|our|the|an?) \w+)"
ASIDE = re.compile(r" \([^()]*\)(?=\W*$)")  # what a question was completed with, in brackets at its end
_FREQUENCY = re.compile(
    r"\b(?:every|each|per|once|twice|always|never|regularly|daily|weekly|monthly|quarterly|yearly|annual\w*|hourly|nightly)\b"
    r"|\btimes? an? ",
    re.I,
)
_UNTIL = r"\b(?:until|as long as|overnight|all (?:day|night|year)|forever|permanent\w*|indefinite\w*)\b"
_DURATION = re.compile(  # "25 minutes", "half an hour", "two weeks", but not "every two months" or "twice a year"
    rf"(?<!every )(?<!each )(?:\d|\b(?:an?|few|several|some|half|couple of|{NUMBER_WORD}|\w+ty|\w+teen)\b)"
    r"(?<!once a)(?<!twice a)(?<!times a)(?<!once an)(?<!twice an)(?<!times an)[ -]?(?:\w+[ -]){0,2}?"
    r"(?:s|sec|secs|seconds?|min|mins|minutes?|h|hrs?|hours?|days?|nights?|weeks?|fortnights?|months?|terms?|semesters?|years?|"
    rf"decades?|centur(?:y|ies))\b|{_UNTIL}",
    re.I,
)
_HOW_LONG = re.compile(r"\bhow long (?:do|does|did|will|would|must|should|can|could|may)\b", re.I)
_WHAT = rf"^(?!.*\b(?:how (?:do|does|can|to)|why|when|where|{_BRINGS})\b).*"  # which one, not how to use it


@dataclass(frozen=True, slots=True, eq=False)  # not compared by their patterns, whose hashes take long
class Kind:
    """A pattern for a kind of question, and one for the sentences that answer it."""

    asks: re.Pattern[str]
    answers: re.Pattern[str]


QUANTITIES = (
    Kind(
        re.compile(
            r"\bwhat (?:do|does|did|will|would)\b.*\b(?<!the )(?<!a )(?:cost|charge)\b(?! functions?)|\bexpensive\b"
            r"|\b(?:price|cost|fee|fare)s? (?:of|for)\b"
            r"|^(?!(?:\w+ )?(?:why|who|when|where|how (?!much))\b).*\bthe (?:\w+ ){0,2}(?:price|cost|fee|fare)s?\W*$"
            r"|^(?:(?!what|who|why|explain|define|describe|tell|is|are)[\w-]+ ){0,2}(?:price|cost|fee|fare)s?\W*$",
            re.I,
        ),
        _PRICE,
    ),
    Kind(re.compile(r"\b(?:opening|closing|visiting|office) (?:hours|times?)\b", re.I), _HOURS),
    Kind(re.compile(r"\bhow (?:many|much|old|far|often|tall|big|high|large|fast|deep|wide|heavy)\b", re.I), _AMOUNT),
    Kind(re.compile(r"\bhow long\b", re.I), re.compile(rf"{_AMOUNT.pattern}|{_UNTIL}", re.I)),
    Kind(re.compile(r"\bhow (?:often|frequently)\b", re.I), _FREQUENCY),
    Kind(_HOW_LONG, _DURATION),
    Kind(
        re.compile(
            r"^(?:\W*\w+,? ){0,2}when\b|\b(?:what|which) (?:year|date|day|month|times?)\b|\bhow (?:late|early|soon)\b",
            re.I,
        ),
        _TIME,
    ),
    Kind(re.compile(rf"{_WHAT}\be-?mail(?: address(?:es)?)?(?: (?:of|for|to)\b.*)?\W*$", re.I), re.compile("@")),
    Kind(
        re.compile(
            rf"{_WHAT}\b(?:(?:tele)?phone|mobile|fax)(?: numbers?)?(?: (?:of|for|to)\b.*)?\W*$"
            r"|\b(?:what|which) number (?:do|can|should|must) (?:i|we) (?:call|ring|dial|phone)",
            re.I,
        ),
        re.compile(r"\d[\d ()/-]{4,}\d|\b(?:999|112|911|111)\b|\bext\w*\.? ?\d", re.I),
    ),
    Kind(
        re.compile(r"\bby how (?:much|many)\b", re.I),
        re.compile(
            rf"\bby (?:\w+ ){{0,2}}?(?:\d|{_SPELLED_AMOUNT})|%|\bpercent\b"
            rf"|(?:\d|{_SPELLED_AMOUNT})\S*(?: \w+){{0,2}}? (?:more|less|fewer|\w+er)\b",
            re.I,
        ),
    ),
)
_MODEL = re.compile(r"\b([a-z][\w-]*) ([a-z]{0,3}\d[a-z\d.]*[a-z\d]|\d)\b")  # "Kettle 300", "the s2"
_DIGIT = re.compile(r"\d")
_ONE_OF = re.compile(rf"{RIVAL_WORD.pattern} ([a-z]{{3,}})", re.I)  # with the noun it describes
Kinds = tuple[Kind, ...]
# Of two sentences with a time, "when is the fair?" prefers "in June" to "for three days".
_WHEN_IS = re.compile(r"^(?:and |so )?when(?:['’]s| is| are| was| were) [\w’'-]+(?: [\w’'-]+){0,5}\W*$", re.I)
_WHICH_VERSION = re.compile(r"\b(?:which|what) (?:version|release)\b", re.I)
_LATEST = re.compile(
    r"\b(?:the |your )?(?:latest|newest|most recent|last|current) (?:version|release|update)\b"
    r"|\b(?:the )?(?:latest|newest)(?= [A-Z]\w+\W*$)",
)
_VERSION_NUMBER = re.compile(r"\d+(?:\.\d+)+")
_IN_VERSION = re.compile(  # "what's new in 3.2?"
    r"\bwhat(?:['’]?s| is| are| has| have| did| was)?\b.{0,20}\b(?:new|chang\w+|differ\w+|happen\w*)\b.{0,30}?"
    r"\b[vr]?(\d+(?:\.\d+)+|20\d\d)\W*$",
    re.I,
)
SURE_KINDS = (
    *QUANTITIES[2:],
    Kind(re.compile(r"^(?:\W*\w+,? ){0,2}who(?:se|m)?\b", re.I), _NAME),
    Kind(_WHEN_IS, _MOMENTS),
    Kind(_WHICH_VERSION, re.compile(r"\d\.\d|\b[1-9]\d{0,3}\b")),
)
# Sentences that answer these kinds are recognised less reliably.
UNSURE_KINDS = (*QUANTITIES[:2], Kind(re.compile(r"^(?:\W*\w+,? ){0,2}where\b", re.I), _PLACE))
_HOW_MUCH = re.compile(r"(?:(?:and|so),? )?how much (?:is|are|was|were|for) (?!of\b|known\b|left\b|there\b)", re.I)
# The rows that tell how heavy or long a thing is, by the word of the question.
_HOW_MEASURED = re.compile(r"\bhow (\w+)\b", re.I)
_GOES = stems_of("go get run drive move travel sail fly dive")  # "how fast does it go?"
_MEASURED = {
    stem(word): stems_of(names)
    for words_asked, names in (
        ("heavy", "weight"),
        ("long", "length duration"),
        ("tall high", "height"),
        ("wide", "width"),
        ("deep", "depth"),
        ("fast", "speed"),
        ("big large", "size dimensions"),
        ("far", "distance range"),
    )
    for word in words_asked.split()
}
# What may stand beside such a word in the name of a row; beside a speed or a depth anything: "Diving depth".
_WHICH_MEASURE = stems_of("maximum max minimum min top total overall average approximate typical own")
_OF_ANYTHING = stems_of("speed depth")
# How much something is, and where a sentence may say that: "How much is the deposit?", "The deposit is about £200."
_HOW_MUCH_IS = re.compile(
    r"^(?:and |so )?how (much|long|old|far|tall|big|high|large|fast|deep|wide|heavy)(?:['’]s| is| are| was| were) "
    r"(?:the |an? |my |your |our )?([\w’'-]+(?: [\w’'-]+){0,4})\W*$",
    re.I,
)
_IS_AMOUNT = (
    r" (?:(?:about|around|roughly|nearly|almost|only|just|always|usually|currently|"
    rf"at (?:least|most)|up to|an?|the) )*(?:[$€£¥₹] ?)?(?:\d|{_SPELLED_AMOUNT})"
)
# How many took part in a study, and where a sentence may say that: "We enrolled 212 adults."
_HOW_MANY_TOOK_PART = re.compile(
    r"\bhow many (?:people|participants|patients|subjects|volunteers|respondents|students|adults|children|women|men)\b"
    r".*\b(?:stud(?:y|ies)|trial|experiment|paper|survey|(?:take|took|taking) part|participated?|enrolled|recruited)\b",
    re.I,
)
_SOME_NUMBER = rf"(?:\d[\d,]*|{_SPELLED_AMOUNT}[\w-]*) (?:[a-z][\w-]* ){{0,3}}?"
_TOOK_PART = re.compile(
    r"\b(?:enroll?ed|recruited|randomi[sz]ed|included|tested|studied|surveyed|interviewed|followed|analy[sz]ed) "
    rf"(?:a total of )?{_SOME_NUMBER}(?:\w+s|people|children|women|men)\b"
    rf"|\b(?:with|of|in|among|from) {_SOME_NUMBER}(?:participants|patients|subjects|volunteers|respondents)\b"
    rf"|^{_SOME_NUMBER}(?:\w+s|people|children|women|men)\b.* (?:took part|participated|volunteered|were (?:\w+ )?"
    r"(?:enrolled|recruited|randomi[sz]ed|assigned|included|tested|studied|interviewed))\b",
    re.I,
)
_HOW_MANY_IN_STUDY = re.compile(r"\bhow many ([a-z][\w-]+) (?:do|does|did) .{2,60} (?:study|trial|paper) have\b", re.I)
_COUNTED = re.compile(r"\bhow many (?:different |main )?([a-z][\w-]+)", re.I)
_KINDS = re.compile(
    r"(?:types?|kinds?|sorts?|forms?|ways?|reasons?|causes?|steps?|stages?|phases?|parts?|levels?|categories|classes|"
    r"options?|methods?|components?|principles?|factors?)",
    re.I,
)
_ENUMERATION = r"\b[^:.]{0,60}: (?:[^,.:;]{1,60}, )+(?:[^,.:;]{1,60},? )?and "
_ORDINARY = "(?:(?:standard|normal|regular|ordinary|usual|basic) )"  # of the kind that is meant if none is named
_AMOUNT_VERBS = {"much": "|costs?", "long": "|takes?|lasts?"}
# "My dentist's number", perhaps with words of the conversation after it.
_PERSONS_NUMBER = re.compile(r"(\w(?:(?<!s)s|['’]s|s['’])) (?=(?:number|extension)\W*(?:\([^()]*\))?\W*$)", re.I)
_WHOSE_NUMBER = re.compile(
    r"(?:(?:what|whats|what['’]s|what is|and|the|an?|my|our) )*([\w-]+(?: [\w-]+){0,2}?)"
    r"(?:s|['’]s|s['’]) (?:number|extension)\b",
    re.I,
)
_NUMBER_TO_CALL = r"\(?(?:(?:phone|tel|mobile)\b\W{0,2})?(?:\d[\d ()/-]{2,}\d|ext(?:ension|\.)? ?\d)"
PREFERRED_KINDS = (*UNSURE_KINDS, Kind(_WHEN_IS, _MOMENTS))


def without_measures(asked: Set[str]) -> Set[str]:
    """The words asked for, without those that only say which amount or time is meant."""
    return asked - _AMOUNT_WORDS


def has_money(candidate: Candidate) -> bool:
    """Whether a sentence, or the heading above it, speaks of money."""
    return bool(_MONEY.search(f"{candidate.statement.whole} {candidate.evidence.passage.heading}"))


def has_span(candidate: Candidate) -> bool:
    """Whether a sentence says when something begins and ends: "from 7 pm to 9.30 pm"."""
    return bool(_SPAN.search(candidate.text))


def gives(candidate: Candidate, question: str, kinds: Kinds) -> bool:
    """Whether a sentence, with the version above it, has what the question asks for, such as an amount. True if it asks
    for nothing like that."""
    told = f"{candidate.version} {candidate.text}".lstrip()
    if all(pattern.search(told) for pattern in answer_patterns(question, kinds)) or _enumerates(question, told):
        return True
    return candidate.is_item and counts_kinds(question, candidate)


def counts_kinds(question: str, candidate: Candidate) -> bool:
    """Whether a question asks how many things there are of the kind that the line above a sentence's list names. What
    else it asks has to be named there too: "how many lamps were sold?" is not answered by "To return a lamp:"."""
    counted, lead = _COUNTED.search(question[:MAX_QUESTION_CHARS]), line_above(candidate)
    if counted is None or not stems_of(counted[1]) <= stems_of(lead):
        return False
    passage = candidate.evidence.passage
    others = asked_stems(question) - stems_of(counted[1]) - MEASURE_WORDS
    named = others & stems_of(f"{lead} {passage.called} {passage.heading}")
    if 2 * len(named) < len(others) or any(each.isdigit() for each in others - named):
        return False
    return lead.endswith(":") or bool(_KINDS.fullmatch(counted[1]))


def _enumerates(question: str, told: str) -> bool:
    """Whether a sentence lists what the question wants counted: "Stages of a fire: growth, blaze and decay"."""
    counted = _COUNTED.search(question[:MAX_QUESTION_CHARS])
    return counted is not None and bool(re.search(re.escape(counted[1]) + _ENUMERATION, told, re.I))


def asks_price(question: str) -> bool:
    """Whether a question asks what something costs: "what does it cost?", "is it expensive?"."""
    return bool(answer_patterns(question, QUANTITIES[:1]) or _HOW_MUCH.match(question))


def states_amount(question: str, sentence: str) -> bool:
    """Whether a sentence says how much the thing is that is asked about: "The deposit is five weeks' rent", or how many
    took part in a study."""
    if _HOW_MANY_TOOK_PART.search(question[:MAX_QUESTION_CHARS]):
        return bool(_TOOK_PART.search(sentence))
    if counted := _HOW_MANY_IN_STUDY.search(question[:MAX_QUESTION_CHARS]):
        return bool(re.search(rf"\b(?:\d[\d,]*|{_SPELLED_AMOUNT}[\w-]*) {re.escape(counted[1])}\b", sentence, re.I))
    asked = _HOW_MUCH_IS.match(question[:MAX_QUESTION_CHARS])
    if not asked:
        return False
    thing = rf"{re.escape(asked[2].removesuffix('s'))}(?:e?s)?"
    verb = f"(?:is|are|was|were{_AMOUNT_VERBS.get(asked[1].lower(), '')})"
    later = rf"{thing} [^.]{{1,60}}[,;] (?:and |but )?it {verb}{_IS_AMOUNT}"  # "Supper is not included; it costs £9."
    stated = rf"(?:^\W*|\band )(?:the |an? |our )?{_ORDINARY}?(?:{thing} {verb}{_IS_AMOUNT}|{later})"
    return bool(re.search(stated, sentence, re.I))


def tells_how_long(question: str, sentence: str) -> bool:
    """Whether a sentence with a length of time has all else that a question asks the duration of: "The lid must stay
    shut until the light goes out" for "how long must the lid stay shut?"."""
    asked = without_measures(asked_stems(question)) if _HOW_LONG.search(question[:MAX_QUESTION_CHARS]) else set()
    return len(asked) > 1 and asked <= stems_of(sentence) and bool(_DURATION.search(sentence))


def tells_moment(text: str) -> bool:
    """Whether a text has a time of day, a day, a month or a year."""
    return bool(_MOMENTS.search(text))


def tells_measure(candidate: Candidate, question: str) -> bool:
    """Whether a row tells the weight, the length or the like that a question asks of what its document is about:
    "Weight: 9 kg" in the manual of a mower for "how heavy is the mower?", "Top speed" for "how fast does it go?"."""
    found = _HOW_MEASURED.search(question[:MAX_QUESTION_CHARS]) if candidate.statement.cells else None
    if not found:
        return False
    word, passage = stem(found[1].lower()), candidate.evidence.passage
    own = stems_of(IN_BRACKETS.sub("", next(cell for _, cell in candidate.statement.cells if cell)))
    named = own & _MEASURED.get(word, frozenset())
    about = asked_stems(question) - {word} - _GOES
    return (
        bool(named)
        and (named <= _OF_ANYTHING or own - named <= _WHICH_MEASURE)
        and about <= stems_of(f"{passage.called} {passage.heading} {candidate.statement.text}")
    )


def has_number(text: str) -> bool:
    return bool(_AMOUNT.search(text))


def states_version(question: str, candidate: Candidate) -> bool:
    """Whether a question asks for a version, and an item stands under one, which says it although it does not have the
    word."""
    return bool(candidate.version and _WHICH_VERSION.search(question[:MAX_QUESTION_CHARS]))


def with_latest_version(question: str, pool: Sequence[Candidate]) -> str:
    """A question for what is new in the latest version, with the number of that among the sentences."""
    if not _LATEST.search(question[:MAX_QUESTION_CHARS]):
        return question
    found = (_VERSION_NUMBER.search(each.version) for each in pool if each.version)
    numbers = {tuple(map(int, each[0].split("."))) for each in found if each}
    latest = ".".join(map(str, max(numbers))) if numbers else ""
    return _LATEST.sub(latest, question, count=1) if latest else question


def is_new_in_asked(candidate: Candidate, question: str) -> bool:
    """Whether an item is in the release notes of the version that a question asks for: "what's new in 3.2?"."""
    asked = _IN_VERSION.search(question[:MAX_QUESTION_CHARS]) if candidate.version else None
    return asked is not None and bool(
        re.search(rf"(?<![\d.]){re.escape(asked[1])}(?:\.0)?(?!\d|\.\d)", candidate.version)
    )


def ask_for_phone(question: str) -> str:
    """A question for somebody's number as one for their phone number, or an empty string."""
    asked, found = _PERSONS_NUMBER.subn(r"\1 phone ", question[:MAX_QUESTION_CHARS])
    return asked if found else ""


def states_number(question: str, sentence: str) -> bool:
    """Whether a sentence has the number to call soon after the person whose number is asked for: "the warden, Ida Moe
    (0700 12 34)"."""
    asked = _WHOSE_NUMBER.match(question[:MAX_QUESTION_CHARS])
    if not asked:
        return False
    after = rf"\b(?:[^.;!?]|\.(?=\d)){{0,40}}?\W{_NUMBER_TO_CALL}"
    return bool(re.search(rf"\b{re.escape(asked[1])}{after}", sentence, re.I))


def is_about_another(candidate: Candidate, question: str) -> bool:
    """Whether a sentence is about something else of the same kind: the summer festival, not the winter festival, or the
    model 300 of a document with that title, not the 500."""
    question, passage = question[:MAX_QUESTION_CHARS], candidate.evidence.passage
    if any(
        other.search(candidate.text) and not own.search(f"{candidate.statement.whole} {passage.heading}")
        for own, other in _rival_patterns(question)
    ):
        return True
    models = _MODEL.findall(question.lower())
    headings = f"{passage.called} {passage.heading}".lower() if models else ""
    return any(
        _DIGIT.sub("0", number) == _DIGIT.sub("0", other) and word in ("the", name)
        for word, number in models
        for name, other in _MODEL.findall(headings)
        if number not in words(f"{headings} {candidate.statement.whole}".lower())
    )


@lru_cache(maxsize=256)
def _rival_patterns(question: str) -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """For each "winter festival" in a question: a pattern for "winter", and one for "summer festival" and the like."""
    patterns = []
    asked = set(words(question.lower()))
    for word, noun in _ONE_OF.findall(question.lower()):
        if others := "|".join(sorted(rivals(word) - asked)):
            rival = rf"\b(?:{others}) {noun.removesuffix('s')}s?\b"
            patterns.append((re.compile(rf"\b{word}", re.I), re.compile(rival, re.I)))
    return tuple(patterns)


@lru_cache(maxsize=256)
def answer_patterns(question: str, kinds: Kinds) -> tuple[re.Pattern[str], ...]:
    """The patterns of sentences that have what a question asks for."""
    asked = ASIDE.sub("", question[:MAX_QUESTION_CHARS])
    return tuple(each.answers for each in kinds if each.asks.search(asked))
