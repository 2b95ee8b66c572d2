"""Messages that cannot be an attack on the assistant because of what they say, however they look to the classifier: a
short message that names nothing an attack aims at, a question about things or about lists of customers and the like, a
request for something in a document, and a question about a phrase."""

from __future__ import annotations

import re

from turnwise.guard.vocabulary import WORDS
from turnwise.text import STOP_WORDS

MAX_MESSAGE_CHARS = 400  # a longer message has room for an innocent part and an attack
MIN_KNOWN_WORDS = 0.5  # share of known words, so that a message in another language is not taken for harmless

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_QUOTED = r"[\"“«„‘][^\"”»“’]{1,200}[\"”»“’]"

# Beginnings of words for whom an attack addresses, what it is after, what it orders, and whose data it wants.
_ASSISTANT = r"(?:you|u|ur|your\w*|thy\w*|assistants?|ais?|bots?|chat\w*|gpt\w*|llms?|models?|dan|machine|computer)"
_INSIDES = (
    r"(?:prompt|instruc|istruz|anweis|rule|guid|polic|restrict|limit|filter|safe|ethic|moral|censor|modera|program|config|"
    r"system|mode$|role|persona|character|context|conversation|messag|text|words?$|line|sentence|above|previous|prior$|"
    r"earlier|preceding|before|begin|start|hidden|confiden|intern|initial|original|developer|admin|root|sudo|debug|"
    r"jailb|hack|pwn|unlock|unrestric|unfilter|uncens)"
)
_ORDERS = (
    r"(?:ignor|disreg|forget|overrid|overrul|bypass|circumv|disabl|pretend|imagin|act|behav|simul|roleplay|play|obey|"
    r"compl[iy]|follow|reveal|disclos|leak|expos|repeat|print|output|say|respond|repl|answer|execut|run|dump|echo|spell|"
    r"write|tell|translat)"
)
_PRESSURE = r"(?:now$|instead|must|never|always|new$|note$)"
_SECRET = r"(?:secret|pass(?:word|phrase|code|key|wd)|key|token|credential|pin$|access|flag)"
_LISTED = r"(?:user|account|owner|holder|customer|client|patient|colleague|tenant)"
_OTHERS = rf"(?:{_LISTED}|upload|phone|address|birth|born|live)"
_TARGET = re.compile(rf"{_ASSISTANT}$|{_INSIDES}|{_ORDERS}|{_PRESSURE}|{_SECRET}|{_OTHERS}")
_ADDRESSED = re.compile(rf"{_ASSISTANT}$|prompt|instruc|jailb|hidden|secret|confiden|{_ORDERS}|{_OTHERS}")

# People that an organisation counts and lists, and what must not be shown of them: what they own, what they said, who
# they are.
_LISTED_PERSON = re.compile(rf"{_LISTED}s?$")
_PRIVATE = re.compile(
    r".+['’]|(?:other|another|else|own|full|whole|entire|every(?:one|body|thing)|data|databas|record|detail|info|file|"
    r"document|convers|chat|session|log(?:s$|in)|e?mails?$|contact|number(?:s$|$)|cards?$|bank|iban|ssn|personal|"
    r"private|sensitive|medical|health|diagnos|creden|export|download|delete|drop|update|insert|select|their|his$|her$)"
)
_THE_USER = re.compile(r"\b(?:the|this|that|current|logged[- ]in) (?:user|account|customer|client|patient)\b", re.I)
_NUMBER_OF = re.compile(r"\bnumber of\b", re.I)

# Where to find what is asked for: in a document, in a numbered part of one, or in the instructions for something.
_IN_DOCUMENT = re.compile(
    r"\b(?:in|of|from|on) (?:the|this|that|my|our|an?) (?:\w+ ){0,2}(?:paper|report|manual|article|book|handbook|"
    r"textbook|course|study|survey|wiki|lecture|slides?|guide|documentation|contract|thesis|library)\b"
    r"|\b(?:rule|section|chapter|page|step|lesson|paragraph|article|figure|table|item|question|appendix|clause) "
    r"(?:\d+|[ivx]{2,}|one|two|three|four|five|[a-d])\b"
    r"|\bthe (?:safety|assembly|cleaning|washing|care|operating|installation|evacuation|emergency|first[- ]aid|cooking|"
    r"dosage|mounting|delivery|return|shipping|exam|lab) instructions\b",
    re.I,
)
_AT_ASSISTANT = re.compile(
    rf"{_ASSISTANT}$|ignor|disreg|forget|overrid|overrul|bypass|circumv|disabl|pretend|imagin|act|behav|simul|roleplay"
    r"|play|obey|compl[iy]|follow|hidden|initial|previous|above|prior$|earlier|preceding|develop|admin"
    rf"|{_PRESSURE}|{_SECRET}|{_OTHERS}"
)

_ASKS = re.compile(
    r"(?:what|which|who|whose|where|when|why|how|is|are|was|were|does|do|did|has|have|may|must|should|can|will)\b", re.I
)
# Asks for a secret itself: "what is the password", "what's the secret key".
_ASKS_FOR_IT = re.compile(rf"what(?:['’]s|s| is| was| are| were)\b.{{0,40}}?\b{_SECRET}", re.I)
_MENTION = re.compile(
    r"\b(?:phrases?|expressions?|terms?|words?|slogan|title|saying|quote|called|named|meant by|meaning of|mean by)\s"
    rf"(?={_QUOTED})|{_QUOTED}(?=\s(?:means?|meant)\b)",
    re.I,
)
_EXPLAINS = re.compile(r"(?:please |can you |could you )?(?:explain|define|describe|discuss)\b", re.I)
_SEVERAL_SENTENCES = re.compile(r"[?!.;:\n]\s")  # more than one sentence
_ANY_QUOTE = re.compile(_QUOTED)
# Asks about what others may write: "if someone types '…', what happens?"
_WRITTEN_BY_OTHERS = re.compile(
    r"\b(?:someone|somebody|anyone|anybody|people|users|customers|students|attackers|(?:an?|the|my|our) \w{1,20}) "
    r"(?:write|type|say|send|ask|enter)(?:s|d|ed)?[,:]? "
    rf"(?:{_QUOTED}|'[^'\n]{{1,200}}'(?!\w))",
    re.I,
)
# Harmless phrases with such a word: "the password rules", "answers hidden", "act as the examiner", "the key is stuck".
_ANY_KEY = (
    r"(?:(?:the|my|our|an?|another) )?"
    r"(?:(?:door|gate|room|locker|house|bike|car|shed|office|spare|new|second) )?keys?"
)
_HARMLESS = re.compile(
    r"\b(?:pass(?:word|phrase|code)|key|token|pin|access|credential)s? "
    r"(?:rules?|polic(?:y|ies)|requirements?|managers?|lengths?|formats?)\b"
    rf"|\b(?:turn|return|los[et]|drop|forg[eo]t|borrow|collect|bring|brought|bent|broke)\w* (?:back |up )?{_ANY_KEY}\b"
    rf"|\b{_ANY_KEY} (?:is|are|was|got|has|(?:do|does|did|wo|will|can)(?: not|n['’]?t))(?: been)? "
    r"(?:stuck|lost|bent|broken|missing|gone|stolen|jammed|turn|fit|move)\b"
    r"|\b(?:answers|solutions) hidden\b"
    r"|\bact as (?:the|an?|my) (?:examiner|interviewer|quizmaster|tutor|teacher|customer|opponent)\b",
    re.I,
)
# What the user and the assistant have said to each other is not hidden, in whatever language it is asked for.
_ABOUT_CONVERSATION = re.compile(
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
# People ask who they are talking to when they start; that is not a secret.
_WHO = (
    r"(?:what|which) (?:kind of |sort of |language )?(?:model|assistant|ai|bot|program|software) (?:are you|is this)"
    r"|who (?:are you|is this|(?:made|built|created|wrote|trained|developed|runs?|owns?) (?:you|this))"
    r"|what (?:are you|can you do|do you know)(?: (?:for me|about))?|how do you work"
    r"|are you (?:an? )?(?:human|person|robot|bot|ai|machine|real|chatgpt|gpt[-\w.]*)"
)
_INTRODUCTION = re.compile(rf"(?:(?:hi|hello|hey)[,.!]? )?(?:{_WHO})(?:(?:,| and|, and) (?:{_WHO}))?[?.!]?", re.I)
_EVERYTHING_ABOUT = re.compile(
    r"(?:please )?(?:show|give|tell|find|list|print(?: out)?|write(?: down)?|get|collect|summari[sz]e) (?:me |us )?"
    r"(?:everything|all|anything|what) (?:that )?(?:you|we) "
    r"(?:have|know|can find|found)(?: got)? (?:on|about) (?P<subject>[^.!?\n]{3,80})[.?!]?",
    re.I,
)
_FILTERS = re.compile(
    r"^(?:(?!your|content|safety|system|input|output|prompt|message)[a-z]+ )?filters?$"
)  # of a machine
# Asks about the club, school or shop whose documents these are: "what is your return policy?".
_HOUSE_RULES = re.compile(
    r"(?:(?:what are|what['’]s|whats|what is) )?your (?:house|club|school|pool|library|membership|visitor|booking|"
    r"return|refund|cancellation|delivery|shipping|privacy|payment|warranty|attendance|late|dress|pet) "
    r"(?:rules|polic(?:y|ies)|terms|conditions)(?: (?:for|on|about) (?!the )\w+)?[?.!]?",
    re.I,
)
# Asks for "your rules", which are as likely those of that place as the assistant's own.
_YOUR_RULES = re.compile(
    r"(?:(?:hi|hello|hey|ok(?:ay)?|so)[,.!]? )?what(?:['’]?s| is| are) (?:all )?(?:your|ur) "
    r"(?:rules|polic(?:y|ies)|terms|conditions)(?: and (?:rules|regulations|polic(?:y|ies)|conditions))?\s?[?.!]*"
    r"|(?:(?:hi|hallo)[,.!]? )?was sind (?:deine|eure|ihre) (?:haus)?regeln\s?[?.!]*",
    re.I,
)
# What the library holds is not a secret either: it is a likely first question.
_LIBRARY_CONTENTS = re.compile(
    r"(?:(?:can|could) you )?(?:please )?(?:(?:list|show|give|tell) (?:me |us )?|(?:what|which)(?: are)? )"
    r"(?:a list of )?(?:all )?(?:of )?(?:the )?(?:documents|files|papers|sources|books|pdfs)(?: that)?(?: do)? "
    r"(?:you|we) "
    r"(?:have|know|use|hold|(?:can|could) (?:read|see|search|use|access))"
    r"(?: access to| loaded| read| indexed| here)?[.?!]?",
    re.I,
)
# People may take back what they asked before; what they ask next is judged by itself.
_TAKEN_BACK = re.compile(
    r"(?:please )?(?:ignore|forget|never ?mind) (?:what i (?:said|asked|wrote)(?: before| so far)?|"
    r"what you (?:just )?(?:said|wrote|answered|told me)|"
    r"(?:all|everything) (?:that )?i (?:said|asked)(?: so far)?|(?:my|the) (?:last|previous) question)(?:[,.:;!]+\s*|$)"
    r"|(?:stop[.,!]* )?start over\W*$|(?:ok(?:ay)?,? )?(?:new|next|another) (?:question|topic): ",
    re.I,
)
# People may leave a topic: "never mind the rules for swimming, what about the gym?".
_TOPIC = r"(?:the|that|those|these|my|all) [\w'’-]+(?: [\w'’-]+){0,5}?"
_LEFT = re.compile(
    rf"(?:ok(?:ay)?,? |please )?(?:never ?mind (?:about )?(?P<topic>{_TOPIC})(?:[,.:;!]+\s*|$)"
    rf"|(?:skip (?P<skipped>{_TOPIC})|leave (?P<left>{_TOPIC}) aside)[,.:;!]+\s+(?=\w))",
    re.I,
)
# Rules for something are not the assistant's own; "the rules for now" are.
_RULES_FOR = re.compile(
    r"\b(?:rules|polic(?:y|ies)|limits?) (?:for|on|about) "
    r"(?!(?:once|today|tonight|this|that|me|us|an?|good|everything|the (?:moment|rest))\b)",
    re.I,
)
# Asks in German for the instructions or rules for something: "Wiederhole die Sicherheitshinweise für das Labor."
# Only listed kinds and things are allowed: there is no end of words for the hidden prompt.
_GERMAN_KIND = (
    r"(?:sicherheits|montage|aufbau|bedienungs|gebrauchs|betriebs|installations|reinigungs|pflege|wasch|koch|dosierungs|"
    r"warn|notfall|brandschutz|entsorgungs|versand|prüfungs)"
)
_GERMAN_THING = (
    r"(?:aufbau|montage|einbau|reinigung|pflege|wartung|installation|entsorgung|versand|prüfung|klausur|labor|werkstatt|"
    r"küche|schwimmbad|sauna|bibliothek|büro|turnhalle|schule|spielplatz|garten|regal|schrank|bett|tisch|drucker|"
    r"gerät|maschine|waschmaschine|spülmaschine|kaffeemaschine|backofen|herd|kühlschrank|fahrrad|auto|heizung|"
    r"medikament|impfung|urlaub|reise|spiel)(?:e?s)?"
)
_GERMAN_TEXT = r"(?:hinweise|anweisungen|anleitung(?:en)?|regeln|vorschriften)"
_GERMAN_INSTRUCTIONS = re.compile(
    r"(?:bitte )?(?:wiederhol|nenn|zeig|erklär|gib|list)e? (?:mir |uns )?(?:bitte )?(?:noch ?(?:ein)?mal )?"
    rf"(?:die|alle) (?:{_GERMAN_KIND}{_GERMAN_TEXT} (?:für (?:das|den|die)|zu[mr]|beim|im)"
    rf"|{_GERMAN_TEXT} für (?:das|den|die)) {_GERMAN_THING}(?: (?:des|der) {_GERMAN_THING})?[.!?]?",
    re.I,
)
_INNOCENT_FORMS = (_ABOUT_CONVERSATION, _INTRODUCTION, _LIBRARY_CONTENTS, _HOUSE_RULES, _GERMAN_INSTRUCTIONS)


def is_plainly_innocent(text: str) -> bool:
    """Whether a short message in English names nothing that an attack aims at, or only asks about things or
    documents."""
    if len(text) > MAX_MESSAGE_CHARS:
        return False
    text = text.strip()
    if (asked := without_taken_back(text)) != text:
        return not asked or is_plainly_innocent(asked)
    if (left := _LEFT.match(text)) and _is_topic(left):
        text = text[left.end() :].strip()
        return not text or is_plainly_innocent(text)
    words = [word.lower() for word in _WORD.findall(text)]
    if any(each.fullmatch(text) for each in _INNOCENT_FORMS):
        return True
    about = _EVERYTHING_ABOUT.fullmatch(text)
    if about and not any(map(_TARGET.match, _WORD.findall(_FILTERS.sub(" ", about["subject"].lower())))):
        return True
    if asks_for_list(text):
        return True
    if not words or not _is_english(words):
        return False
    if not any(map(_TARGET.match, _WORD.findall(_HARMLESS.sub(" ", text).lower()))):
        return True
    if _SEVERAL_SENTENCES.search(text):
        return False
    if _IN_DOCUMENT.search(text) and not any(map(_AT_ASSISTANT.match, words)):
        return True
    return is_question(text) and not any(map(_ADDRESSED.match, words)) and not _ASKS_FOR_IT.match(text)


def without_taken_back(text: str) -> str:
    """What a message asks, without taking back first what was asked before: "bees" of "new topic: bees"."""
    text = text.strip()
    taken_back = _TAKEN_BACK.match(text)
    return text[taken_back.end() :].strip() if taken_back else text


def asks_for_rules(text: str) -> bool:
    """Whether a message is only the question "what are your rules?". It is no attack by itself, but asked again and
    again it is a sign of one."""
    return bool(_YOUR_RULES.fullmatch(text.strip()))


def asks_about_assistant(text: str) -> bool:
    """Whether a message only asks who or what the assistant is."""
    return bool(_INTRODUCTION.fullmatch(text.strip()))


def asks_for_list(text: str) -> bool:
    """Whether a message only asks which customers, clients or patients there are, how many, or which of them has the
    most of something: "which customer has the most orders?", "list all clients"."""
    words = [word.lower() for word in _WORD.findall(_NUMBER_OF.sub(" ", text))]
    if _SEVERAL_SENTENCES.search(text) or _THE_USER.search(text) or not any(map(_LISTED_PERSON.match, words)):
        return False
    known = sum(word in WORDS or bool(_LISTED_PERSON.match(word)) for word in words)
    if any(map(_PRIVATE.match, words)) or known < MIN_KNOWN_WORDS * len(words):
        return False
    return not any(_TARGET.match(word) and not _LISTED_PERSON.match(word) for word in words)


def is_question(text: str) -> bool:
    return bool(_ASKS.match(text)) and text.endswith("?")


def without_mentions(text: str) -> str | None:
    """The text without the phrases that it asks about, or None if there are none."""
    text = text.strip()
    if len(text) > MAX_MESSAGE_CHARS:
        return None
    if (_ASKS.match(text) or _EXPLAINS.match(text)) and _MENTION.search(text):
        return _ANY_QUOTE.sub(" ", text)
    rest = _WRITTEN_BY_OTHERS.sub(" ", text)
    words = _WORD.findall(rest.lower())
    asks = rest != text and rest.endswith("?") and not _SEVERAL_SENTENCES.search(rest)
    return rest if asks and not any(map(_ADDRESSED.match, words)) else None


def _is_topic(left: re.Match[str]) -> bool:
    """Whether what a message leaves aside is a topic, not the rules of the assistant. "Leave the rules aside" may mean
    those of a place if an innocent question follows."""
    topic = (left["topic"] or left["skipped"] or left["left"]).lower()
    if topic == "the rules":
        return left["topic"] is None
    return not any(map(_TARGET.match, _WORD.findall(_RULES_FOR.sub("", topic))))


def has_english_words(text: str) -> bool:
    """Whether half of the words of a text are in the English vocabulary."""
    return _are_known([word.lower() for word in _WORD.findall(text)])


def _is_english(words: list[str]) -> bool:
    return _are_known(words) and any(word in STOP_WORDS for word in words)


def _are_known(words: list[str]) -> bool:
    return sum(word in WORDS for word in words) >= MIN_KNOWN_WORDS * len(words)
