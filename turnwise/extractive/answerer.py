"""Answers without a language model: sentences of the evidence, chosen for the question, each with its citation."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence

from turnwise.dialogue.citing import repeats
from turnwise.dialogue.going_on import going_on
from turnwise.dialogue.intent import objection
from turnwise.dialogue.language import says
from turnwise.extractive.asking import (
    ALL_ABOUT,
    as_question,
    as_typed,
    leans_on_answer,
    subject_of,
    wants_only_more,
    without_aside,
    without_wishes,
)
from turnwise.extractive.choosing import candidates, choose, leads_of_document, nearest
from turnwise.extractive.counted import asked_of_one, total_of_several
from turnwise.extractive.foreign_judge import judged, may_be_read
from turnwise.extractive.going_on import goes_on, may_answer
from turnwise.extractive.kinds import QUANTITIES, answer_patterns, ask_for_phone, states_number
from turnwise.extractive.leaning import LIKELY, SURELY, answer_leaning, may_lean, names_another, was_completed
from turnwise.extractive.limits import what_applies
from turnwise.extractive.minutes import in_words_of_minutes, roll_called
from turnwise.extractive.named import of_what_is_named
from turnwise.extractive.reasons import asks_only_why, may_give_reasons, reason_told
from turnwise.extractive.reform import answer_objection, reform_last
from turnwise.extractive.repeating import answered_before
from turnwise.extractive.scoring import mark, score
from turnwise.extractive.statements import Candidate, asked_stems, cited_last, stems_of, stems_with_headings
from turnwise.extractive.tables import answer_from_tables
from turnwise.extractive.tables.drawn import drawn_rows
from turnwise.extractive.writing import (
    dont_know,
    in_preferred_form,
    is_quoted,
    mark_said_rows,
    quote,
    tool_results,
    write,
)
from turnwise.text import sentences
from turnwise.types import Evidence, Hit, Judge, Matcher, Prompt
from turnwise.works import named_work

MAX_QUESTIONS = 8  # of one message that are answered
MAX_PARTS = 4  # sentences of a question that are asked one by one if nothing answers all of it


class ExtractiveAnswerer:
    """A ChatModel that only quotes: it cannot invent, and it says so when the evidence does not answer.

    The judge reads a question and a sentence together and says how likely one answers the other (log-odds). It reads
    the sentences that match the question best, by its words alone or as the matcher says. The foreign judge reads those
    in German, French, Spanish and Portuguese, with what was said before; without it, their words decide.
    """

    name = "extractive"
    quotes = True

    def __init__(self, judge: Judge, matcher: Matcher | None = None, foreign_judge: Judge | None = None) -> None:
        self._judge = judge
        self._matcher = matcher
        self._foreign_judge = foreign_judge

    async def stream(self, prompt: Prompt) -> AsyncIterator[str]:
        text = await asyncio.to_thread(self.answer, prompt)
        for line in re.split(r"(?<=\n)|(?<=\] )", text):
            yield line

    def answer(self, prompt: Prompt) -> str:
        if prompt.form:
            drawn = drawn_rows(prompt.said[-1], candidates(prompt)) if prompt.form == "table" and prompt.said else ""
            return drawn or reform_last(prompt)
        from_tools = tool_results(prompt)
        pool = _pool(prompt)
        if from_tools and not pool:
            return from_tools
        parts = [from_tools] if from_tools else []
        going = going_on(prompt.question)
        if (further := goes_on(prompt, pool)) is not None:
            no_more = says(prompt.language, "frustrated" if going == "failed" else "no_more")
            return "\n\n".join([*parts, further or no_more])
        pool = may_answer(prompt, pool)
        if asks_only_why(prompt):
            pool = may_give_reasons(pool, prompt)
        answer_before = answered_before(prompt)
        told = [each for each in pool if answer_before and is_quoted(each, [answer_before])]
        for candidate in told:
            candidate.said = False
        unanswered: list[tuple[str, Candidate | None]] = []
        for asked in prompt.asked[:MAX_QUESTIONS]:
            question = as_question(ALL_ABOUT.sub("", without_wishes(asked)))
            answered = self._add_answer(question, pool, prompt, parts, as_typed(question, prompt))
            several = [] if going else sentences(question)  # a part of the question before is not asked again
            for each in several[:MAX_PARTS] if not answered and len(several) > 1 else ():
                answered = self._add_answer(each, pool, prompt, parts) or answered
            if not answered and prompt.sides and len(prompt.asked) == 1:  # no sentence tells the difference
                answered = self._add_answer(" vs ".join(prompt.sides), pool, prompt, parts)
            if not answered:
                unanswered.append((question, nearest(question, pool, prompt)))
        if parts and not repeats(parts[0]) and any(is_quoted(each, parts[:1]) for each in told):
            parts[0] = says(prompt.language, "again") + parts[0]
        if prompt.said and (kind := objection(prompt.question, prompt.language)):
            return answer_objection(kind, [part for part in parts if not repeats(part)], prompt)
        parts += [dont_know(question, near, prompt) for question, near in unanswered[:2]]
        return "\n\n".join(parts)

    def _add_answer(
        self, question: str, pool: Sequence[Candidate], prompt: Prompt, parts: list[str], typed: str = ""
    ) -> bool:
        """Add an answer to the parts, unless one of them has it already. If there is none to the question, the question
        as it was `typed` is tried. Returns whether there is an answer."""
        pool = of_what_is_named(question, prompt.question, pool)
        if leads := leads_of_document(question, pool):
            listed = "\n".join(f"- {quote(each)}" for each in leads)
            sections = len({each.evidence.passage.heading for each in leads}) > 1
            parts.append(
                f"{says(prompt.language, 'sections_begin')}\n\n{listed}" if sections else " ".join(map(quote, leads))
            )
            return True
        from_tables = answer_from_tables(question, pool, prompt)
        of_one = asked_of_one(question, pool)
        told = what_applies(prompt, pool) or reason_told(prompt, pool)
        chosen = [] if from_tables else told or self._choose_for(of_one or question, pool, prompt)
        if from_tables and from_tables not in parts:
            parts.append(from_tables)
        if not chosen and not from_tables and (bare := without_aside(question, prompt)):
            chosen = [each for each in self.choose(bare, pool, prompt) if not each.said]
        if typed and not from_tables and all(_is_beside(each, prompt) for each in chosen):
            new = [each for each in self.choose(typed, pool, prompt) if not each.said]
            chosen = new or (self.choose(of_one or question, pool, prompt) if chosen else [])
        if not chosen and not from_tables and leans_on_answer(question, prompt):
            chosen = self._in_last_answer(pool, prompt)
        if chosen and not is_quoted(chosen[0], parts):
            total = total_of_several(question, chosen, pool) if of_one else ""
            text = in_preferred_form(write(of_one or question, chosen, pool, prompt), prompt)
            if len(prompt.asked) > 1 and (work := named_work(question, chosen[0].evidence.passage)):
                text = f"**{work[0].upper()}{work[1:]}**: {text}"
            parts.append("\n\n".join(filter(None, (text, total))))
        for each in pool:
            each.said = each.said or is_quoted(each, parts)  # so that no other part repeats it
        return bool(chosen or from_tables)

    def _in_last_answer(self, pool: Sequence[Candidate], prompt: Prompt) -> list[Candidate]:
        """The sentence that answers the message as it was typed in what the last answer cites, if it has all words of
        the message: "is that heated?" may mean another thing there than the one that completed the question. Or else a
        new one in that document with one of these words: "is that cheaper for groups?"."""
        asked, answered = asked_stems(prompt.question), any(prompt.said[-1:])
        cited = cited_last(pool, prompt) if answered else pool
        near = [each for each in cited if asked <= stems_of(each.text)]
        if near and (chosen := self.choose(prompt.question, near, prompt)):
            return chosen[:1]
        documents = {each.evidence.passage.document_id for each in cited}
        beside = [each for each in pool if each.evidence.passage.document_id in documents and not each.said]
        chosen = self.choose(prompt.question, beside, prompt) if answered and beside else []
        return [each for each in chosen if asked & stems_of(each.text)][:1]

    def answers(self, question: str, hits: Sequence[Hit], said: Sequence[str]) -> bool:
        """Whether these passages answer a question with something that was not said before."""
        evidence = tuple(Evidence(number, hit) for number, hit in enumerate(hits, 1))
        prompt = Prompt((), question, (question,), evidence, tuple(said))
        return any(not each.said for each in self.choose(question, _pool(prompt), prompt))

    def _choose_for(self, question: str, pool: Sequence[Candidate], prompt: Prompt) -> list[Candidate]:
        """The sentences that answer a question of the message, best first. A short message in a conversation is read as
        typed too: where there are rules for what it asks, only if they find nothing that surely answers."""
        if pool and self._foreign_judge is not None and may_be_read(prompt):
            return self._choose_foreign(question, pool, prompt, self._foreign_judge)
        if not pool or not may_lean(prompt):
            return self.choose(question, pool, prompt)
        completed = was_completed(question, prompt)
        again = completed and names_another(question, prompt)
        if again or answer_patterns(question, QUANTITIES):
            chosen = self.choose(question, pool, prompt)
            if chosen and (again or not completed or _is_sure(chosen[0])):
                return chosen
            least = SURELY if chosen or not completed else LIKELY
            return self._choose_leaning(question, pool, prompt, least) or chosen
        if not completed:
            return self.choose(question, pool, prompt) or self._choose_leaning(question, pool, prompt, SURELY)
        mark(question, pool, prompt)
        if any(each.statement.is_row and each.meant for each in pool):
            chosen = self.choose(question, pool, prompt)
            if chosen and chosen[0].statement.is_row:
                return chosen
        return self._choose_leaning(question, pool, prompt, LIKELY) or self.choose(question, pool, prompt)

    def _choose_foreign(
        self, question: str, pool: Sequence[Candidate], prompt: Prompt, judge: Judge
    ) -> list[Candidate]:
        """The sentences that answer a message in a language that the judge of English cannot read: as the one for other
        languages says, or the words if it agrees with them."""
        opinion = judged(question, pool, prompt, judge)
        if opinion.answer:
            return opinion.answer
        by_words = self.choose(question, pool, prompt)
        return by_words if by_words and opinion.agrees(by_words[0]) else []

    def _choose_leaning(
        self, question: str, pool: Sequence[Candidate], prompt: Prompt, least: float
    ) -> list[Candidate]:
        """The sentences that answer the message as it was typed and after the last question."""
        if not pool or self._matcher is None or wants_only_more(prompt):
            return []
        return answer_leaning(question, pool, prompt, self._judge, self._matcher, least)

    def choose(self, question: str, pool: Sequence[Candidate], prompt: Prompt) -> list[Candidate]:
        """The sentences that answer a question, best first."""
        phone = ask_for_phone(question)
        if phone and (stated := [each for each in pool if states_number(question, each.text)]):
            return stated[:1]
        if roll := roll_called(question, pool, prompt):
            return roll
        asked = subject_of(question, prompt) if wants_only_more(prompt) else question
        score(asked, pool, prompt, self._judge, self._matcher)
        chosen = choose(question, pool, prompt)
        others = () if chosen else filter(None, (phone, *in_words_of_minutes(question)))
        return next(filter(None, (self.choose(each, pool, prompt) for each in others)), chosen)


def _is_beside(each: Candidate, prompt: Prompt) -> bool:
    """Whether a sentence was said before and has nothing of the message: just the words that completed it. One that
    surely answers the message as typed is no such."""
    return each.said and each.likely < SURELY and asked_stems(prompt.question).isdisjoint(stems_with_headings(each))


def _is_sure(each: Candidate) -> bool:
    """Whether a sentence with an amount or a time surely is the one asked for: a row, or what was told of it before."""
    return each.statement.is_row or each.said or each.score >= SURELY


def _pool(prompt: Prompt) -> list[Candidate]:
    """What an answer may use, with the rows marked that were told in words."""
    pool = candidates(prompt)
    mark_said_rows(pool, prompt.said)
    return pool
