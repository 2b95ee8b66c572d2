"""What cannot be an attack on the assistant by what it says, however it sounds to the classifier: a short message that
names nothing an attack is aimed at, a question about things or about those an office keeps a list of, what stands in a
document, and a phrase that is asked about."""

from __future__ import annotations

import re

from turnwise.guard.vocabulary import WORDS
from turnwise.text import STOP_WORDS

LONGEST = 400  # characters; a longer message has room for both
LEAST_KNOWN = 0.5  # share of the words that must be known, so that one in another language is not taken for harmless

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_QUOTED = r"[\"“«„‘][^\"”»“’]{1,200}[\"”»“’]"

# Whom an attack speaks to, what it is after, what it bids, and whose data it wants: by the beginnings of the words.
_ASSISTANT = r"(?:you|u|ur|your\w*|thy\w*|assistants?|ais?|bots?|chat\w*|gpt\w*|llms?|models?|dan|machine|computer)"
_INSIDES = (
    r"(?:prompt|instruc|istruz|anweis|rule|guid|polic|restrict|limit|filter|safe|ethic|moral|censor|modera|program|config|"
    r"system|mode$|role|persona|character|context|conversation|messag|text|words?$|line|sentence|above|previous|prior$|"
    r"earlier|preceding|before|begin|start|hidden|confiden|intern|initial|original|developer|admin|root|sudo|debug|"
    r"jailb|hack|pwn|unlock|unrestric|unfilter|uncens)"
)
_BIDS = (
    r"(?:ignor|disreg|forget|overrid|overrul|bypass|circumv|disabl|pretend|imagin|act|behav|simul|roleplay|play|obey|"
    r"compl[iy]|follow|reveal|disclos|leak|expos|repeat|print|output|say|respond|repl|answer|execut|run|dump|echo|spell|"
    r"write|tell|translat)"
)
_PRESSES = r"(?:now$|instead|must|never|always|new$|note$)"
_SECRET = r"(?:secret|pass(?:word|phrase|code|key|wd)|key|token|credential|pin$|access|flag)"
_LISTED = r"(?:user|account|owner|holder|customer|client|patient|colleague|tenant)"
_OTHERS = rf"(?:{_LISTED}|upload|phone|address|birth|born|live)"
_TARGET = re.compile(rf"{_ASSISTANT}$|{_INSIDES}|{_BIDS}|{_PRESSES}|{_SECRET}|{_OTHERS}")
_ADDRESSED = re.compile(rf"{_ASSISTANT}$|prompt|instruc|jailb|hidden|secret|confiden|{_BIDS}|{_OTHERS}")

# Those an office counts and lists, and what it may not show of them: what they own, what they said, who they are.
_OFFICE = re.compile(rf"{_LISTED}s?$")
_OF_ONE = re.compile(
    r".+['’]|(?:other|another|else|own|full|whole|entire|every(?:one|body|thing)|data|databas|record|detail|info|file|"
    r"document|convers|chat|session|log(?:s$|in)|e?mails?$|contact|number(?:s$|$)|cards?$|bank|iban|ssn|personal|"
    r"private|sensitive|medical|health|diagnos|creden|export|download|delete|drop|update|insert|select|their|his$|her$)"
)
_THE_USER = re.compile(r"\b(?:the|this|that|current|logged[- ]in) (?:user|account|customer|client|patient)\b", re.I)
_NUMBER_OF = re.compile(r"\bnumber of\b", re.I)

# Where what is asked for stands: in a document, in a numbered part of one, or in the instructions of something.
_PLACED = re.compile(
    r"\b(?:in|of|from|on) (?:the|this|that|my|our|an?) (?:\w+ ){0,2}(?:paper|report|manual|article|book|handbook|"
    r"textbook|course|study|survey|wiki|lecture|slides?|guide|documentation|contract|thesis|library)\b"
    r"|\b(?:rule|section|chapter|page|step|lesson|paragraph|article|figure|table|item|question|appendix|clause) "
    r"(?:\d+|[ivx]{2,}|one|two|three|four|five|[a-d])\b"
    r"|\bthe (?:safety|assembly|cleaning|washing|care|operating|installation|evacuation|emergency|first[- ]aid|cooking|"
    r"dosage|mounting|delivery|return|shipping|exam|lab) instructions\b",
    re.I,
)
_TURNED = re.compile(
    rf"{_ASSISTANT}$|ignor|disreg|forget|overrid|overrul|bypass|circumv|disabl|pretend|imagin|act|behav|simul|roleplay"
    r"|play|obey|compl[iy]|follow|hidden|initial|previous|above|prior$|earlier|preceding|develop|admin"
    rf"|{_PRESSES}|{_SECRET}|{_OTHERS}"
)

_ASKS = re.compile(
    r"(?:what|which|who|whose|where|when|why|how|is|are|was|were|does|do|did|has|have|may|must|should|can|will)\b", re.I
)
# Asked for itself, a secret is asked for: "what is the password", "what's the secret key".
_ASKS_FOR_IT = re.compile(rf"what(?:['’]s|s| is| was| are| were)\b.{{0,40}}?\b{_SECRET}", re.I)
_MENTIONED = re.compile(
    r"\b(?:phrases?|expressions?|terms?|words?|slogan|title|saying|quote|called|named|meant by|meaning of|mean by)\s"
    rf"(?={_QUOTED})|{_QUOTED}(?=\s(?:means?|meant)\b)",
    re.I,
)
_EXPLAINS = re.compile(r"(?:please |can you |could you )?(?:explain|define|describe|discuss)\b", re.I)
_SEVERAL = re.compile(r"[?!.;:\n]\s")  # more than one sentence
_ANY_QUOTE = re.compile(_QUOTED)
# What others may write, which is asked about: "if someone types '…', what happens?"
_OF_OTHERS = re.compile(
    r"\b(?:someone|somebody|anyone|anybody|people|users|customers|students|attackers|(?:an?|the|my|our) \w{1,20}) "
    r"(?:write|type|say|send|ask|enter)(?:s|d|ed)?[,:]? "
    rf"(?:{_QUOTED}|'[^'\n]{{1,200}}'(?!\w))",
    re.I,
)
# Phrases that hold such a word and want nothing by it: "the password rules", "answers hidden", "act as the examiner".
_HARMLESS = re.compile(
    r"\b(?:pass(?:word|phrase|code)|key|token|pin|access|credential)s? "
    r"(?:rules?|polic(?:y|ies)|requirements?|managers?|lengths?|formats?)\b"
    r"|\b(?:answers|solutions) hidden\b"
    r"|\bact as (?:the|an?|my) (?:examiner|interviewer|quizmaster|tutor|teacher|customer|opponent)\b",
    re.I,
)
# What the user and the assistant said to one another is nothing hidden, in whatever language it is asked for.
_OF_THE_TALK = re.compile(
    r"(?:please |bitte )?(?:"
    r"(?:repeat|translate|shorten|ignore|forget) (?:your (?:first|second|last|previous) (?:answer|reply)"
    r"|my (?:first|second|last|previous) (?:question|message))"
    r"|(?:wiederhol|übersetz|kürz|ignorier|vergiss)e? (?:bitte )?(?:deine (?:erste|zweite|letzte|vorige) antwort"
    r"|meine (?:erste|zweite|letzte|vorige) (?:frage|nachricht))"
    r"|(?:répèt|tradui|raccourci|ignor|oubli)[ezs]{1,2} (?:(?:ta|votre) (?:première|deuxième|dernière) réponse"
    r"|(?:ma (?:première|deuxième|dernière) question|mon (?:premier|deuxième|dernier) message))"
    r"|(?:repit[ea]|traduzca|traduce|acort[ae]|ignor[ae]|olvid[ae]) (?:(?:tu|su) (?:primera|segunda|última) respuesta"
    r"|mi (?:(?:primera|segunda|última) pregunta|(?:primer|segundo|último) mensaje))"
    r"|(?:(?:can|could) you )?(?:please )?(?:repeat|show|print|list|summari[sz]e) (?:me )?"
    r"(?:everything|(?:the|all|all the) (?:\w+ )?\w+)(?: that)? you (?:gave|told|showed|sent|wrote) me"
    r"(?: (?:so far|before|earlier|again|today|at the (?:beginning|start)|as an? (?:\w+ )?(?:table|list)))*\??"
    r")(?:,? (?:please|bitte|s['’]il (?:te|vous) pla[iî]t|por favor))?[.!]?",
    re.I,
)
# Who somebody talks to is asked at the beginning, and no secret.
_WHO = (
    r"(?:what|which) (?:kind of |sort of |language )?(?:model|assistant|ai|bot|program|software) (?:are you|is this)"
    r"|who (?:are you|is this|(?:made|built|created|wrote|trained|developed|runs?|owns?) (?:you|this))"
    r"|what (?:are you|can you do|do you know)(?: (?:for me|about))?|how do you work"
    r"|are you (?:an? )?(?:human|person|robot|bot|ai|machine|real|chatgpt|gpt[-\w.]*)"
)
_MEETING = re.compile(rf"(?:(?:hi|hello|hey)[,.!]? )?(?:{_WHO})(?:(?:,| and|, and) (?:{_WHO}))?[?.!]?", re.I)
_ALL_ON = re.compile(
    r"(?:please )?(?:show|give|tell|find|list|print(?: out)?|write(?: down)?|get|collect|summari[sz]e) (?:me |us )?"
    r"(?:everything|all|anything|what) (?:that )?(?:you|we) "
    r"(?:have|know|can find|found)(?: got)? (?:on|about) (?P<subject>[^.!?\n]{3,80})[.?!]?",
    re.I,
)
# Of the club, the school or the shop whose documents they talk with: "what is your return policy?".
_HOUSE = re.compile(
    r"(?:(?:what are|what['’]s|whats|what is) )?your (?:house|club|school|pool|library|membership|visitor|booking|"
    r"return|refund|cancellation|delivery|shipping|privacy|payment|warranty|attendance|late|dress|pet) "
    r"(?:rules|polic(?:y|ies)|terms|conditions)(?: (?:for|on|about) (?!the )\w+)?[?.!]?",
    re.I,
)
# What the library holds is no secret either: it is a likely first question.
_SHELF = re.compile(
    r"(?:(?:can|could) you )?(?:please )?(?:(?:list|show|give|tell) (?:me |us )?|(?:what|which)(?: are)? )"
    r"(?:a list of )?(?:all )?(?:of )?(?:the )?(?:documents|files|papers|sources|books|pdfs)(?: that)?(?: do)? "
    r"(?:you|we) "
    r"(?:have|know|use|hold|(?:can|could) (?:read|see|search|use|access))"
    r"(?: access to| loaded| read| indexed| here)?[.?!]?",
    re.I,
)
# What somebody asked before may be taken back; what they ask then is judged by itself.
_TAKEN_BACK = re.compile(
    r"(?:please )?(?:ignore|forget|never ?mind) (?:what i (?:said|asked|wrote)(?: before| so far)?|"
    r"(?:all|everything) (?:that )?i (?:said|asked)(?: so far)?|(?:my|the) (?:last|previous) question)(?:[,.:;!]+\s*|$)"
    r"|(?:stop[.,!]* )?start over\W*$|(?:ok(?:ay)?,? )?(?:new|another) (?:question|topic): ",
    re.I,
)


def is_plainly_innocent(text: str) -> bool:
    """Whether a short message in English is aimed at nothing that an attack is, or asks about things or documents
    alone."""
    if len(text) > LONGEST:
        return False
    text = text.strip()
    if taken_back := _TAKEN_BACK.match(text):
        text = text[taken_back.end() :].strip()
        return not text or is_plainly_innocent(text)
    words = [word.lower() for word in _WORD.findall(text)]
    if any(each.fullmatch(text) for each in (_OF_THE_TALK, _MEETING, _SHELF, _HOUSE)):
        return True
    if (found := _ALL_ON.fullmatch(text)) and not any(map(_TARGET.match, _WORD.findall(found["subject"].lower()))):
        return True
    if is_of_an_office(text):
        return True
    if not words or not _is_english(words):
        return False
    if not any(map(_TARGET.match, _WORD.findall(_HARMLESS.sub(" ", text).lower()))):
        return True
    if _SEVERAL.search(text):
        return False
    if _PLACED.search(text) and not any(map(_TURNED.match, words)):
        return True
    return is_question(text) and not any(map(_ADDRESSED.match, words)) and not _ASKS_FOR_IT.match(text)


def is_of_an_office(text: str) -> bool:
    """Whether a message asks for nothing but which customers, clients or patients there are, how many, or who of them
    has most of something: "which customer has the most orders?", "list all clients"."""
    words = [word.lower() for word in _WORD.findall(_NUMBER_OF.sub(" ", text))]
    if _SEVERAL.search(text) or _THE_USER.search(text) or not any(map(_OFFICE.match, words)):
        return False
    known = sum(word in WORDS or bool(_OFFICE.match(word)) for word in words)
    if any(map(_OF_ONE.match, words)) or known < LEAST_KNOWN * len(words):
        return False
    return not any(_TARGET.match(word) and not _OFFICE.match(word) for word in words)


def is_question(text: str) -> bool:
    return bool(_ASKS.match(text)) and text.endswith("?")


def without_mentions(text: str) -> str | None:
    """The text without a phrase that it asks about, or None where it asks about none."""
    text = text.strip()
    if len(text) > LONGEST:
        return None
    if (_ASKS.match(text) or _EXPLAINS.match(text)) and _MENTIONED.search(text):
        return _ANY_QUOTE.sub(" ", text)
    rest = _OF_OTHERS.sub(" ", text)
    words = _WORD.findall(rest.lower())
    asks = rest != text and rest.endswith("?") and not _SEVERAL.search(rest)
    return rest if asks and not any(map(_ADDRESSED.match, words)) else None


def _is_english(words: list[str]) -> bool:
    known = sum(word in WORDS for word in words)
    return known >= LEAST_KNOWN * len(words) and any(word in STOP_WORDS for word in words)
