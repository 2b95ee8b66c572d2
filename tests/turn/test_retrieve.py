"""The passages that the searches of a plan find together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from turnwise.turn.retrieve import MAX_PASSAGES, Earlier, SearchContext, carry_out, earlier_passages, find, merged_hits
from turnwise.types import Filter, Hit, Message, Passage, QueryPlan, Reference, SearchQuery, Source, Step

SENTENCE = "The treaty was signed in Münster by all the powers of the war in the year 1648"


def hits(*ids: int, fall: float = 0.1) -> list[Hit]:
    return [Hit(Passage(number, 0, "", "", ""), 1.0 - fall * place) for place, number in enumerate(ids)]


def saying(*texts: str) -> list[Hit]:
    return [Hit(Passage(number, 0, "", "", text), 1.0) for number, text in enumerate(texts, 1)]


FOUND = {"both": hits(1, 2, 3, 4, 5, 6), "left": hits(1, 11, 12, 13, 14, 15), "right": hits(21, 2, 22, 23, 24, 25)}
FOUND |= {"many": hits(*range(1, 31)), "equal": hits(1, 2, 3, fall=0.0), "nothing": []}
RENT = "The rent of the flat is {} euros a month, to be paid by {} on the first day to the account of the landlord"
FOUND["forms"] = saying(RENT.format(800, "Ada"), RENT.format(950, "Ada"), RENT.format(800, "Tom"))
FOUND["edited"] = saying(f"Note that {SENTENCE[0].lower()}{SENTENCE[1:]}", SENTENCE)
FOUND["twice"] = saying(SENTENCE, f"{SENTENCE}.", "Another matter altogether, with nothing in common.", "Yes.")


class Shelf:
    """An index that finds what is written above."""

    def search(self, query: SearchQuery, k: int) -> list[Hit]:
        return FOUND[query.question][:k]

    def locate(self, sentence: str) -> Passage | None:
        return Passage(3, 0, "", "", sentence) if sentence == "GPT writes." else None

    def passage(self, passage_id: int) -> Passage | None:
        return Passage(passage_id, 0, "", "", "") if passage_id < 100 else None


class Judge:
    """A re-ranker that gives the points it is told."""

    name = "judge"
    reads = 15
    trust = 1 / 60

    def __init__(self, **points: float) -> None:
        self.points = {int(name[1:]): points[name] for name in points}
        self.read: list[int] = []

    def scores(self, question: str, passages: Sequence[Passage]) -> list[float]:
        assert question
        self.read += [passage.id for passage in passages]
        return [self.points.get(passage.id, 0.0) for passage in passages]


def retrieved(*questions: str, k: int = 6, judge: Judge | None = None, cited: Sequence[int] = ()) -> list[int]:
    steps = tuple(Step("rag", question, SearchQuery(question)) for question in questions)
    answer = Message("assistant", "It is.", tuple(Source(n, n, "", "", "", None, "") for n in cited))
    return found(steps, SearchContext(cast(Any, Shelf()), k, judge, [answer] if cited else [], follow_up=True))


def found(steps: tuple[Step, ...], shelves: SearchContext) -> list[int]:
    """The ids of the passages that the steps of a plan find together."""

    async def carried_out() -> QueryPlan:
        plan = QueryPlan("", "", steps)
        async for place, result in carry_out(plan, shelves):
            plan = plan.with_result(place, result)
        return plan

    return [hit.passage.id for hit in merged_hits(asyncio.run(carried_out()), shelves.k)]


def test_one_search_keeps_its_order_and_its_number() -> None:
    assert retrieved("both") == [1, 2, 3, 4, 5, 6]
    assert retrieved("both", k=2) == [1, 2]


def test_the_searches_of_a_comparison_take_turns_and_none_comes_twice() -> None:
    assert retrieved("both", "left", "right", k=4) == [1, 21, 2, 11, 3, 12]


def test_no_answer_draws_on_more_than_eight() -> None:
    assert len(retrieved("both", "left", "right", k=7)) == MAX_PASSAGES == 8
    assert len(retrieved("both", k=100)) == 6


def test_a_plan_without_a_search_finds_nothing() -> None:
    assert found((Step("say", "Welcome."), Step("reform", "list")), SearchContext(cast(Any, None), 6)) == []


def test_the_re_ranker_orders_the_best_of_a_search() -> None:
    assert retrieved("both", judge=Judge(p3=30.0, p6=33.0), k=3) == [3, 6, 1]
    judge = Judge(p20=99.0)
    assert retrieved("many", judge=judge, k=2) == [1, 2]
    assert judge.read == list(range(1, judge.reads + 1))


def test_what_the_last_answer_cited_is_found_again() -> None:
    assert retrieved("both", cited=[77, 101], k=7) == [1, 2, 3, 4, 5, 77, 6]
    assert retrieved("equal", cited=[3], k=3) == [3, 1, 2]
    assert retrieved("nothing", cited=[77], k=3) == [77]
    told = Message("assistant", "GPT writes. [1] It rhymes. [2]")  # as a caller keeps it who keeps the text alone
    context = SearchContext(cast(Any, Shelf()), 3, history=[told], follow_up=True)
    assert found((Step("rag", "equal"),), context) == [3, 1, 2]


def test_with_a_filter_what_was_cited_is_raised_only_where_the_search_found_it() -> None:
    step = Step("rag", "equal", SearchQuery("equal", where=Filter(tags=("draft",))))
    answer = Message("assistant", "It is.", tuple(Source(n, n, "", "", "", None, "") for n in (3, 77)))
    assert found((step,), SearchContext(cast(Any, Shelf()), 6, history=[answer], follow_up=True)) == [3, 1, 2]


def test_the_best_of_duplicate_passages_stays() -> None:
    assert retrieved("twice", k=3) == [1, 3, 4]


def test_a_passage_with_a_number_or_a_name_of_its_own_says_something_else() -> None:
    """Forms, price lists and contracts are alike but for what people look for in them."""
    assert retrieved("forms") == [1, 2, 3]
    assert retrieved("edited") == [1]


def test_a_follow_up_stays_in_the_document_that_was_cited_unless_it_names_another() -> None:
    berg = Reference("", ("Berg, Mia", "Okoro, Chidi"), 2019)
    cited, same = Passage(1, 1, "Herons", "", "Herons sleep."), Passage(2, 1, "Herons", "", "The city paid.")
    other = Passage(3, 2, "Storks", "", "The fund paid.", reference=berg)
    found = [Hit(other, 0.52), Hit(same, 0.5)]

    def order(question: str, *earlier: Passage) -> list[int]:
        drawn_on = Earlier(earlier, follow_up=True)
        return [hit.passage.id for hit in find(SearchQuery(question), 3, lambda *_: list(found), earlier=drawn_on)]

    assert order("who paid?") == [3, 2]
    assert order("who paid?", cited)[0] == 2
    assert order("who paid in Berg?", cited)[0] == order("who paid for the storks?", cited)[0] == 3


def test_a_byline_is_found_by_those_who_ask_for_it() -> None:
    line = Passage(1, 1, "Herons", "", "Ada Lund and Piet van Dam. Birds and Light, 2021.")
    found = [Hit(line, 0.9), Hit(Passage(2, 1, "Herons", "", "Herons sleep."), 0.5)]

    def order(question: str) -> list[int]:
        return [hit.passage.id for hit in find(SearchQuery(question), 3, lambda *_: list(found))]

    assert order("who wrote it?") == order("In which journal did it appear?") == [1, 2]
    assert order("how do herons sleep?") == [2]


def test_the_documents_of_the_last_two_answers_are_raised_that_of_the_last_one_most() -> None:
    last, before = Passage(1, 1, "Herons", "", "Herons sleep."), Passage(2, 2, "Reeds", "", "Reeds grow.")
    heron, reed = Passage(4, 1, "Herons", "", "The city paid."), Passage(5, 2, "Reeds", "", "The state paid.")
    other, drawn_on = Passage(3, 3, "Storks", "", "The fund paid."), Earlier((last,), before=(before,))

    def order(gap: float) -> list[int]:
        found = [Hit(other, 0.5 + gap), Hit(heron, 0.5), Hit(reed, 0.5)]
        return [hit.passage.id for hit in find(SearchQuery("Who?"), 3, lambda *_: found, earlier=drawn_on)]

    assert order(0.03) == [4, 5, 3]  # what was cited is not put behind them: the question does not follow up
    assert order(0.045) == [4, 3, 5]
    assert order(0.06) == [3, 4, 5]


def test_an_answer_without_citations_drew_on_the_passage_nearest_to_it() -> None:
    """As in a history that another program keeps; what only says that we do not know drew on none."""

    class Near(Shelf):
        def search(self, query: SearchQuery, k: int) -> list[Hit]:
            return hits({"What do they eat? They eat fish.": 9, "Where? At the lake.": 8}[query.literal])[:k]

    talk = [
        Message("user", "What do they eat?"),
        Message("assistant", "They eat fish."),
        Message("user", "And drink?"),
        Message("assistant", "I don't know: the documents do not say it."),
    ]
    assert [each.id for each in earlier_passages(talk, True, cast(Any, Near())).passages] == [9]
    where = [Message("user", "Where?"), Message("assistant", "At the lake.")]
    earlier = earlier_passages(where + talk, True, cast(Any, Near()))
    assert ([each.id for each in earlier.passages], [each.id for each in earlier.before]) == ([9], [8])
    assert earlier_passages(talk[2:], True, cast(Any, Near())) == Earlier()
    assert earlier_passages([], True, cast(Any, Near())) == Earlier()


def test_a_sum_after_an_answer_does_not_replace_its_passages() -> None:
    """Where the answers of a conversation tell their sources, one without any is not looked up."""
    fish = Message("assistant", "They eat fish. [1]", (Source(1, 7, "", "", "", None, ""),))
    talk = [Message("user", "What do they eat?"), fish, Message("user", "2 * 3"), Message("assistant", "2 * 3 = 6")]
    assert [each.id for each in earlier_passages(talk, True, cast(Any, Shelf())).passages] == [7]
