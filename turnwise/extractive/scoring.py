"""How well each sentence answers a question: by its words, by its form, and by a judge that reads both."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence, Set
from dataclasses import replace

from turnwise.dialogue.irregular import base_stems
from turnwise.extractive.asking import (
    ASKS_THE_WAY,
    EXAMPLE,
    HOW_IT_WORKS,
    HOW_TO,
    MATERIALS,
    NEEDS,
    PRONOUN,
    TELLS_THE_WAY,
    added_weights,
    defined_topic,
    is_teacher_asked,
    wants_only_more,
    wants_several,
)
from turnwise.extractive.foreign import (
    foreign_stems,
    headings_of,
    is_foreign,
    lacks,
    mark_foreign_rows,
    measures_in,
    named_in,
    question_stems,
    says_whom,
    words_in,
)
from turnwise.extractive.kinds import (
    OPENING_WORDS,
    QUANTITIES,
    SURE_KINDS,
    UNSURE_KINDS,
    answer_patterns,
    counts_kinds,
    gives,
    is_about_another,
    states_amount,
    states_version,
    tells_how_long,
    tells_measure,
    tells_moment,
    without_measures,
)
from turnwise.extractive.minutes import tells_in_minutes
from turnwise.extractive.periods import PERIOD_STEMS
from turnwise.extractive.rows import by_table, implied_price_words, mark_rows, tells_hours
from turnwise.extractive.sides import WORK
from turnwise.extractive.statements import (
    LEADING_PRONOUN,
    Candidate,
    asked_stems,
    has_formula,
    line_above,
    section_of,
    stems_of,
    stems_with_headings,
)
from turnwise.text import ITEM, UNSPACED, asks, content_stems, ends
from turnwise.types import ConversationState, Judge, Matcher, Passage, Prompt
from turnwise.works import (
    ALL_FINDINGS,
    asks_for_authors,
    asks_for_findings,
    asks_for_gist,
    best_scores,
    concludes,
    gives_results,
    is_abstract,
    named_documents,
    tells,
    tells_method,
)

WORDS_WEIGHT = 0.15  # share of the score that rests on the question's words; the rest is the judge's opinion
GUESSED_WORDS_WEIGHT = 0.5  # the same if some words were guessed from the conversation, which the judge cannot know
JUDGED = 4  # sentences that the judge reads, those that match the question best
JUDGED_OF_SEVERAL = 6  # the same if one sentence is not enough
JUDGED_OF_MORE = 8  # the same if the user wants to hear more: the best ones were said before
MATCH_WEIGHT = 1.7  # of the matcher's score, beside the words: it differs less between sentences
GIVES_BONUS = 0.4  # in choosing what the judge reads, for a sentence with an amount or time, if one is asked for
FINDING_BONUS = 1.0  # the same for a sentence that says just what is asked for: what a study found, how much it is
STATED_BONUS = 0.25  # for such a sentence in the end
RESULT_BONUS = 0.15  # the same for one in the section of results, which may say it in figures
RANK_PENALTY = 0.06  # for each passage that the search ranked higher
MIN_FOREIGN_SHARE = 0.15  # of the words of a question that a sentence must have where the judge cannot read it
UNJUDGED_PENALTY = 0.3  # for a sentence that the judge cannot read
UNNAMED_SHARE = 0.6  # of its share that counts if the message names nothing itself, and only the last question did
MAX_ADDED_WEIGHT = 0.5  # of all words that only the last question has, beside a word of the message itself
MEASURE_PENALTY = 0.25  # for one with a price or time that only its heading links to the question, if another has both
REPEATED_PENALTY = 0.15  # for a sentence that was said before

_SAYS_HOW = re.compile(  # what is done with something, how much it is or how it compares, and not what it is
    r" (?:(?:also|only|often|usually|then|not|about|therefore|thus|now|still|much|far) )*"
    r"(?:(?!(?:defin|call|nam|describ)ed)\w+[^e\W]ed\b|[−–$€£¥-]? ?\d|\w+[^\W]er (?:than|and)\b)",
    re.I,
)
_TITLE = r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Sir|Dame)\.?"
_ARTICLE = r"(?:the|an?|our|your|its|their|his|her)"
COMPARED = stems_of("compare comparison difference differ versus agree disagree contradict conflict")
_FINDING = re.compile(
    r"(?:in conclusion|(?:we|they|(?:the|our|these) (?:authors|study|paper|results|findings|data))(?: \w+){0,3}?"
    r" (?:conclude|find|found|show|suggest|demonstrate|indicate|reveal|discover)(?:d|ed|s|n)?)\b",
    re.I,
)
_CITES_ANOTHER = re.compile(
    r"[A-Z][\w’'-]+(?:,? et al\.?|,? (?:and|&) [A-Z][\w’'-]+)?,? \(?(?:19|20)\d\d"
)  # "Ek (2001) found"
_ASKS_TIME = re.compile(r"(?:and |so )?(?:when|what time|which day|what day|which week)\b", re.I)
_ASKS_FORMULA = re.compile(r"\b(?:formulas?|formulae|equations?)\b", re.I)
_GIVES_EXAMPLE = re.compile(
    r"\b(?:for example|for instance|such as|suppose|imagine|e\.g\.)|(?<![.@\w-])examples?\b", re.I
)


def score(question: str, pool: Sequence[Candidate], prompt: Prompt, judge: Judge, matcher: Matcher | None) -> None:
    """Score the sentences by their words, then have the judge score the likeliest ones; the others stay at 0."""
    wanted, chances = asked_stems(question), added_weights(prompt)
    mark(question, pool, prompt)
    marked = with_mark(question)
    named = named_documents(marked, [each.evidence.passage for each in pool])
    naming = {document: wanted - asked_stems(unnamed) | WORK for document, unnamed in named.items()}
    if foreign := is_foreign(prompt.language):
        mark_foreign_rows(pool, question, " ".join(term.text for term in prompt.added), prompt.language)
        by_words = foreign_word_scores(question, pool, prompt)
    else:
        by_words = _word_scores(question, pool, chances, naming)
    likely = [each for each in pool if each.meant and not (named and _of_another_work(each, named))]
    of_works = bool(named) or not wanted.isdisjoint(WORK) or bool(PRONOUN.search(prompt.question))
    if len(named) > 1 and prompt.sides and wanted <= COMPARED.union(*naming.values()):
        question = marked = ALL_FINDINGS
    findings = _told_of_works(question, pool, named) if of_works else _stated_findings(question, pool)
    if findings:
        named = {}  # "what did the study find?" says too little
    matches = _matches(marked, likely, matcher if prompt.language == "en" else None, named)  # it knows English only
    likely.sort(
        key=lambda each: (
            RANK_PENALTY * each.rank
            - by_words[id(each)]
            - MATCH_WEIGHT * matches[id(each)]
            - GIVES_BONUS * gives(each, question, QUANTITIES)
            - FINDING_BONUS * max(findings.get(id(each), 0.0) / STATED_BONUS, _states(each, question))
            + REPEATED_PENALTY * each.said
        )
    )
    if UNSPACED.search(question):  # the judge reads English: here the words alone decide
        for each in (each for each in pool if UNSPACED.search(each.text)):
            each.score = by_words[id(each)] - UNJUDGED_PENALTY
        likely = [each for each in likely if not UNSPACED.search(each.text)]
    guessed = any(chances.get(key, 1.0) < 0.5 for key in wanted)
    word_weight = GUESSED_WORDS_WEIGHT if guessed else WORDS_WEIGHT
    several = JUDGED_OF_SEVERAL if findings or wants_several(prompt) else JUDGED
    tables = _read_together(likely, JUDGED_OF_MORE if wants_only_more(prompt) else several)
    judged = best_scores(judge.odds, marked, [reading_of(rows[0]) for rows in tables], named)
    for rows, odds in zip(tables, judged, strict=True):
        opinion = 1 / (1 + math.exp(-odds / 2))
        for each in rows:
            known: Set[str] = naming.get(each.evidence.passage.document_id, frozenset())
            each.under_asked = (of_works and id(each) in findings) or _is_under_asked(each, question, known)
            combined = (1 - word_weight) * opinion + word_weight * by_words[id(each)]
            each.score = combined + _bonus(each, question, prompt.state, known) + findings.get(id(each), 0.0)
    if foreign:
        _correct_by_words(likely, question, by_words, prompt.language)


def mark(question: str, pool: Sequence[Candidate], prompt: Prompt) -> None:
    """Mark what a question means among the sentences and the rows of tables."""
    asked = asked_stems(question)
    for each in pool:
        each.ask(asked)
    mark_rows(pool, question, added_weights(prompt), prompt)


def with_mark(question: str) -> str:
    """A question with its mark: without it, the models read it differently."""
    return question if ends(question) else f"{question.rstrip()}?"


def _read_together(likely: Sequence[Candidate], most: int) -> list[list[Candidate]]:
    """The sentences that the judge reads, each with the others that answer alike: the rows of a table that are meant by
    its place."""
    alike = {id(rows[0]): rows for rows in by_table([each for each in likely if each.by_place])}
    others = {id(each) for rows in alike.values() for each in rows[1:]}
    return [alike.get(id(each), [each]) for each in likely if id(each) not in others][:most]


def _correct_by_words(likely: Sequence[Candidate], question: str, by_words: Mapping[int, float], language: str) -> None:
    """Correct the scores in a language that the judge cannot read: it may miss what the words tell, or see what they do
    not."""
    names = bool(foreign_stems(question, language))
    for each in likely:
        told = by_words[id(each)] > MIN_FOREIGN_SHARE
        doubted = each.score if names and told else each.score - UNJUDGED_PENALTY
        each.score = max(doubted, by_words[id(each)] - UNJUDGED_PENALTY)
        whom = says_whom(each, question, language)
        if lacks(each, question, language) or whom is False:
            each.score -= UNJUDGED_PENALTY
        elif whom and told:
            each.score += STATED_BONUS


def _of_another_work(candidate: Candidate, named: Container[int]) -> bool:
    """Whether a sentence is in another work than those `named`, which may have found something else."""
    passage = candidate.evidence.passage
    return passage.reference is not None and passage.document_id not in named


def _told_of_works(question: str, pool: Sequence[Candidate], named: Container[int]) -> dict[int, float]:
    """The bonus of each sentence that tells what a study found, what a work is about or who wrote it, if nothing else
    is asked of it: of those in the section for it, and of those that say so. It is in one of the `named` documents."""
    pool = [each for each in pool if not named or each.evidence.passage.document_id in named]
    if asks_for_authors(question) and not named:
        return {}
    if not asks_for_findings(question):
        return {id(each): STATED_BONUS for each in pool if tells(each.evidence.passage, question)}
    results = [each for each in pool if gives_results(each.evidence.passage)]
    lasts = {each.evidence.number: each for each in pool if is_abstract(each.evidence.passage)}.values()
    main = [each for each in results if each.position == 0 or concludes(each.evidence.passage)]
    stated = {id(each): STATED_BONUS for each in (*main, *lasts)}  # an abstract ends with what was found
    return {id(each): RESULT_BONUS for each in results} | stated | _stated_findings(question, pool)


def _stated_findings(question: str, pool: Sequence[Candidate]) -> dict[int, float]:
    """The bonus of each sentence that says "we found", if a question asks for that."""
    asked = asks_for_findings(question)
    return {id(each): STATED_BONUS for each in pool if asked and _FINDING.match(each.text)}


def _matches(
    question: str, pool: Sequence[Candidate], matcher: Matcher | None, named: Mapping[int, str]
) -> dict[int, float]:
    """How well each sentence matches the question; all alike without a matcher. A row that is meant by its place
    matches as well as the best such row of its table."""
    scores = [0.0] * len(pool)
    if matcher:
        scores = best_scores(matcher.scores, question, [reading_of(each) for each in pool], named)
    matches = {id(each): score for each, score in zip(pool, scores, strict=True)}
    for table in by_table([each for each in pool if each.by_place]):
        best = max(matches[id(each)] for each in table)
        matches |= {id(each): best for each in table}
    return matches


def reading_of(candidate: Candidate) -> Passage:
    """What a model reads of a sentence: the sentence itself, with the headings of its passage."""
    return replace(candidate.evidence.passage, text=candidate.reading)


def _word_scores(
    question: str, pool: Sequence[Candidate], chances: Mapping[str, float], naming: Mapping[int, Set[str]]
) -> dict[int, float]:
    """How much of the question each sentence has (0 to 1): rare words count more, words that may not be meant less, and
    words in its headings or `naming` its document a little less."""
    wanted = asked_stems(question)
    if HOW_IT_WORKS.search(question):  # here "work" says little
        chances = {"work": 0.5, **chances}
    own_words = {
        id(each): stems_of(each.statement.row or each.text) | implied_price_words(each, wanted) for each in pool
    }
    around = {
        each.evidence.number: stems_of(f"{each.evidence.passage.called} {each.evidence.passage.heading}")
        | naming.get(each.evidence.passage.document_id, frozenset())
        for each in pool
    }
    near = {}
    for each in pool:
        leant_on = stems_of(each.statement.before) if each.needs_previous else frozenset[str]()
        near[id(each)] = around[each.evidence.number] | stems_of(each.statement.above) | leant_on
    return _shares(pool, {key: chances.get(key, 1.0) for key in wanted}, own_words, near)


def foreign_word_scores(question: str, pool: Sequence[Candidate], prompt: Prompt) -> dict[int, float]:
    """The same in another language, where the words of the last question count a little if the message leans on it. A
    price or a time counts only with another word of the question, best in the sentence itself."""
    language = prompt.language
    chances = {key: term.weight for term in prompt.added for key in foreign_stems(term.text, language)}
    if typed := question_stems(question, language):
        chances = {key: min(chance, MAX_ADDED_WEIGHT / len(chances)) for key, chance in chances.items()}
    chances |= dict.fromkeys(typed, 1.0)
    wanted = chances.keys()
    own = {id(each): words_in(each, wanted, language) for each in pool}
    measures = {id(each): measures_in(each, wanted, language) for each in pool}
    near = {id(each): headings_of(each, wanted, language) for each in pool}
    asked = 1.0 if any(chance == 1.0 for chance in chances.values()) else UNNAMED_SHARE
    shares = _shares(pool, chances, {key: own[key] | measures[key] for key in own}, near)
    named = {key: named_in(own[key] & wanted, language) for key in own}
    leaning = MEASURE_PENALTY if any(named[key] and measures[key] for key in own) else 0.0
    found = {}
    for key, share in shares.items():
        if not named[key] and near[key].isdisjoint(wanted):
            found[key] = 0.0
        else:  # a price under the heading that is asked for may be that of something else
            found[key] = asked * share - (leaning if measures[key] and not named[key] else 0.0)
    return found


def _shares(
    pool: Sequence[Candidate], chances: Mapping[str, float], own: Mapping[int, Set[str]], near: Mapping[int, Set[str]]
) -> dict[int, float]:
    """How much of the words that may be asked for each sentence has itself or near it."""
    frequency = Counter(key for stems in own.values() for key in stems & chances.keys())
    weight = {key: math.log(1 + len(pool) / (1 + frequency[key])) * chance for key, chance in chances.items()}
    total = sum(weight.values()) or 1.0

    def share(each: int) -> float:
        return sum(weight[key] * (1.0 if key in own[each] else 0.85 if key in near[each] else 0.0) for key in weight)

    return {id(each): share(id(each)) / total for each in pool}


def _bonus(candidate: Candidate, question: str, state: ConversationState | None, naming: Set[str]) -> float:
    """A bonus for a sentence in the form that the question or the conversation calls for; a penalty for one that needs
    the previous sentence, is about something else, or introduces what the user knows already."""
    sentence, bonus = candidate.text, 0.0
    if LEADING_PRONOUN.match(sentence) and candidate.position == 0:
        bonus -= 0.1
    if (asks_for_findings(question) or asks_for_gist(question)) and _CITES_ANOTHER.match(sentence):
        bonus -= 0.3
    if not gives(candidate, question, SURE_KINDS):
        bonus -= 0.2
    if not gives(candidate, question, UNSURE_KINDS):
        bonus -= 0.1
    if is_about_another(candidate, question):
        bonus -= 0.3
    asked = defined_topic(question)
    named = _ASKS_FORMULA.sub(" ", asked) if has_formula(sentence) else asked  # a formula need not say that it is one
    if asked and not base_stems(content_stems(named)) <= stems_with_headings(candidate) | naming:
        bonus -= 0.2
    if asked and (defines(asked, sentence) or defines_in_passing(asked, sentence) or _opens_on(asked, candidate)):
        bonus += 0.25
    if _states(candidate, question) or (candidate.under_asked and HOW_TO.search(question)):
        bonus += STATED_BONUS
    elif is_asked_above(candidate, question) or candidate.under_asked:
        bonus += 0.15
    if HOW_TO.search(question) and candidate.is_item:
        bonus += 0.1
    if state is not None and not asked:
        if state.skip_introduction and state.topic and defines(state.topic, sentence, " (?:an?|the|one of)"):
            bonus -= 0.25
        tired = len(state.response_types) > 1 and set(state.response_types[-2:]) == {"explanation"}
        if (tired or state.mood == "confused") and _GIVES_EXAMPLE.search(sentence):
            bonus += 0.05
    return bonus


def _states(candidate: Candidate, question: str) -> bool:
    """Whether a sentence says just what is asked for, by its form or place."""
    return (
        states_amount(question, candidate.text)
        or states_version(question, candidate)
        or tells_how_long(question, candidate.text)
        or _tells_amount_first(candidate, question)
        or (bool(EXAMPLE.search(question)) and gives_example(candidate))
        or _is_formula_asked(candidate, question)
        or lists_materials(candidate, question)
        or (candidate.is_item and counts_kinds(question, candidate))
        or tells_method(candidate.evidence.passage, question)
        or tells_in_minutes(question, candidate)
        or _is_timed(candidate, question)
        or is_teacher_asked(candidate, question)
        or tells_measure(candidate, question)
    )


def _is_timed(candidate: Candidate, question: str) -> bool:
    """Whether a row begins with a time and has all else of a question when something is: "8:40 | Doors open"."""
    asked, name = without_measures(asked_stems(question)), candidate.statement.name
    own = stems_of(" ".join(cell for _, cell in candidate.statement.cells[1:]))
    return bool(asked) and asked <= own and _ASKS_TIME.match(question) is not None and tells_moment(name)


def _is_formula_asked(candidate: Candidate, question: str) -> bool:
    """Whether a sentence has a formula, and the question asks for one, of something that it or a heading names."""
    about, asked = _ASKS_FORMULA.subn(" ", question)
    wanted = asked_stems(about)
    return bool(asked) and has_formula(candidate.text) and (not wanted or bool(wanted & stems_with_headings(candidate)))


def lists_materials(candidate: Candidate, question: str) -> bool:
    """Whether an item is in a list of what is needed, and the question asks for that: "what do I need for it?"."""
    heading = line_above(candidate).rstrip(": ")
    return candidate.is_item and bool(NEEDS.search(question) and MATERIALS.fullmatch(heading))


def is_asked_above(candidate: Candidate, question: str) -> bool:
    """Whether the heading of the sentence is the question itself, as in a list of frequently asked questions, or that
    of the row all that is asked for: "what are your opening hours?". The question may name the document, and ask for
    the hours of a day."""
    passage, is_row = candidate.evidence.passage, candidate.statement.is_row
    heading, own = section_of(passage), asked_stems(question)
    asked, named = asked_stems(heading), stems_of(passage.called)
    if is_row and own & OPENING_WORDS and tells_hours(candidate):
        return candidate.meant and without_measures(own) <= OPENING_WORDS | PERIOD_STEMS | named | stems_of(
            candidate.text
        )
    return (is_row or asks(heading)) and len(own) > 1 and asked <= own <= asked | named


def _tells_amount_first(candidate: Candidate, question: str) -> bool:
    """Whether a sentence opens the section that is all a question asks the amount of: "Everyone has 25 days." under
    "Holidays"."""
    heading = line_above(candidate)
    if candidate.position or candidate.statement.is_row or not heading or not answer_patterns(question, QUANTITIES):
        return False
    return stems_of(heading) == without_measures(asked_stems(question)) and gives(candidate, question, QUANTITIES)


def gives_example(candidate: Candidate) -> bool:
    """Whether a sentence speaks of an example, or stands below the word: "Example. A rod of steel is 2 m long." """
    return bool(_GIVES_EXAMPLE.search(f"{section_of(candidate.evidence.passage)} {candidate.statement.whole}"))


def _is_under_asked(candidate: Candidate, question: str, naming: Set[str]) -> bool:
    """Whether the heading of the sentence is all that the question asks about, apart from words `naming` the document:
    "what was the design of the 2019 study?" is answered under "2.1 Design"."""
    section, own = section_of(candidate.evidence.passage), asked_stems(question)
    if HOW_TO.search(question) and HOW_TO.match(section):  # "How to study", in the guide for the exam
        about = asked_stems(section)
        return bool(about) and about <= own and own - about <= stems_of(candidate.evidence.passage.called)
    if ASKS_THE_WAY.search(question) and TELLS_THE_WAY.fullmatch(section):
        return asked_stems(ASKS_THE_WAY.sub(" ", question)) <= stems_of(candidate.evidence.passage.called)
    works = HOW_IT_WORKS.search(question)
    wanted = asked_stems(works[1] if works else defined_topic(question))
    headings = section, candidate.statement.above
    return bool(wanted - naming) and any(wanted - naming <= asked_stems(each) <= wanted for each in headings)


def defines(topic: str, sentence: str, as_what: str = "") -> bool:
    """Whether a sentence says what a topic is, and not what is done with it, as in "BERT is trained". The entry of a
    glossary does: "Ferry - a boat that ..."."""
    if not as_what and re.match(rf"(?:{ITEM.pattern})?{re.escape(topic)}(?: \([^)]*\))?(?: [-–—] |: )", sentence, re.I):
        return True
    pattern = rf"(?:an? |the )?{re.escape(topic)}\b[^.,]{{0,40}}? (?:is|are|was|were|means|refers to){as_what}\b"
    found = re.match(pattern, sentence, re.I)
    return found is not None and (bool(as_what) or not _SAYS_HOW.match(sentence, found.end()))


def defines_in_passing(topic: str, sentence: str) -> bool:
    """Whether a sentence says in passing who or what a topic is: "the head teacher, Mrs Adeyemi," says it of both,
    "this part is called the yield" of the yield, and "where F is the force" of F."""
    topic = re.escape(topic)
    if re.search(
        rf"\b(?:where|here)\b.*(?:,|\band) {topic} (?:an?|the)\b", sentence, re.I
    ):  # "p is the price, v the value"
        return True
    meaning = re.search(
        rf"(?:[,;] |\b(?:where|here|and) ){topic} (?:is|are|means|denotes|stands for)\b", sentence, re.I
    )
    if meaning and not _SAYS_HOW.match(sentence, meaning.end()):
        return True
    if re.search(rf"\b(?:called|termed|known as) (?:{_ARTICLE} )?[*_“\"]*{topic}\b", sentence, re.I):
        return True
    name = rf"(?:{_TITLE} )?(?-i:[A-Z])[\w’'.-]*(?: (?-i:[A-Z])[\w’'.-]*){{0,3}}"
    role = rf"{_ARTICLE} [\w’'-]+(?: [\w’'-]+){{0,4}}"
    named = rf"(?:{_TITLE} )?(?:(?-i:[A-Z])[\w’'.-]* ){{0,2}}(?=(?-i:[A-Z])){topic}"
    return any(
        re.search(rf"\b{pattern}(?=[,.;:)]|$)", sentence, re.I)
        for pattern in (rf"{_ARTICLE} {topic}, {name}", rf"{role}, {named}", rf"{named}, {role}")
    )


def _opens_on(topic: str, candidate: Candidate) -> bool:
    """Whether a sentence begins with the topic and is the first in the section or document of that name."""
    passage, key = candidate.evidence.passage, base_stems(content_stems(topic))
    opens = candidate.position == 0 and base_stems(content_stems(section_of(passage) or passage.title)) == key
    return opens and bool(re.match(rf"(?:{_ARTICLE} )?{re.escape(topic)}", candidate.text, re.I))
