"""Words that show the phase of a conversation, the user's mood and knowledge, and the kind of an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from turnwise.dialogue.topics import plain_text
from turnwise.text import CITATION, UNSPACED, sentences, words
from turnwise.types import ConversationPhase, Mood, ResponseType

MAX_END_CHARS = 2000  # of a long message, from each end


def ends(text: str) -> str:
    """Returns a text, or the two ends of a very long one, which is where people put their question."""
    return text if len(text) <= 2 * MAX_END_CHARS else f"{text[:MAX_END_CHARS]}\n{text[-MAX_END_CHARS:]}"


def _any(*alternatives: str) -> re.Pattern[str]:
    """Returns a pattern for any of these at word boundaries, or anywhere in Chinese and Japanese (no spaces)."""
    spaced = "|".join(each for each in alternatives if not UNSPACED.search(each))
    return re.compile("|".join([rf"(?<!\w)(?:{spaced})(?!\w)", *filter(UNSPACED.search, alternatives)]), re.I)


# --- mood and knowledge -------------------------------------------------------------------------------------------
# Each list has English first, then German, French, Spanish, Portuguese, Chinese, Japanese. The patterns are about the
# user or this conversation, never about a thing: "this is useless" is frustration, "what is a useless machine" is not.

_FRUSTRATED = _any(
    r"(?:this|that|it|you)(?:['’]?re| is| are|['’]?s) (?:so |really |completely |totally |just )?"
    r"(?:useless|ridiculous|stupid|annoying|pointless|terrible|no help|not helping|not helpful|hopeless|frustrating)",
    r"(?:this|that|it) (?:does not|doesn['’]?t|did not|didn['’]?t) help(?: me)?(?: at all)?",
    r"(?:not|n['’]t) (?:what|the thing) i (?:asked|meant|wanted|said)",
    r"(?:not|n['’]t) (?:answer(?:ing|ed)?|listen(?:ing)?)(?: to)? (?:me|my question)",
    r"i(?: have|['’]ve)? (?:already |just )?(?:asked|told|said)(?: you)? (?:this|that|it|you)(?: \w+){0,2} "
    r"(?:twice|already|before|again|times)",
    r"i(?: have|['’]ve)? already (?:asked|told|said)",
    r"(?:ask|asked|asking|tell|told|telling)(?: \w+){0,3} for the (?:second|third|fourth|fifth|\d{1,4}th) time",
    r"waste of (?:my )?time",
    r"i(?: am|['’]m) (?:so |really |getting |very )?(?:frustrated|annoyed|fed up|sick of)",
    r"i give up",
    r"(?:still|again) (?:wrong|not right|the wrong)",
    r"wtf|ffs|ugh+|argh+",
    r"das (?:bringt|hilft) (?:mir )?(?:nichts|nicht)|das habe ich nicht gefragt",
    r"das ist (?:nutzlos|sinnlos)",
    r"ce n['’]est pas ce que j['’]ai demand[ée]|[çc]a ne sert [àa] rien|c['’]est inutile",
    r"eso no es lo que pregunt[ée]|esto no sirve|es in[úu]til",
    r"n[ãa]o foi isso que (?:eu )?perguntei|isso n[ãa]o ajuda",
    r"没用|我问的不是|已经问过",
    r"役に立た|そうじゃな|聞いたのはそれじゃ",
)
_CONFUSED = _any(
    r"(?:i|we) (?:still |really |just )?(?:do not|don['’]?t|can['’]?t|cannot|didn['’]?t|did not) "
    r"(?:really |quite |fully |still )?"
    r"(?:understand|follow|(?:get|see)(?: (?:it|this|that|why|how|what|the (?:point|idea|difference))|$))",
    r"(?:have not|haven['’]?t|never) (?:really )?understood",
    r"(?:i(?: am|['’]m)|we(?: are|['’]re)) (?:still |so |really |a bit |totally |completely |getting |now )*"
    r"(?:confused|lost|puzzled|stuck on|not following|not sure i (?:understand|follow|get))",
    r"(?:does not|doesn['’]?t|makes no|did not|didn['’]?t) (?:really )?(?:make (?:any )?)?sense",
    r"(?:confuses|confusing|confused|lost) me|you(?:['’]ve| have)? lost me",
    r"(?:this|that|it)(?:['’]?s| is) (?:so |too |very |really )?(?:confusing|unclear|over my head)",
    r"what do you (?:even )?mean|what does (?:that|this) (?:even )?mean(?! \w)|huh",
    r"(?:verstehe|kapiere|begreife) (?:ich )?(?:das |es )?(?:immer noch )?nicht|ich bin verwirrt",
    r"(?:je )?ne comprends (?:toujours )?pas|je comprends pas|je suis perdue?",
    r"no (?:lo )?entiendo|estoy (?:confundid|perdid)[oa]",
    r"n[ãa]o (?:entendo|entendi|percebo)|estou (?:confus|perdid)[oa]",
    r"不懂|不明白|没懂|听不懂|很困惑",
    r"分から(?:ない|ん|ず)|わから(?:ない|ん|ず)|分かりませ|わかりませ|理解できな",
)
_QUESTION_MARKS = re.compile(r"[?？]{2,}")
_GOT_IT = _any(
    r"(?:ah+|oh+|ok(?:ay)?|now|yes|great|right),? (?:now )?i (?:see|get it|got it|understand)(?: (?:it|now|that))*",
    r"i (?:get|got|see|understand) (?:it|this|that|[\w\- ]{1,40})? ?now",
    r"(?:now i|i finally|i now|i think i) (?:get|got|see|understand)(?: (?:it|this|that))?",
    r"(?:that|this|it) (?:is clear|clears? (?:it|that|things) up)(?: now)?|makes (?:perfect )?sense(?: now)?",
    r"got it|understood|clear now|it clicked",
    r"(?:jetzt|ach so,?) (?:habe|hab|verstehe) ich(?: (?:es|das))?|verstanden",
    r"(?:maintenant )?je comprends(?: mieux| maintenant)?|j['’]ai compris",
    r"(?:ahora|ya) (?:lo )?entiendo|entendido",
    r"(?:agora )?(?:j[áa] )?(?:entendi|percebi)(?: agora)?",
    r"明白了|懂了|我懂",
    r"分かりました|わかりました|なるほど|理解しました",
)
_KNOWS = _any(
    r"i (?:already |do )?know (?!nothing|little|enough|someone)(?:what|how|the basics|about|this|that|[\w\-]{5,})",
    r"i(?: am|['’]m) (?:already )?(?:familiar|comfortable) with",
    r"i (?:already )?understand (?:the basics|what|how|that|[\w\-]{4,})",
    r"i(?: have|['’]ve) (?:learned|learnt|read|studied|heard) (?:about|the basics)",
    r"(?:skip|without) the (?:basics|introduction|intro)",
    r"ich (?:wei(?:ß|ss)|kenne) (?:schon|bereits)|je (?:connais|sais) d[ée]j[àa]",
    r"ya (?:s[ée]|conozco)|j[áa] (?:sei|conhe[çc]o)",
    r"我已经知道|我知道什么是",
    r"もう知って|基本は分か",
)
_ADVANCED = _any(
    r"i(?: have|['’]ve) (?:already )?(?:implemented|built|written|taught|published|derived|proved|deployed)",
    r"i(?: have|['’]ve) (?:worked|been working) (?:with|on|in)",
    r"i(?: am|['’]m) (?:an? )?(?:expert|experienced|advanced|researcher|professor|specialist)",
    r"i (?:teach|research)|in my (?:research|thesis|dissertation)",
    r"i know [\w\- ]{1,40} (?:very |really )?well",
)

Knowing = Literal["confused", "got_it", "knows_basics", "advanced"]
_KNOWLEDGE: tuple[tuple[Knowing, re.Pattern[str]], ...] = (
    ("confused", _CONFUSED),
    ("advanced", _ADVANCED),
    ("got_it", _GOT_IT),
    ("knows_basics", _KNOWS),
)
_CLAUSE = re.compile(r"[.,;:!?\n。，、！？；]+|\b(?:but|however|although|though|while|aber|mais|pero|mas)\b", re.I)
# What follows these is not claimed.
_HYPOTHETICAL = re.compile(r"(?:and |so )?(?:if|when|once|until|unless|do|should|wenn|si|se)(?!\w)", re.I)


def mood_of(message: str) -> tuple[Mood, str]:
    """Returns the mood that a message shows, and the words that show it. Frustration wins over confusion."""
    text = ends(message)
    if found := _FRUSTRATED.search(text):
        return "frustrated", found[0]
    if found := _CONFUSED.search(text) or _QUESTION_MARKS.search(text):
        return "confused", found[0]
    return "neutral", ""


def clauses(message: str) -> list[tuple[str, Knowing | None]]:
    """Returns the clauses of a message in order, each with the knowledge (or lack of it) that it shows."""
    return [(" ".join(clause.split()), _knowledge_in(clause.strip())) for clause in _CLAUSE.split(ends(message))]


def _knowledge_in(clause: str) -> Knowing | None:
    shown = next((level for level, pattern in _KNOWLEDGE if pattern.search(clause)), None)
    hypothetical = _HYPOTHETICAL.match(clause) or _ASKS.match(clause)  # "how do I know what ..." claims nothing
    return None if hypothetical and shown != "confused" else shown


def without_cues(message: str) -> str:
    """Returns the message without the words about the user's mood and knowledge."""
    text = ends(message)
    for pattern in (_FRUSTRATED, _CONFUSED, _GOT_IT, _ADVANCED, _KNOWS):
        text = pattern.sub(" . ", text)
    return text


# --- phase --------------------------------------------------------------------------------------------------------

_PHASES: tuple[tuple[ConversationPhase, re.Pattern[str]], ...] = (
    (
        ConversationPhase.DEBUGGING,
        _any(
            r"(?:my|this|that|following|get|gets|getting|got|throws?|raises?|seeing|having|gives(?: me)?) "
            r"(?:an? |the |this )?(?:\w+ ){0,2}errors?(?! (?:function|rate|term|bar|correction|analysis|propagation))",
            r"error (?:message|code)|traceback|(?:get|got|throws?|raises?) an? (?:\w+ )?exception|stack trace|segfault",
            r"(?:it|app|program|script|model|page|code|notebook) (?:\w+ )?crash(?:es|ed|ing)",
            r"(?:i(?: am|['’]m)|got|get|getting) (?:\w+ )?stuck",
            r"(?:is|are|was) ?n['’]?t working|not working|(?:does|do|did)(?:n['’]?t| not) work",
            r"won['’]?t (?:work|start|run|load)",
            r"(?:it|this|that|code|model|script|training|build|install|login|upload) (?:\w+ )?(?:fails|failed|failing)",
            r"(?:what(?:['’]s| is)|what am i doing|something(?:['’]s| is)|went|goes|going) wrong",
            r"nan|bugs? in|debug(?:ging)?|fix (?:it|this|my|the)",
            r"fehlermeldung|funktioniert nicht|geht nicht",
            r"message d['’]erreur|ne (?:marche|fonctionne) pas",
            r"mensaje de error|no funciona",
            r"mensagem de erro|n[ãa]o funciona",
            r"报错|出错|不工作|无法运行",
            r"エラーが|動かな|動きませ",
        ),
    ),
    (
        ConversationPhase.REVIEWING,
        _any(
            r"earlier|(?:as )?you (?:said|mentioned|told me|explained)|(?:go|going|come|get|coming) back to|back to",
            r"remind me|recap|(?:we|you) (?:talked|discussed|covered|spoke)(?: about)?|previously",
            r"(?:explain|go over|say|repeat) [\w ]{0,30}again|review (?:what|the|our)",
            r"summari[sz]e (?:what|our|this conversation|the conversation)",
            r"vorhin|wie (?:du|sie) sagtest|zur[üu]ck zu",
            r"tout [àa] l['’]heure|vous avez dit|tu as dit|revenons [àa]",
            r"antes (?:dijiste|mencionaste)|volvamos a|antes (?:disse|mencionou)|voltando a",
            r"刚才|之前你说|你提到",
            r"さっき|先ほど|前に言",
        ),
    ),
    (
        ConversationPhase.APPLYING,
        _any(
            r"how (?:do|can|could|should|would|might) (?:i|we|you|one)|how to",
            r"(?:show|write|give|need|want|see|some|sample|example|python) (?:me )?(?:the |some |a |an |sample )?code",
            r"code (?:for|that|example|snippet|sample)|in (?:code|python|practice)|implement(?:s|ed|ing|ation)?",
            r"(?:an?|some|any|another|give|worked|more|for|concrete) (?:me )?(?:an? |some )?(?:\w+ )?examples?",
            r"show me how|use (?:it|this|that|them)|step by step|steps (?:to|for)|exercise",
            r"walk me through|apply (?:it|this|that)",
            r"wie (?:kann|mache|benutze|verwende) ich|beispiel",
            r"comment (?:puis-je|faire|utiliser)|exemple",
            r"c[óo]mo (?:puedo|hago|uso)|ejemplo|como (?:posso|fa[çc]o|uso)|exemplo",
            r"怎么(?:用|做|办|实现)|如何(?:使用|实现|做)|例子|代码",
            r"使い方|例を|やり方|コード",
        ),
    ),
    (
        ConversationPhase.UNDERSTANDING,
        _any(
            r"why|how(?! (?:about|many|much|long|old|tall|big|far|often|large))",
            r"compared?|compares|difference|differ|differs|different from|relationship|relates?|overlap|versus|vs",
            r"what causes|reasons? (?:for|why|behind)|intuition|what happens (?:if|when)|go deeper|derive|prove",
            r"warum|wieso|weshalb|wie|unterschied",
            r"pourquoi|comment (?:est|fait|marche|fonctionne|se|on|le|la|les)|diff[ée]rence",
            r"por qu[êée]|por que|c[óo]mo|diferen[cç]i?a",
            r"为什么|为何|怎么|如何|区别",
            r"なぜ|どうして|どのように|違い",
        ),
    ),
    (
        ConversationPhase.EXPLORING,
        _any(
            r"what(?:['’]s| is| are| was| were)|who(?:['’]s| is| are| was| were)|tell me about",
            r"explain|describe|define|introduce",
            r"was (?:ist|sind)|wer (?:ist|war)|erkl[äa]re?|qu['’]est-ce qu\w{1,2}|c['’]est quoi|qui est|expliquez?",
            r"qu[ée] (?:es|son)|qui[ée]n es|expl[ií]ca(?:me)?|o que (?:é|s[ãa]o)|quem é|explique",
            r"什么是|是什么|谁是|介绍",
            r"とは|って何|は何|説明",
        ),
    ),
)


def phase_of(message: str, again: bool = False) -> ConversationPhase | None:
    """Returns the phase that a message shows, the most specific first, or None ("tell me more").

    A request to explain a topic that was covered before (`again`) is about understanding, not exploring.
    """
    text = ends(message)
    phase = next((phase for phase, pattern in _PHASES if pattern.search(text)), None)
    if again and phase is ConversationPhase.EXPLORING and _EXPLAIN.search(text):
        return ConversationPhase.UNDERSTANDING
    return phase


_EXPLAIN = _any(r"explain|erkl[äa]re?|expliquez?|expl[ií]ca(?:me)?|explique", r"解释|説明")


# --- asking -------------------------------------------------------------------------------------------------------

_ASKS = re.compile(
    r"(?:(?:ok(?:ay)?|so|and|but|yes|no|well|hi|hello|hey|thanks|please|then|also|sorry|wait)[,.!]? ){0,3}"
    r"(?:what|how|why|who|whom|whose|when|where|which|is there|are there|is it|are|do you|does|did|can|could|would|"
    r"will|should|tell|explain|show|give|describe|define|list|compare|summari[sz]e|help|write|find|continue|go on|"
    r"go deeper|elaborate|i mean|i meant|i want to|i['’]d like to|i would like to|let['’]?s|let us|let me|"
    r"was|wie|warum|wer|wann|wo|kannst|können|qu['’]est|que|quoi|comment|pourquoi|quand|où|qu[ée]|c[óo]mo|cu[áa]ndo|"
    r"o que|como|por ?qu[eê])(?!\w)",
    re.I,
)
_ASKS_UNSPACED = re.compile(
    "什么|什麼|谁|为何|為何|怎么|怎麼|如何|吗$|嗎$|なぜ|どう|何ですか|か[。？]?$|教えて|説明して"
)
_TENTATIVE = re.compile(
    r"(?:because|maybe|perhaps|probably|possibly|i think|i guess|is it because|so (?:that )?(?:it|they))(?!\w)",
    re.I,
)
_NO_ANSWER = _any(
    r"(?:i )?(?:do not|don['’]?t) (?:really )?know|no idea|not sure|dunno|i have no clue",
    r"keine ahnung|wei(?:ß|ss) (?:ich )?nicht|je ne sais pas|no (?:lo )?s[ée]|n[ãa]o sei",
    r"不知道|不清楚",
    r"知りませ|知らな",
)


def asks(message: str) -> bool:
    """Whether a message asks for something, rather than stating or answering something."""
    text = message.strip()
    if _TENTATIVE.match(text):
        return False
    return bool(_ASKS.match(text) or _ASKS_UNSPACED.search(text[-MAX_END_CHARS:])) or text.endswith(("?", "？"))


def asks_about(word: str, message: str) -> bool:
    """Whether a question is about this very word: "what is dropout", "how does dropout work"."""
    pattern = rf"\b(?:(?:how|why) (?:do|does|did|is|are|was|were)|i meant?) (?:an? )?{re.escape(word)}\b"
    return phase_of(message) is ConversationPhase.EXPLORING or bool(re.search(pattern, message, re.I))


def asks_the_same(message: str) -> bool:
    """Whether a message asks the last question about something else: "and GPT?", "what about GPT"."""
    return bool(_THE_SAME.match(message.strip()))


_THE_SAME = re.compile(r"(?:and|or|but|(?:what|how) about|what of|und|et|y|e)(?!\w)", re.I)


def compares_it(message: str) -> bool:
    """Whether a message compares what was talked about with something else: "how does it compare to GPT?"."""
    return bool(_COMPARES_IT.match(message))


_COMPARES_IT = re.compile(  # not "is it true that ducks are smaller than geese?"
    r"\W*(?:[\w’'-]+ ){0,4}?(?:(?:is|are|was|were|do|does|did) (?:this|that|these|those)|it|they|he|she)"
    r"(?: (?!(?:that|and|or|but|true|said)\b)[\w’'-]+){0,3}?"
    r" (?:compared? (?:to|with)|differ(?:s|ent)? (?:from|to)|similar to|related to|versus|vs|than)\b",
    re.I,
)


def leaves_unanswered(message: str) -> bool:
    """Whether a reply to a question leaves it open: "I don't know", "I'm lost"."""
    return bool(_NO_ANSWER.search(ends(message))) or mood_of(message)[0] != "neutral"


_MATHEMATICS = _any(
    r"deriv(?:e|ed|ation|ative|atives)|formulas?|formulae|equations?|proofs?|prove|integrals?|theorem|matrix|matrices",
    r"(?:compute|calculate|solve|differentiate) [\w ]{0,40}|mathematically|the math(?:s|ematics)?|partial derivatives?",
    r"herleit\w{1,6}|formel|gleichung|d[ée]monstration|[ée]quation|f[óo]rmula|ecuaci[óo]n|equa[çc][ãa]o",
    r"公式|推导|方程",
    r"数式|方程式",
)
_WRITTEN_MATHEMATICS = re.compile(r"\$[^$\n]{1,200}\$|\\(?:frac|sum|int|nabla|partial|begin|\(|\[)|[∂∇∑∫√≤≥]|\w\^[\w{]")


def is_mathematical(message: str) -> bool:
    text = ends(message)
    return bool(_MATHEMATICS.search(text) or _WRITTEN_MATHEMATICS.search(text))


# --- answers ------------------------------------------------------------------------------------------------------

MAX_BRIEF_CHARS = 200  # a brief answer is shorter
OPENING_CHARS = 600  # the part of an answer that shows its type
CLOSING_CHARS = 1000  # the part at its end that may ask something
_MEANT = _any(
    r"(?:did|do) you mean|could you (?:clarify|be more specific|tell me (?:more|which))|can you clarify|please clarify",
    r"which (?:one|of these|of them)? ?(?:do|did|are) you (?:mean|referring)|what (?:exactly )?do you mean",
    r"meinst du|meinen sie|voulez-vous dire|quieres decir|quer dizer|您是指|你是说|という意味です",
)
_CODE = re.compile(r"```|~~~|^(?: {4}|\t)\S[^\n]*[=({;:]", re.M)
_EXAMPLE = _any(
    r"for example|for instance|as an example|here(?:['’]s| is) an example|imagine|suppose|consider the case|e\.g\.",
    r"zum beispiel|par exemple|por ejemplo|por exemplo|例如|比如|例えば",
)
_DECLINES = re.compile(
    r"(?:sorry,? |unfortunately,? |i['’]m sorry,? (?:but )?)?"
    r"(?:i (?:don['’]t|do not) know|i (?:could|can) ?(?:not|n['’]t) (?:find|answer)"
    r"|(?:the )?(?:documents?|evidence|library|passages?) (?:do|does) not)",
    re.I,
)
_HINT = re.compile(r"(?:try|think|take|let me know|hint|feel free|if you|just|remember|start|look)(?!\w)", re.I)
_QUOTED = ("“", '"', "«", "„", "「", ">")


def declines(answer: str) -> bool:
    """Whether an answer says that there is none."""
    return bool(_DECLINES.match(answer.lstrip()))


def response_type(answer: str, asked: Sequence[str]) -> ResponseType:
    """Returns the type of an answer that asks the user `asked`, the most specific first."""
    if _CODE.search(answer):
        return "code"
    prose = plain_text(answer)
    said = sentences(prose[:OPENING_CHARS])
    if len(asked) == 1 and len(said) <= 3 and _MEANT.search(asked[0]):
        return "clarification"
    if len(asked) >= 2 or (asked and len(said) <= 2):
        return "socratic"
    if len(_WRITTEN_MATHEMATICS.findall(answer)) >= 2 or "$$" in answer:
        return "math"
    examples = _EXAMPLE.findall(prose)
    if len(examples) >= 2 or (said and _EXAMPLE.search(said[0])):
        return "example"
    return "brief" if len(prose.strip()) < MAX_BRIEF_CHARS else "explanation"


def questions_asked(answer: str) -> list[str]:
    """Returns what an answer asks the user: the questions at its end, or before a final encouragement.

    A question inside an explanation is answered by what follows it, and one with a citation is a quotation.
    """
    said = sentences(_without_quotes(answer))
    if said and not _is_question(said[-1]) and _HINT.match(_without_bullet(said[-1])):
        said.pop()
    asked: list[str] = []
    while said and _is_question(said[-1]) and not CITATION.search(said[-1]):
        asked.append(_without_bullet(said.pop()))
    return [each for each in reversed(asked) if len(words(each)) > 1 or not each.isascii()]


def _without_quotes(answer: str) -> str:
    """Returns the end of an answer without code and quotations, but with its citations."""
    lines = re.sub(r"(?:```|~~~).*?(?:```|~~~|\Z)", "", answer[-CLOSING_CHARS:], flags=re.S).split("\n")
    return "\n".join(line for line in lines if not _without_bullet(line).startswith(_QUOTED))


def _is_question(sentence: str) -> bool:
    return CITATION.sub("", sentence).rstrip(" \"'”’)*_").endswith(("?", "？"))


def _without_bullet(sentence: str) -> str:
    return re.sub(r"^\s*(?:[-*•]|\d{1,3}[.)])?\s*", "", sentence).strip("*_ ")
