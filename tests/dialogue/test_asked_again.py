"""The last question asked again about another thing, time or place."""

from __future__ import annotations

import pytest
from spoken import said

from turnwise.dialogue import asked_again
from turnwise.dialogue.another_thing import about_another, focus
from turnwise.dialogue.asked_again import (
    asks_again,
    compared,
    compared_with,
    parallel,
    question_so_far,
    things_asked,
)
from turnwise.types import Message


def asked(*messages: str) -> list[Message]:
    return [each for text in messages for each in (Message("user", text), Message("assistant", "Noted."))]


@pytest.mark.parametrize(
    ("messages", "query"),
    [
        (("how do i wax skis", "how long does it take?"), "how long does it take to wax skis"),
        (("how do i wax skis", "how long does the whole thing take"), "how long does the whole thing take to wax skis"),
        (
            ("how do i wax skis", "what do i need for it", "how long does it take?"),
            "how long does it take to wax skis",
        ),
        (("how much is swimming?", "and climbing?"), "how much is climbing?"),
        (("The oven stays cold. What can I do?", "didn't help"), "didn't help (The oven stays cold)"),
        (("the oven stays cold, what now", "didn't help", "still cold"), "still cold (the oven stays cold)"),
        (("my son has mumps, when can he go back", "who do i tell"), "who do i tell (my son has mumps)"),
        (("i lost a key", "who do i need to tell", "who do i ring"), "who do i ring (i lost a key)"),
        (("how much is swimming?", "and climbing?", "and squash?"), "how much is squash?"),
        (("how much is swimming?", "and climbing?", "and the gym?"), "how much is the gym?"),
        (("what time does the gym open", "and on sunday?", "and the pool?"), "what time does the pool open on sunday"),
        (("how much is a lost key?", "and the late fee?"), "how much is the late fee?"),
        (("when are lessons for adults?", "what about tennis"), "when are tennis for adults?"),
        (("who runs it", "and the choir?"), "who runs the choir"),
        (("which clubs are for year 12?", "and year 9?"), "which clubs are for year 9?"),
        (("how much homework do they get in year 8", "and for year 9?"), "how much homework do they get in year 9"),
        (("what does h4 mean", "and h12"), "what does h12 mean"),
        (("what do 30 spoons cost?", "and 40 forks?"), "what do 40 forks cost?"),
        (("what does the orange lamp mean?", "and blue?"), "what does the blue lamp mean?"),
        (("what is the lamp?", "and the bridge?", "was it mended?", "when?"), "when was bridge mended?"),
        (("is it waterproof", "and the red one?"), "is the red one waterproof"),
        (("is there a discount on that", "and on tents?"), "is there a discount on tents"),
        (("can I bring a tent?", "what about a caravan"), "can I bring a caravan?"),
        (("can I bring a tent to the beach?", "what about a caravan"), "can I bring a caravan to the beach?"),
        (("how high can the hedge be?", "how about the wall?"), "how high can the wall be?"),
        (("when is the yard open on fridays", "and at weekends?"), "when is the yard open at weekends"),
        (("is the sauna cheaper in summer", "and at weekends?"), "is the sauna cheaper in summer at weekends"),
        (("how much is it to enter", "im a pensioner"), "how much is it to enter for a pensioner"),
        (("can she come on the boat trip", "she's 7"), "can she come on the boat trip for a child aged 7"),
        (("is it free for kids", "she's 2"), "is it free for a child aged 2"),
        (("is the raft free for group 2", "what about my other son hes in group 5"), "is the raft free for group 5"),
        (
            ("how much is the campsite?", "we're 2 adults and a baby"),
            "how much is the campsite for 2 adults and a baby?",
        ),
        (("can I bring notes", "and to the final?"), "can I bring notes to the final"),
        (
            ("What is the Zelder Fair?", "what does it cost?", "and for a family?"),
            "what does Zelder Fair cost for a family?",
        ),
        (
            ("What is the Zelder Fair?", "what does it cost?", "and for children?", "and for seniors?"),
            "what does Zelder Fair cost for seniors?",
        ),
        (("can i bring a kite", "and drones"), "can i bring drones"),
        (("when is rent due", "and the deposit form?"), "when is the deposit form due"),
        (("how many credits is the seminar worth", "and the lab"), "how many credits is the lab worth"),
        (("is breakfast included", "and dinner"), "is dinner included"),
        (("can i hand in reports late", "and the thesis"), "can i hand in the thesis late"),
        (("what can i bring", "and for the gala?"), "what can i bring for the gala"),
        (("can we bring a tent", "a small one?"), "can we bring a small tent"),
        (("is it free", "and for the sauna?", "what about swimming lessons"), "is it free for swimming lessons"),
        (("what is a hardwood tree", "and an evergreen one"), "what is an evergreen tree"),
        (("how long do wooden lockers last", "and the metal ones"), "how long do the metal lockers last"),
        (("what if I'm late", "and more than a week?"), "what if I'm late more than a week"),
        (("what are the limits of the red boat?", "and of the blue one?"), "what are the limits of the blue boat?"),
        (("what does the lamp cost?", "how much is that per bulb?", "and shipping?"), "what does shipping cost?"),
        (("what does the lamp cost?", "what is that each?", "and the shade?"), "what does the shade cost?"),
        (
            ("what is the fine for a film?", "how much is that for 4 days?", "and for 2 books?"),
            "what is the fine for 2 books?",
        ),
        (("how much is the lamp?", "what is 15 % of that?", "and the shade?"), "how much is the shade?"),
        (("how much is it for kids?", "and for seniors?"), "how much is it for seniors?"),
        (
            ("how much is a tent?", "and a stove?", "and the lamp?", "which of these is the cheapest?"),
            "which of tent, stove and lamp is the cheapest?",
        ),
        (("how much is a tent?", "and a stove?", "are both of them new?"), "are both of tent and stove new?"),
        (("when is the hall open?", "no, the pool", "and on sunday?"), "when is the pool open on sunday?"),
        (("when is the hall open?", "that’s wrong", "and on sunday?"), "when is the hall open on sunday?"),
        (("when is the hall open on friday?", "i meant sunday", "and the pool?"), "when is the pool open on sunday?"),
        (("are dogs allowed in the hall?", "and at the pool?", "and in the yard?"), "are dogs allowed in the yard?"),
        (("when is assignment 1 due?", "and 2?"), "when is assignment 2 due?"),
        (("when is assignment 1 due?", "and 2?", "what about 3"), "when is assignment 3 due?"),
        (("what grade do i get with 80 percent?", "and 60?"), "what grade do i get with 60 percent?"),
        (("what grade do i get with 80%?", "and 60%?"), "what grade do i get with 60%?"),
        (("is the pool open at 6:30?", "and 8?"), "is the pool open at 8?"),
        (("who won the cup in 1998?", "and 2002?"), "who won the cup in 2002?"),
        (("what can GPT-3 do?", "and 4?"), "what can GPT-4 do?"),
        (("how much is the red tent", "how much is that a week", "and the blue one"), "how much is the blue tent"),
        (("i'm on night shift", "how many breaks do i get"), "how many breaks do i get (on night shift)"),
        (
            ("i'm self employed", "and i joined in may", "what do we pay?"),
            "what do we pay (self employed, joined in may)?",
        ),
        (("can i rent the barn", "how much"), "how much is it to rent the barn"),
        (("what do we need to enter?", "what does it cost"), "how much is it to enter"),
        (("what do I need to do to rent the barn?", "how much is it?"), "how much is it to rent the barn"),
        (("can we bring a guest?", "and how much is that?"), "how much is it to bring a guest"),
        (("whats the fine for noise", "and the highest?"), "what is the highest fine"),
        (("what's the deposit", "and the lowest"), "what is the lowest deposit"),
        (("what is the most expensive bread", "and the cheapest?"), "what is the cheapest bread"),
        (("who guards late on fridays?", "and early"), "who guards early on fridays?"),
        (("can i get a kite", "and for my son who is 4"), "can i get a kite for a child aged 4"),
        (("do juniors pay a deposit", "and seniors?"), "do seniors pay a deposit"),
        (("when do cleaners get keys", "what about managers"), "when do managers get keys"),
        (
            ("ok and how much homework do they get in year 8", "and in year 9?"),
            "ok and how much homework do they get in year 9",
        ),
    ],
)
def test_the_question_is_asked_again_about_one_thing_after_another(messages: tuple[str, ...], query: str) -> None:
    condensed = parallel(messages[-1], asked(*messages[:-1]))
    assert condensed is not None
    assert condensed.query == query


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("how much is swimming?", "and the price?"),  # an attribute of the same thing
        ("how much is the flat?", "and the deposit?"),
        ("how do I cancel?", "and the gym?"),
        ("how long does a restore take", "what about sync its stuck"),  # it says something of its own
        ("is late work accepted", "and emails"),
        ("how much is the flat?", "I'm in a hurry"),
        ("how much is the flat?", "I'm in no rush"),
        ("how much is the flat?", "my dog is 3"),
        ("how much is the flat?", "they're 20 euros."),
        ("how much is the flat?", "I'm a fan of jazz"),
        ("do I need a permit?", "how much is it"),
        ("I'm looking for a flat", "how much do I pay"),
        ("I'm in a hurry", "how much do I pay"),
        ("I'm a student", "how much is the flat"),
        ("how do I join the club?", "and the cost?"),
        ("can I get a refund?", "and the time limit?"),
        ("how much is the flat?", "I'm a bit lost"),
        ("how much is the flat?", "I'm a tenant, can I paint the walls"),
        ("how much is the flat?", "is a garage included"),
        ("i adopt a baby, how many weeks do i get", "and moving abroad?"),  # no number of anything
    ],
)
def test_a_message_that_names_no_other_thing_is_left_alone(last: str, message: str) -> None:
    assert parallel(message, asked(last)) is None


@pytest.mark.parametrize(
    ("messages", "thing"),
    [
        (("how much is the lamp?", "and the bridge?", "do I need it?"), "bridge"),
        (("how much is the lamp?", "and the bridge?", "do I need one?", "how heavy is it?"), "bridge"),
        (("what is the lamp?", "what about Halden?", "when was it built?"), "Halden"),
        (("how much is the lamp?", "and the brass one?", "who makes it"), "brass"),
        (("what is weaving?", "what about the warp tension?", "how do I choose it?"), "warp tension"),
        (("how much is the lamp?", "and the price?", "is it high?"), ""),  # an attribute of the lamp
        (("how much is the lamp?", "and the bridge?", "who sells candles?", "how heavy is it?"), ""),
        (("how much is the lamp?", "and the bridge?", "who is she?"), ""),
        (("when is the pool open?", "and Sundays?", "is it heated?"), "pool"),
        (("tell me about the mill", "is it open on Friday?", "and Sundays?", "how much is it?"), "mill"),
        (("what is the Zug?", "can it seat 20 people?", "and 40 people?", "how fast is it?"), ""),  # still the train
        (("what is the Zug?", "does it take bus 3?", "and bus 4?", "and bus 5?", "how fast is it?"), ""),
        (("how much is a pitch?", "and dogs?", "what is its price?"), ""),
    ],
)
def test_it_means_the_other_thing_that_was_asked_about(messages: tuple[str, ...], thing: str) -> None:
    assert focus(messages[-1], asked(*messages[:-1])) == thing


def test_a_new_question_ends_the_old_one() -> None:
    seen = asked("how much is swimming?", "and climbing?", "who runs the club?")
    assert question_so_far(seen) == "who runs the club?"


@pytest.mark.parametrize(
    ("message", "other"),
    [
        ("and whats the diff with gpt", "gpt"),
        ("What's the difference to GPT?", "GPT"),
        ("difference from logistic regression", "logistic regression"),
        ("What is the difference with respect to cost?", ""),
        ("What is the difference between BERT and GPT?", ""),
        ("the difference with and without dropout", ""),
        ("What is the difference to the mean?", ""),
        ("git diff with colour", ""),
    ],
)
def test_a_comparison_may_leave_one_side_out(message: str, other: str) -> None:
    assert compared_with(message) == other
    found = parallel(message, said("What is edifest?", "A festival.", "What is BERT?", "A model."))
    assert (found.query if found else "") == (f"What is the difference between BERT and {other}?" if other else "")


def test_a_replaced_name_is_not_looked_for_inside_other_words() -> None:
    found = parallel("And GPT?", said("Is the AIM of AI good?", "Yes."))
    assert found
    assert found.query == "Is the GPT of AI good?"


OPEN = said("When is the mill open on Friday in summer?", "From 10 to 18. [1]")


@pytest.mark.parametrize(
    ("seen", "message", "query"),
    [
        (OPEN, "and on Sundays?", "When is the mill open on Sundays in summer?"),
        (OPEN, "in winter?", "When is the mill open on Friday in winter?"),
        (OPEN, "what about during the fair?", "When is the mill open on Friday in summer during the fair?"),
        (OPEN, "and in the courtyard?", "When is the mill open on Friday in summer in the courtyard?"),
        (
            [*OPEN, *said("and on Sundays?", "From 11. [1]")],
            "in winter?",
            "When is the mill open on Sundays in winter?",
        ),
        (said("what's new in 4.2?", "Locks."), "and in 4.1?", "what's new in 4.1?"),
        (said("What do I pay for 60 loaves?", "Ten."), "and for 400?", "What do I pay for 400?"),
        (
            said("How much is the tour for an adult per day?", "Nine."),
            "and for children?",
            "How much is the tour for children per day?",
        ),
        (said("Who ground the flour in May 2025?", "Anna."), "and in june?", "Who ground the flour in june?"),
        (
            said("Do I have to knead the dough?", "Yes."),
            "how about without yeast?",
            "Do I have to knead the dough without yeast?",
        ),
    ],
)
def test_a_phrase_asks_the_last_question_again_with_it(seen: list[Message], message: str, query: str) -> None:
    found = parallel(message, seen)
    assert found is not None
    assert (found.query, found.method) == (query, "rules")


@pytest.mark.parametrize(
    "message", ["for example?", "in which year?", "for it?", "before it closes?", "to go there?", "by whom?"]
)
def test_a_message_that_is_more_than_a_phrase_does_not_ask_the_last_question_again(message: str) -> None:
    assert parallel(message, OPEN) is None


def test_nothing_takes_the_place_of_i() -> None:
    assert parallel("what about rye?", said("Do I have to knead it?", "Yes.")) is None
    assert parallel("what about rye?", said("do I have to wait?", "Yes.")) is None


def test_nothing_takes_the_place_of_a_verb_or_a_condition() -> None:
    assert parallel("what about shoes?", said("What should I wear in the bakery?", "Hats.")) is None
    assert parallel("what about shoes?", said("and if I'm late?", "You wait.")) is None


def test_a_phrase_needs_a_question_that_names_something() -> None:
    assert parallel("and in winter?", said("Why is it closed?", "It rests.")) is None
    assert parallel("and in winter?", said("Tell me about mills.", "They grind.")) is None


@pytest.mark.parametrize(
    ("last", "message", "query"),
    [
        ("When does the mill open?", "and close?", "When does the mill close?"),
        ("How high can my hedge be?", "and the shed", "How high can the shed be?"),
        ("When is the mill open on Sundays?", "and the café?", "When is the café open on Sundays?"),
        ("How much is a violin case?", "and a violin?", "How much is a violin?"),
        ("when are Dr. Okafor's office hours?", "and Ana Brandt's?", "when are Ana Brandt's office hours?"),
        ("What's Ben's phone number?", "and Anna's?", "What's Anna's phone number?"),
        ("What is Lena's room number?", "what about Kofi's?", "What is Kofi's room number?"),
    ],
)
def test_the_last_question_is_asked_about_another_act_owner_or_thing(last: str, message: str, query: str) -> None:
    found = parallel(message, said(last, "At nine. [1]"))
    assert found is not None
    assert found.query == query


def test_a_question_is_not_asked_again_if_it_is_unclear_what_to_replace() -> None:
    assert parallel("and the gym?", said("What are the rules of the club?", "Few. [1]")) is None
    assert parallel("and start?", said("How many days is parental leave?", "Thirty. [1]")) is None
    assert parallel("and the price?", said("When does the museum open?", "At ten. [1]")) is None
    assert parallel("and the advanced one?", said("How much is the course?", "It is 40 euros. [1]")) is None


@pytest.mark.parametrize(
    ("last", "message", "query"),
    [
        ("What is BERT?", "And the difference to GPT?", "What is the difference between BERT and GPT?"),
        ("Who wrote the Skerry Song?", "When?", "When wrote the Skerry Song?"),
        ("When is the mill open on Fridays?", "And on Sundays?", "When is the mill open on Sundays?"),
        ("How high can the shed be?", "And the fence?", "How high can the fence be?"),
        ("When does the museum open?", "And close?", "When does the museum close?"),
        ("What is Blum's address?", "And Lee's?", "What is Lee's address?"),
        ("How was it trained?", "And GPT?", "How was GPT trained?"),
        ("Can I have a dog?", "What about cats?", "Can I have cats?"),
        ("What are the pool rules?", "What about shoes?", "What are the pool rules for shoes?"),
        ("What is BERT?", "And GPT?", "What is GPT?"),
        ("Can I swap shifts?", "How late can I do it?", "How late can I swap shifts?"),
        ("How do I cancel a class?", "Can I do that online?", "Can I cancel a class online?"),
    ],
)
def test_each_rule_for_a_parallel_question_does_what_its_example_says(last: str, message: str, query: str) -> None:
    found = parallel(message, said(last, "So. [1]"))
    assert found is not None
    assert found.query == query


@pytest.mark.parametrize(
    ("message", "question", "again"),
    [
        ("what about a parrot?", "can I keep a parrot?", True),
        ("she's in year 3", "can she swim in year 3", True),
        ("and the other one", "and the other pass", False),  # not the last question, but completed
        ("we're here on sunday", "is it open on sunday", False),  # another time
    ],
)
def test_a_question_is_asked_again_of_something_else(message: str, question: str, again: bool) -> None:
    assert asks_again(message, question) == again


def test_what_failed_is_searched_for_together_with_whom_to_turn_to() -> None:
    failed, following = (parallel(each, asked("the oven stays cold")) for each in ("didn't help", "and then?"))
    assert failed is not None
    assert following is not None
    assert {term.text for term in failed.added} - {term.text for term in following.added} >= {"contact", "service"}


@pytest.mark.parametrize(
    ("messages", "things"),
    [
        (("how much is a tent?", "and a stove?", "what about lamps?"), ["tent", "stove", "lamps"]),
        (("how much is a tent?", "and a stove?", "on sundays?"), ["tent", "stove"]),
        (("how much is a tent?", "how much is that a week?", "and a stove?"), ["tent", "stove"]),
        (("how much is a tent?", "and a stove?", "who sells stoves?"), []),
        (("how much is a tent?",), []),
        (("is it free?", "and the stove?"), []),
    ],
)
def test_what_a_question_was_asked_of(messages: tuple[str, ...], things: list[str]) -> None:
    assert things_asked(asked(*messages)) == things


@pytest.mark.parametrize(
    ("messages", "message", "sides"),
    [
        (
            ("how much water does the 300 hold?", "and the 500?"),
            "what's the difference between them?",
            ["the 300", "the 500"],
        ),
        (("how big is the red tent?", "and the blue one?"), "which is better?", ["red tent", "blue tent"]),
        (("What is BERT?", "What is GPT?"), "what's the difference between them?", ["BERT", "GPT"]),
        (("how big is the tent?", "and the stove?"), "what's the difference to the lamp?", []),
    ],
)
def test_the_sides_of_a_comparison(messages: tuple[str, ...], message: str, sides: list[str]) -> None:
    assert [each for each, _ in compared(message, asked(*messages))] == sides


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("how much for 2 adults and 3 kids?", "and 4?"),  # of whom?
        ("how much is a loaf?", "and 4?"),
        ("how much for 3?", "and 5?"),
        ("is it free at 3?", "and 5?"),
    ],
)
def test_a_number_takes_no_place_where_that_is_not_clear(last: str, message: str) -> None:
    assert about_another(message, last) is None


def test_the_thing_with_another_number_is_meant_then() -> None:
    assert focus("how many points is it worth?", asked("when is assignment 1 due?", "and 2?")) == "assignment 2"
    assert focus("when is it due?", asked("who grades assignment 1?", "and 2?", "and 3?")) == "assignment 3"
    assert focus("is it hard?", asked("what do i get with 80 percent?", "and 60?")) == ""


def test_of_a_long_conversation_only_the_end_is_read_for_the_question_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(asked_again, "scales", lambda text: bool(read.append(text)))
    talk = asked(*(f"how long is river {number}?" for number in range(1000)), "and in winter?")
    assert question_so_far(talk) == "how long is river 999 in winter?"
    assert len(read) <= asked_again.MAX_CHANGES
