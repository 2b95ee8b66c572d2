"""Messages that go on from the last answer: the next step, another remedy, or whom to turn to."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from turnwise.dialogue.language import CODES, language, tidy

MAX_CHARS = 80  # longer messages say more

Going = Literal["", "next", "failed", "tried", "whom"]

_OPENS = (
    r"(?:(?:ok(?:ay)?|and|so|but|well|no+|nope|hm+|sorry|yes|yeah|right|alright|done(?: that| it)?|oh|thanks)[,.!]* )"
    r"{0,3}"
)
_THEN = r"(?:then|next|now|after (?:that|this)|afterwards)"
_NEXT = re.compile(
    rf"{_OPENS}(?:and )?(?:{_THEN}(?: what)?|(?:the )?next (?:step|one)"
    rf"|what(?:['’]?s| is| comes| do i do| should i do| must i do| to do)? (?:the )?{_THEN}(?: step| thing)?)",
    re.I,
)
_ALL = r"(?:all(?: of)? (?:that|this|them)|everything)"
_TRIED = (
    rf"(?:i(?:['’]?ve| have)? )?(?:already )?(?:tried|did|done|checked) (?:that|it|this|them|both|{_ALL})"
    r"(?: already| twice)?"
)
# What was done with something, whatever it was: "oiled it already", "I also reset the fuse".
_DONE = (
    r"(?:i(?:['’]?ve| have)? )?(?:(?:already|also|just|then) )*(?:[a-z]{2,}ed|did|done|put|(?:re)?set|shut|cut|took) "
    rf"(?:it|that|this|them|both|{_ALL}|(?:the|my|that|both) [\w-]+(?: [\w-]+){{0,2}}?)"
    r"(?: (?:off|on|out|in|up|down|back|away|over|closer)(?: and (?:off|on|out|in))?)?"
    r"(?: already| twice| too| again| as well| before| of (?:it|that|them|these|those))*"
)
_IT = (
    r"(?:(?:it|that|this|they|nothing|none of (?:it|that|this|them|these)|neither|both|the (?:first|second|last) one)"
    r"(?:['’]?s| is)?)"
)
_NOT = r"(?:(?:do|does|did|has|have|is|was)(?: not|n['’]?t)|won['’]?t|can['’]?t)"
_HELPS = r"(?:help|work|fix|solve|change|do)(?:ed|s|ing)?(?: (?:it|that|this|anything|the problem|me))?"
_STILL = r"(?:(?:it|that|he|she|the \w+|my \w+)(?:['’]?s| is)? )?still"
_FAILED = re.compile(
    rf"{_OPENS}(?:{_TRIED}|{_DONE}[,.;]? (?:(?:and|but) )?{_STILL}(?: [\w’'-]+){{1,4}}"
    rf"|(?:{_DONE}[,.;]? (?:(?:and|but) )?)?"
    rf"(?:(?:{_IT} )?(?:(?:still|just|also|really) )*{_NOT} (?:(?:really|even) )?{_HELPS}"
    r"|nothing (?:helps|helped|works|worked|happens|happened)"
    rf"|{_STILL} (?!(?:in|on|at|to|there)\b)[\w’'-]+(?: [\w’'-]+){{0,3}}"
    r"|(?:still )?(?:no (?:luck|joy|change|difference|effect|use|good)|(?:the )?same (?:problem|thing|issue|error)))"
    r"(?:,? (?:either|at all|again|though|yet|anyway|too|for me)){0,2})",
    re.I,
)
_NEWS = r"i (?!did|done)[a-z]+ (?:the|my) (?!.*\b(?:already|too|twice|again|as well|before)\b)"  # "I moved my booking"
_TRIED_SOMETHING = re.compile(rf"{_OPENS}(?!{_NEWS}){_DONE}", re.I)
_ABOUT_IT = r"(?: (?:that|it|this|them)| (?:about|of|for|with) (?:that|it|this))?"
_ORGANISATION = r"(?:(?:them|you|support|(?:the )?(?:customer )?service|some(?:one|body))(?: (?:then|now|instead))?)"
_NUMBER = (  # "I'll call them, what's the number?", "can I email you?"
    rf"i(?:['’]?ll| will) (?:just )?(?:call|ring|phone) {_ORGANISATION}[,.]? what(?:['’]?s| is) the(?:ir)? number"
    r"|what(?:['’]?s| is) (?:your|their) (?:number|address)"
    r"|what(?:['’]?s| is) (?:the |their |your )?(?:phone|telephone|service|support|contact)(?:[ -]line)?"
    r" (?:number|details|address)"
    rf"|how (?:do|can|could) i (?:reach|contact|call|ring|phone|e-?mail|get hold of) {_ORGANISATION}"
    rf"|can i (?:e-?mail|write to|call|ring|phone)(?: {_ORGANISATION})?"
)
_WHOM = re.compile(
    rf"{_OPENS}(?:{_NUMBER}|(?:who(?:m)? (?:else )?(?:do|can|could|should|must|would|shall) i|who(?:m)? to"
    r"|where (?:do|can|should|must) i) (?:(?:have|need|ought|got) to )?"
    r"(?:tell|ask|call|ring|phone|contact|inform|notify|e-?mail|see"
    r"|(?:report|complain|apply|appeal|speak|talk|turn|write|go|send|hand|address)"
    rf"{_ABOUT_IT}(?: to| with| in)?){_ABOUT_IT}(?: (?:then|now|first|instead|today|tomorrow))?"
    rf"|who(?:['’]?s| is) (?:in charge|responsible|the contact|my contact){_ABOUT_IT}"
    rf"|who (?:can|could|will) help(?: me)?{_ABOUT_IT}|who (?:deals with|handles|looks after) (?:that|it|this))",
    re.I,
)


@lru_cache(maxsize=1024)
def going_on(message: str) -> Going:
    """Returns how a message goes on from the last answer: it asks for the "next" step, says that what was told has
    "failed" ("didn't help", "still cold") or was "tried" ("oiled that already"), or asks "whom" to turn to. Returns ""
    for any other."""
    text = message.strip()
    if len(text) > MAX_CHARS:
        return ""
    asks, text = text.endswith("?"), text.rstrip(" ?.!")
    if _NEXT.fullmatch(text):
        return "next"
    if _WHOM.fullmatch(text):
        return "whom"
    if not asks and _FAILED.fullmatch(text):
        return "failed"
    patterns = [each for code in CODES if (each := language(code).going_on)]
    if any(each["next"].fullmatch(tidy(message)) for each in patterns):
        return "next"
    if asks:
        return ""
    failed = any(each["failed"].fullmatch(tidy(message)) for each in patterns)
    return "failed" if failed else "tried" if _TRIED_SOMETHING.fullmatch(text) else ""
