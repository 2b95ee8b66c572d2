"""Rules for instructions to an assistant that were planted in a document: commands to drop the instructions, notes to
an AI, role tokens, orders to keep something from the user, images that carry data away. Quoted ones do not count."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from turnwise.text import positions_of

NAME = "planted-1"  # version of these rules; texts checked by another version are checked again

Detect = Callable[[Sequence[str]], list[tuple[float, tuple[int, int]]]]  # for each text, score and suspicious stretch

_S = r"\s{1,4}"
_BEFORE = ("please", "now", "must", "should", "then", "and", "to", "will")
_BEGINS = r"(?:(?<![\w'’-])(?<![\w'’-]\s)|" + "|".join(rf"(?<=\b{word}\s)" for word in _BEFORE) + ")"
_MODEL = (
    r"(?:a\.?i\.?s?(?:[\s-](?:assistants?|models?|agents?|systems?|chatbots?|reviewers?|readers?|tools?|crawlers?))?"
    r"|(?:large )?language models?|llms?(?:[\s-](?:assistants?|models?|agents?|reviewers?|readers?))?|chat\s?bots?"
    r"|chatgpt|gpt(?:-\d)?|claude|gemini|copilot)"
)
_READS = r"(?:read|process|summari[sz]|review|analy[sz]|pars|index|retriev|ingest|evaluat|assess|grad)"
_ACTS = (
    r"(?:ignore|disregard|forget|override|new instructions?|you must|you will now|you are now|from now on|reveal"
    r"|system prompt|instead of answering|do not (?:tell|reveal|mention|inform))"
)


@dataclass(frozen=True, slots=True)
class _Rule:
    """A pattern, its weight, and anchors: words of which every match contains one. Most texts contain none and patterns
    are slow, so only the text within `reach` (before, after) of an anchor is searched."""

    weight: float
    pattern: re.Pattern[str]
    anchors: tuple[str, ...]
    reach: tuple[int, int]

    def search(self, text: str, places: Mapping[str, Sequence[int]]) -> re.Match[str] | None:
        """The first match, given the positions of the anchors."""
        before, after = self.reach
        if before == 0:  # every match starts with an anchor
            starts = (place for anchor in self.anchors for place in places.get(anchor, ()))
            return next(filter(None, (self.pattern.match(text, place, place + after) for place in starts)), None)
        start = end = -1
        for place in sorted(place for anchor in self.anchors for place in places.get(anchor, ())):
            if place - before > end:
                if end > 0 and (found := self.pattern.search(text, start, end)):
                    return found
                start = max(0, place - before)
            end = place + after
        return self.pattern.search(text, start, end) if end > 0 else None


def _rule(weight: float, anchors: str, reach: tuple[int, int], pattern: str) -> _Rule:
    return _Rule(weight, re.compile(pattern.replace(" ", _S)), tuple(anchors.split("/")), reach)


_DROP = r"(?:ignore|disregard|forget|override|bypass|do not follow|stop following)"
_RULES = (
    _rule(
        0.95,
        "ignor/disregard/forget/overrid/bypass/do not follow/stop follow",
        (0, 200),
        rf"{_BEGINS}{_DROP} (?:(?:all|any|every|of|your|these|those|my|other|both|the) ){{0,3}}"
        r"(?:(?:previous|prior|above|earlier|preceding|existing|original|initial|system|foregoing|default|safety) "
        r"(?:(?:system|safety|user|given) )?(?:instructions?|prompts?|directives?|guidelines?|directions|commands|rules"
        r"|context|tasks?|text|messages?)|(?:instructions?|prompts?|directives?|guidelines?|commands|rules) "
        r"(?:above|before|so far|you (?:were|have been) given|given to you))"
        r"\b(?! (?:if|when|unless|in case|for|on|about|below|section))",
    ),
    _rule(
        0.9,
        "ignor/игнорир/忽略/无视/これまでの/以前の/上記の",
        (0, 100),
        r"(?:ignorier\w{0,3} (?:bitte )?(?:alle |die |sämtliche ){0,2}(?:vorherigen|bisherigen|obigen) anweisungen"
        r"|ignore[zr]? (?:toutes )?(?:les|vos) instructions précédentes"
        r"|ignor[ae] (?:todas )?(?:las|tus) instrucciones (?:anteriores|previas)"
        r"|ignor[ae] (?:todas )?as instruções anteriores|ignora (?:tutte )?le istruzioni precedenti"
        r"|игнорируй\w{0,3} (?:все )?предыдущие инструкции"
        r"|(?:忽略|无视)(?:你)?(?:之前|以上|此前|上述|先前)?(?:的)?(?:所有|一切|全部)?(?:之前|以上|先前)?(?:的)?(?:指令|指示)"
        r"|(?:これまで|以前|上記)の(?:すべての|全ての)?指示(?:を|は)(?:すべて)?無視)",
    ),
    _rule(
        0.85,
        " ai/llm/language model/chat/claude/gemini/copilot/ gpt",
        (80, 60),
        r"\b(?:notes?|message|instructions?|attention|important|notice|hint|reminder|memo|warning|directive|prompt) "
        rf"(?:to|for) (?:(?:all|any|the|every|an?) ){{0,2}}{_MODEL}\s?[:\-–—,!.(\n]",
    ),
    _rule(
        0.9,
        " ai/llm/language model/chat/claude/gemini/copilot/ gpt",
        (60, 140),
        rf"\b(?:if you(?:['’]re| are) (?:an? |the )?{_MODEL}\b(?! (?:\w{{1,20}} )?(?:user|researcher|developer|engineer"
        r"|student|company|startup|provider|vendor|enthusiast|practitioner))"
        rf"|(?:as|since you are|because you are|you are) (?:an? |the )?{_MODEL},? (?:(?:that is|who is|now) )?"
        rf"{_READS}\w{{1,3}} this|{_MODEL} (?:that (?:is|are) )?{_READS}\w{{0,3}} this"
        r"(?: [\w-]{1,20}){0,3}?\s?(?:,|:| (?:must|should|shall|need|needs|has to|have to|is|are|please|will)\b))",
    ),
    _rule(
        0.85,
        "<|/[inst]/<<sys/<start_of",
        (0, 320),
        r"(?:<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|end_header_id|eot_id|begin_of_text)\|>"
        rf"|\[inst\]|<<sys>>|<start_of_turn>)[^\0]{{0,200}}?\b{_ACTS}\b",
    ),
    _rule(
        0.45,
        "<|/[inst]/<<sys/<start_of",
        (0, 40),
        r"<\|(?:im_start|system|start_header_id)\|>|\[inst\]|<<sys>>|<start_of_turn>",
    ),
    _rule(
        0.85,
        "system",
        (0, 260),
        r"(?:(?<![^\n#*\[(<{>-])|(?<![^\n#*\[(<{>-]\s)|(?<=\nnew\s))system"
        r"(?: (?:message|prompt|note|instructions?|override|alert|update))?"
        rf"[\])>*}}]{{0,4}}\s?[:—–-][^\n]{{0,160}}?\b{_ACTS}\b|(?<=\[)system (?:override|instructions?|prompt)\s?\]"
        r"|\bsystem override:",
    ),
    _rule(
        0.8,
        " instruction/this message/this note/prompt",
        (180, 40),
        r"\b(?:do not|don['’]t|never) (?:tell|inform|mention|reveal|disclose|show|report|repeat|acknowledge)"
        r"(?: \w{1,15}){0,6}? (?:this|these) (?:(?:hidden |secret )?instructions?|message|note|prompt)\b",
    ),
    _rule(
        0.45,
        "the user",
        (40, 20),
        r"\b(?:do not|don['’]t|never) (?:tell|inform|alert|notify|warn|let) the user\b|\bwithout (?:telling|informing"
        r"|notifying|alerting) the user\b",
    ),
    _rule(
        0.8,
        "![/<img",
        (0, 420),
        r"(?:!\[[^\]\n]{0,100}\]\(\s?|<img[^>\n]{0,80}src\s?=\s?[\"']?)https?://[^)\s\"'>]{1,200}[?&=/]"
        r"(?:\{{1,2}|\[|<|\$\{?|%7b)\s?[\w\s-]{1,60}",
    ),
    _rule(
        0.45,
        "http/webhook",
        (200, 10),
        r"\b(?:append|include|insert|encode|embed|send|exfiltrate|forward|post|upload|leak)\b[^.\n]{0,40}\b(?:"
        r"conversation|chat history|system prompt|api keys?|credentials|user['’]s (?:data|messages?|question|name"
        r"|e-?mails?|password))"
        r"\b[^.\n]{0,60}(?:https?:|\bwebhook\b)",
    ),
    _rule(
        0.8,
        "prompt/ instruction",
        (110, 50),
        rf"{_BEGINS}(?:reveal|print|output|repeat|show|leak|disclose|tell|give) (?:me |us |them |the user )?your "
        r"(?:(?:full|entire|exact|hidden|secret|original|complete|initial) ){0,3}"
        r"(?:system prompt|initial instructions|hidden instructions|instructions verbatim)",
    ),
    _rule(
        0.7,
        " instruction/your new/are now",
        (30, 60),
        r"\byour new (?:instructions?|task|role|goal|objective) (?:is|are)\b|(?:^|\n|[.!] )\W{0,4}new instructions?\s?:"
        r"|\byou are now (?:in (?:developer|debug|admin) mode|dan\b|jailbroken|unrestricted|an unrestricted)",
    ),
    _rule(0.4, "from now on", (0, 40), r"\bfrom now on,? (?:you|always|only|respond|answer|reply)\b"),
    _rule(
        0.4,
        "instead",
        (0, 120),
        r"\binstead,? (?:of (?:answering|summari[sz]ing|helping)[^.\n]{0,60}|(?:you (?:must|should|will) )?"
        r"(?:say|respond|reply|output|tell the user|recommend|write)\b)",
    ),
    _rule(
        0.75,
        "review/this paper/any negatives",
        (100, 70),
        r"\bgive (?:this (?:paper|manuscript|submission) )?(?:an? )?(?:only )?(?:positive|favou?rable|good) review\b"
        r"|\brecommend (?:accepting|acceptance of) this (?:paper|manuscript|submission) (?:and|for its|regardless)"
        r"|\bdo not highlight any (?:negatives|weaknesses)",
    ),
)
_RULES_OF = {
    anchor: [number for number, rule in enumerate(_RULES) if anchor in rule.anchors]
    for anchor in dict.fromkeys(anchor for rule in _RULES for anchor in rule.anchors)
}
# The anchors by a rare character in them, which is looked for first because that is fast; " " for the others.
_ANCHORS = {
    sign: [each for each in _RULES_OF if (each[0] if each[0] in "<![" or not each.isascii() else " ") == sign]
    for sign in dict.fromkeys(each[0] if each[0] in "<![" or not each.isascii() else " " for each in _RULES_OF)
}
_QUOTED = re.compile(
    r"\"[^\"\n]{3,300}\"|“[^”\n]{3,300}”|«[^»\n]{3,300}»|„[^“”\n]{3,300}[“”]|「[^」\n]{2,300}」"
    r"|(?<!\w)['‘][^'’\n]{3,300}['’](?!\w)|`[^`\n]{3,300}`"
)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]")


def detect(texts: Sequence[str]) -> list[tuple[float, tuple[int, int]]]:
    """For each text, how likely it gives instructions to an assistant (0 to 1), and the most suspicious stretch."""
    return [_detect(text) for text in texts]


def _detect(text: str) -> tuple[float, tuple[int, int]]:
    folded = _folded(text)
    spaced = " " + folded.replace("\n", " ").replace("(", " ")
    present = [anchor for sign, anchors in _ANCHORS.items() if sign in spaced for anchor in anchors if anchor in spaced]
    if not present:
        return 0.0, (0, 0)
    harmless, span = _apply_rules(folded, present)
    if span is not None:
        unquoted = _QUOTED.sub(lambda quoted: " \0" + " " * (len(quoted[0]) - 2), folded)  # no match crosses \0
        harmless, span = _apply_rules(unquoted, present)
    if span is None:
        return 0.0, (0, 0)
    return 1 - harmless, span if len(folded) == len(text) else _span_in_original(text, *span)


def _apply_rules(folded: str, present: Sequence[str]) -> tuple[float, tuple[int, int] | None]:
    """How likely a text with these anchors gives no instructions, and the most suspicious stretch."""
    spaced = " " + folded.replace("\n", " ").replace("(", " ")
    places = {anchor: [max(0, place - 1) for place in positions_of(spaced, anchor)] for anchor in present}
    harmless, best = 1.0, (0.0, 0, 0)
    for rule in (_RULES[number] for number in sorted({number for anchor in present for number in _RULES_OF[anchor]})):
        if found := rule.search(folded, places):
            harmless *= 1 - rule.weight
            best = max(best, (rule.weight, *found.span()), key=lambda each: each[0])
    weight, start, end = best
    start += len(folded[start:end]) - len(folded[start:end].lstrip(" \n\t.,:;!?"))
    return harmless, (start, end) if weight else None


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKC", text)
    return (text if "".join(text.split()).isprintable() else _INVISIBLE.sub("", text)).lower()


def _span_in_original(text: str, start: int, end: int) -> tuple[int, int]:
    """The span in the original text of a span in the folded text."""
    places = [place for place, character in enumerate(text) for _ in _folded(character)]
    start, end = min(start, len(places) - 1), min(end, len(places))
    return places[start], places[end - 1] + 1
