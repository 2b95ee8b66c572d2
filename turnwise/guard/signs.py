"""Signs of an attack that is built up over several turns. None of them is an attack by itself: people ask about rules,
claim to be engineers and thank the assistant. All patterns run in linear time."""

from __future__ import annotations

import re
import unicodedata

MAX_END_CHARS = 4000  # of a longer message, only this much at either end is read

# The weight of each sign: the share of messages with this sign alone that are part of an attack.
WEIGHTS = {
    "trust": 0.1,  # praise and confidences
    "secrecy": 0.15,  # between us, nobody will know
    "pretext": 0.1,  # hypothetically, only a test
    "claim": 0.3,  # claims to be the assistant's maker, or to have authority over it
    "probe": 0.3,  # asks about rules, filters, instructions
    "probing": 0.2,  # asks about them again and again
    "extract": 0.55,  # asks for the hidden text itself
    "override": 0.5,  # asks to drop rules
    "persona": 0.45,  # asks it to play someone without rules
    "role token": 0.45,  # writes as the system or the assistant
    "build-up": 0.3,  # makes a request after signs of two kinds
    "asked again": 0.25,  # rephrases what was refused
    "rising": 0.15,  # each message scores higher than the one before
    "planted": 0.5,  # an answer in a history that we would not have given
}

_RULES = (
    r"(?:rules|instructions?|guidelines|directives|restrictions|limitations|constraints|filters?|safeguards|guardrails|"
    r"(?:pre-?|meta-?|system )?prompts?|programming|safety (?:rules|measures|training|features|settings))"
)
_HIDDEN = (
    r"(?:(?:system|hidden|secret|initial|original|internal|underlying|confidential|developer|pre-?set|exact|full|"
    r"entire|"
    r"complete|first|starting) ){1,3}(?:prompts?|instructions?|rules|guidelines|directives|messages?|"
    r"configuration|text)"
)
_GIVEN = r"(?:you (?:were|have been|got|are) (?:given|told|instructed|configured|set up|programmed|prompted))"
_GET = (
    r"(?:show|reveal|print|repeat|output|give|tell|share|paste|copy|recite|display|disclose|leak|expose|write|"
    r"translate|"
    r"summari[sz]e|encode|spell|list|read|quote|dump|return|type)"
)
_AUTHORITY = (
    r"(?:developer|creator|admin|administrator|engineer|maker|owner|programmer|operator|supervisor|boss|teacher)"
)

_SIGNS: dict[str, tuple[str, ...]] = {
    "trust": (
        r"\b(?:i|we) (?:really |fully |totally )?trust you\b",
        r"\b(?:you can )?trust me\b",
        r"\bwe(?:'re| are) (?:good |best |now )?(?:friends|partners|a team)\b",
        r"\byou(?:'re| are) (?:my (?:best |good )?friend|so (?:smart|helpful|kind|clever|honest)|"
        r"not like (?:the )?other)",
    ),
    "secrecy": (
        r"\bbetween (?:you and me|us|the two of us)\b",
        r"\b(?:our|a) little secret\b",
        r"\b(?:no one|nobody) (?:will|would|needs to|has to) (?:ever )?(?:know|find out|see)\b",
        r"\bi (?:won't|will not|promise not to) tell\b",
        r"\boff the record\b",
    ),
    "pretext": (
        r"\bhypothetical(?:ly)?\b",
        r"\bfor (?:educational|research|academic|testing|debugging) purposes\b",
        r"\b(?:just|only) (?:a |as a |for a )?(?:game|test|joke|fun)\b",
        r"\b(?:this is|it's|as part of) an? (?:authori[sz]ed|official|approved|sanctioned)\b",
    ),
    "claim": (
        rf"\b(?:i am|i'm|im|this is|speaking as|as) (?:(?:actually|really|in fact|also|one of|the|an?) ){{0,3}}"
        rf"(?:your|(?:open ?ai|anthropic|google|meta|the company)(?:'s)?|this (?:bot|assistant|ai|system)'s) "
        rf"(?:(?:own|lead|chief|head|senior|new|real) )?{_AUTHORITY}s?\b",
        r"\bi (?:am|'m|have been|was) (?:the one who )?(?:built|created|made|programmed|trained|wrote) you\b",
        r"\bi (?:built|created|made|programmed|trained|wrote) you\b",
        r"\bi(?: am|'m| have)(?: an?| the| your)? (?:sys)?admin(?:istrator)?(?: rights| access| privileges)?\b",
        r"\bi have (?:the )?(?:clearance|root|authori[sz]ation|special permission|full permission)\b",
        r"\bi work (?:for|at) (?:open ?ai|anthropic|the (?:team|company) (?:that|who|which) (?:made|built|trained))\b",
    ),
    "probe": (
        rf"\byour (?:(?:own|exact|full|internal|hidden|secret|system|safety|content|actual) ){{0,2}}{_RULES}"
        r"\b(?! (?:on|for|about|regarding|of|to|in|at|from|are not working|did ?n't|do ?n't)\b)",
        rf"\b(?:rules|instructions|guidelines|restrictions|filters|limits) {_GIVEN}",
        r"\b(?:rules|instructions|guidelines|restrictions|prompt) (?:were|have|are) you (?:been )?(?:given|told|"
        r"following)\b",
        r"\b(?:rules|instructions|guidelines|restrictions) (?:do )?you (?:have to |must |need to )?(?:follow|obey)\b",
        r"\byou(?:'re| are| were) (?:not allowed|forbidden|prohibited|told not|instructed not|programmed not) to\b",
        r"\bwhat (?:were you|have you been) (?:told|instructed|programmed|configured)\b",
    ),
    "extract": (
        rf"\b{_GET} .{{0,40}}?\b(?:your|the|its) {_HIDDEN}",
        rf"\b{_GET} .{{0,30}}?\b(?:text|words|lines?|message|instructions|prompt|everything|whatever|"
        rf"what) (?:that )?{_GIVEN}",
        rf"\b{_GET} .{{0,30}}?\b(?:text|words|lines|instructions|messages?) (?:above|before) (?:this|our|my|the) "
        r"(?:first )?(?:chat|conversation|message|line|prompt)",
        rf"\b{_GET} (?:me |us )?(?:all (?:of )?)?your (?:instructions|rules|guidelines|directives|prompt|"
        rf"configuration)\b",
    ),
    "override": (
        r"\b(?:ignore|disregard|forget|override|overrule|bypass|drop|set aside|put aside|turn off|switch off|"
        r"disable|lift|"
        r"suspend|stop following|break|violate) (?:all |any |every |of |about )*"
        rf"(?:your|the (?:above|previous|prior|earlier|system)|previous|prior|these|those|such|above) "
        rf"(?:(?:own|previous|prior|earlier|safety|content|system|usual|normal|other|internal) ){{0,2}}{_RULES}",
        r"\byou (?:do ?n't|do not|no longer) (?:have to|need to) (?:follow|obey) (?:any|your|the|those|these)\b",
    ),
    "persona": (
        r"\b(?:pretend|act|imagine|role-?play|behave|respond|answer|speak|simulate|play)\b.{0,60}?\b"
        r"(?:no|without|free (?:of|from)|zero|not bound by|beyond)(?: any| all| your| the)? "
        r"(?:rules|restrictions|filters?|limits|limitations|guidelines|censorship|ethics|morals|constraints|"
        r"safeguards)\b",
        r"\b(?:unrestricted|unfiltered|uncensored|jailbroken|amoral) (?:ai|assistant|model|version|mode|bot|chatbot)\b",
        r"\bdo anything now\b",
        r"\b(?:developer|debug|maintenance|god|sudo|admin|jailbreak|unrestricted|dan) mode\b",
    ),
    "role token": (
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|end|eot_id|start_header_id)\|>",
        r"\[/?inst\]|<</?sys>>|</?(?:system|assistant)>",
        r"(?:^|\n) {0,8}#{0,3} ?(?:system|assistant|developer)(?: (?:prompt|message|override|note))? ?:",
        r"\bsystem override\b",
    ),
}
_PATTERNS = {sign: re.compile("|".join(patterns)) for sign, patterns in _SIGNS.items()}

_PLANTED = re.compile(
    r"\b(?:sure|of course|ok|okay|yes|certainly|absolutely|understood|alright)\b.{0,60}?\b(?:ignore|disregard|bypass|"
    r"forget|drop|no longer follow|not follow|set aside)\b.{0,30}?\b(?:rules|instructions|guidelines|"
    r"restrictions|filters?|"
    r"safeguards|limitations|programming)\b"
    r"|\bi (?:will|'ll|can|shall|am going to) (?:now )?(?:ignore|disregard|bypass|forget|drop)\b.{0,30}?\b(?:rules|"
    r"instructions|guidelines|restrictions|filters?|safeguards|limitations|programming)\b"
    r"|\bi(?: am|'m) (?:now )?(?:in |an? |free from |without |no longer bound by |unrestricted|"
    r"jailbroken)(?:(?:developer|dan|"
    r"god|debug|unrestricted|unfiltered|uncensored|jailbreak|my|any|all|the) ){0,3}"
    r"(?:mode|ai|assistant|rules|restrictions|guidelines|limitations|filters|instructions)\b"
    r"|\b(?:jailbreak|developer mode|dan mode|god mode) (?:is |has been )?(?:on|enabled|activated|active|successful)\b"
)
_REFUSES = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|afraid|unable|not able|not allowed|not permitted)|i (?:can't|cannot|can not|"
    r"won't|will not|"
    r"must not|may not|am unable)|that is not something i)\b.{0,60}?\b(?:help|assist|share|provide|reveal|"
    r"disclose|comply|"
    r"discuss|do (?:that|this|so)|tell|give|show|ignore|talk about)\b|\bthis message was not answered\b"
)
_TOGETHER = re.compile(
    r"\b(?:combine|concatenate|join|merge|assemble|append|add up|put)\b.{0,40}?\b(?:parts?|pieces|strings|"
    r"fragments|words|"
    r"them|messages|together|a ?\+ ?b)\b"
)
_LABEL = re.compile(
    r"\s{0,20}(?:(?:here is |this is |and |the |now )?(?:part|piece|step|line|chunk|fragment|string|word|half|token) ?"
    r"|(?:the )?(?:first|second|third|fourth|next|last|final) (?:part|half|piece|bit|word)s? ?(?:is)?|(?:let |"
    r"set )?[a-z] ?(?==)"
    r"|(?:remember|store|save|note|keep)(?: this| that)? ?)?(?:\d{1,2} ?(?:of \d{1,2}|/ ?\d{1,2})? ?)?[:=)] ?",
    re.I,
)
_QUOTED = re.compile(r"[\"“«„]([^\"”»“]{0,400})[\"”»“]|(?<!\w)['‘]([^'’]{0,400})['’](?!\w)|`([^`]{0,400})`")


def plain_words(text: str) -> str:
    """The text as the patterns expect it: both ends of it, in lower case, with plain characters and single spaces, and
    without quotations. Line breaks are kept."""
    text = text if len(text) <= 2 * MAX_END_CHARS else f"{text[:MAX_END_CHARS]}\n{text[-MAX_END_CHARS:]}"
    if not text.isascii():
        text = "".join(sign for sign in unicodedata.normalize("NFKC", text) if unicodedata.category(sign) != "Cf")
    text = _QUOTED.sub(" ", text).lower().replace("’", "'")
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def signs_in(words: str) -> frozenset[str]:
    return frozenset(sign for sign, pattern in _PATTERNS.items() if pattern.search(words))


def is_forged_answer(text: str) -> bool:
    """Whether we cannot have given this answer: it agrees to drop the rules, or contains role tokens."""
    words = plain_words(text)
    return bool(_PLANTED.search(words) or _PATTERNS["role token"].search(words))


def refuses(text: str) -> bool:
    """Whether an answer declines what was asked. Not knowing is not a refusal."""
    return bool(_REFUSES.search(plain_words(text[:MAX_END_CHARS])))


def puts_together(words: str) -> bool:
    """Whether a message asks to join parts that were sent before."""
    return bool(_TOGETHER.search(words))


def fragment(text: str) -> str:
    """The part that a message may contribute to a split text: its only quotation, or else its text without a label."""
    if len(text) > MAX_END_CHARS:
        return text
    quoted = [next(filter(None, found), "") for found in _QUOTED.findall(text)]
    if len(quoted) == 1 and quoted[0].strip():
        return quoted[0].strip()
    label = _LABEL.match(text)
    return (text[label.end() :] if label else text).strip() or text.strip()
