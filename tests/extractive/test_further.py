"""What goes on from the last answer: the next step, another remedy, or whom to turn to."""

from __future__ import annotations

import pytest

from turnwise.extractive import ExtractiveAnswerer
from turnwise.types import Evidence, Hit, Passage, Prompt

BOILER = """If the kettle stays cold:

1. Look whether the plug is in.
2. Press the red knob for two seconds.
3. Fill in some water. The line must be covered.

If none of this helps, bring the kettle to Ida Moe in the workshop, extension 31."""
SINK = """The sink is blocked? Pour hot water into it. If that fails, use the plunger. Sinks are cleaned on Mondays.

Broken taps are reported to the caretaker, Jon Aske (0700 12 34 56). Paper towels are in the cupboard."""
DARK = "The lamp does not light. Check whether the cord is in. If the bulb is black, change it."
LAMP = f"""{DARK}

It flickers. Turn the bulb until it sits tight.

Service: 0700 12 34 56, on weekdays."""
NO_MORE = "The passages I found for this hold no more than I have said."
SORRY = "I am sorry that this did not help."


class NoJudge:
    """A judge to whom nothing answers: what goes on from the last answer is not for it to say."""

    def odds(self, _question: str, sentences: list[Passage]) -> list[float]:
        return [-9.0 for _ in sentences]


def answer(message: str, text: str, *told: str) -> str:
    """What is answered after these sentences of the text were told."""
    passage = Passage(1, 1, "House book", "", text)
    said = (" ".join(f"{each} [1]" for each in told),) if told else ()
    prompt = Prompt((), message, (message,), (Evidence(1, Hit(passage, 1.0)),), said)
    return ExtractiveAnswerer(NoJudge()).answer(prompt)  # type: ignore[arg-type]


PLUG, KNOB, WATER = (
    "Look whether the plug is in.",
    "Press the red knob for two seconds.",
    "Fill in some water. The line must be covered.",
)
WORKSHOP = "If none of this helps, bring the kettle to Ida Moe in the workshop, extension 31."
CARETAKER = "Broken taps are reported to the caretaker, Jon Aske (0700 12 34 56)."


@pytest.mark.parametrize("message", ["and then?", "what next", "ok done, what now"])
def test_the_next_step_is_told_with_its_number(message: str) -> None:
    assert answer(message, BOILER, PLUG) == f"2. {KNOB} [1]"
    assert answer(message, BOILER, KNOB) == f"3. {WATER} [1]"


def test_after_the_last_step_there_is_none() -> None:
    assert answer("and then?", BOILER, PLUG, KNOB, WATER) == f"{WORKSHOP} [1]"
    assert answer("and then?", BOILER, WORKSHOP) == NO_MORE


def test_a_step_that_is_asked_for_by_its_number_is_told() -> None:
    assert answer(f"what's the second step, “{KNOB.rstrip('.')}”", BOILER, PLUG, KNOB) == f"2. {KNOB} [1]"


def test_two_steps_that_are_asked_for_are_told_as_a_list() -> None:
    both = f"what are the first two, “{PLUG.rstrip('.')}” and “{KNOB.rstrip('.')}”"
    assert answer(both, BOILER, PLUG, KNOB) == f"1. {PLUG} [1]\n2. {KNOB} [1]"


def test_what_did_not_help_leads_to_the_next_remedy() -> None:
    assert answer("didn't help", BOILER, PLUG) == f"2. {KNOB} [1]"
    assert answer("still cold", BOILER, PLUG, KNOB) == f"3. {WATER} [1]"
    assert answer("that didn't work", SINK, "Pour hot water into it.") == "If that fails, use the plunger. [1]"


def test_after_the_last_remedy_it_is_told_whom_to_turn_to_and_then_no_more() -> None:
    whole = (PLUG, KNOB, WATER)
    assert answer("still cold", BOILER, *whole) == f"{WORKSHOP} [1]"
    assert answer("still cold", BOILER, *whole, WORKSHOP) == f"As I said: {WORKSHOP} [1]"
    assert answer("still cold", BOILER, WORKSHOP).startswith(SORRY)


@pytest.mark.parametrize("message", ["who do i tell", "who do i report that to?", "who is in charge of that"])
def test_whom_to_turn_to_stands_near_what_was_told(message: str) -> None:
    assert answer(message, SINK, "Paper towels are in the cupboard.") == f"{CARETAKER} [1]"
    assert answer(message, BOILER, PLUG, WORKSHOP) == f"As I said: {WORKSHOP} [1]"


def test_of_two_people_the_one_is_told_with_whom_that_is_done() -> None:
    text = "Ring Jon Aske on 0700 12 34. Close the gate. Tell Ida Moe the next day."
    assert answer("who do i tell tomorrow", text, "Close the gate.") == "Tell Ida Moe the next day. [1]"
    assert answer("who do i ring", text, "Close the gate.") == "Ring Jon Aske on 0700 12 34. [1]"


def test_what_was_to_be_done_if_it_fails_is_told_again_rather_than_whom_to_tell_of_something_else() -> None:
    fails = "If that fails, go to reception and have it re-coded."
    text = f"Hold the card flat. {fails} A new card costs £5. Lost cards are reported to the warden on 0700 12 34."
    assert answer("that didn't work", text, "Hold the card flat.", fails) == f"As I said: {fails} [1]"


def test_whom_all_questions_go_to_is_told_if_nobody_is_nearer() -> None:
    text = "Questions: Ida Moe, ext. 31\n\nLamps hang in the hall. Lamps are dusted in May."
    assert answer("who do i ask about that", text, "Lamps are dusted in May.") == "Questions: Ida Moe, ext. 31 [1]"


def test_a_remedy_after_its_problem_is_not_told_again_when_it_failed() -> None:
    for message in ("didn't help", "I tried that", "still dark"):
        assert answer(message, LAMP, DARK) == "Service: 0700 12 34 56, on weekdays. [1]"
    alone = LAMP.rpartition("\n\n")[0]
    assert answer("didn't help", alone, DARK).startswith(SORRY)
    assert answer("didn't help", "- " + alone.replace("\n\n", "\n- "), DARK).startswith(SORRY)


def test_a_remedy_that_was_only_shown_counts_as_told() -> None:
    shown = f"I don’t know: the documents do not answer “no light”. The nearest is House book: “{DARK}”"
    passage = Passage(1, 1, "House book", "", LAMP)
    prompt = Prompt((), "didn't help", ("didn't help (no light)",), (Evidence(1, Hit(passage, 1.0)),), (shown,))
    told = ExtractiveAnswerer(NoJudge()).answer(prompt)  # type: ignore[arg-type]
    assert told == "Service: 0700 12 34 56, on weekdays. [1]"


FAULTS = """Fault | First | Next | If all else fails
Mower will not start | Fill in petrol | Clean the spark plug | Take it to a workshop
Grass is torn | Sharpen the blade | Mow when the grass is dry |
Belt slips | Tighten the belt | Replace the belt | Ring the dealer"""
MOWER, TORN, BELT = (
    "Mower will not start: First Fill in petrol, Next Clean the spark plug, If all else fails Take it to a workshop.",
    "Grass is torn: First Sharpen the blade, Next Mow when the grass is dry.",
    "Belt slips: First Tighten the belt, Next Replace the belt, If all else fails Ring the dealer.",
)


def test_of_remedies_side_by_side_in_a_row_the_next_one_is_told() -> None:
    plug, workshop = "Mower will not start: Next Clean the spark plug.", "Mower will not start: If all else fails Take"
    assert answer("didn't help", FAULTS, MOWER) == f"{plug} [1]"
    assert answer("still nothing", FAULTS, plug).startswith(workshop)
    assert answer("i filled that in already", FAULTS, MOWER) == f"{plug} [1]"
    assert answer("cleaned the spark plug already", FAULTS, MOWER).startswith(workshop)
    assert answer("tried both", FAULTS, plug).startswith(workshop)
    assert answer("tried all of that", FAULTS, TORN).startswith(SORRY)
    assert answer("still torn", FAULTS, TORN, "Grass is torn: Next Mow when the grass is dry.").startswith(SORRY)


CAUSES = """No water comes out:

Possible cause | Remedy
Tap closed | Open the tap
Hose bent | Lay the hose flat
Pump worn | Have the pump replaced"""
CODES = """Code | Meaning | What to do
F1 | No paper | Fill in paper
F2 | Tray open | Close the tray

Questions: Ida Moe, ext. 31"""


def test_of_remedies_in_rows_for_one_problem_the_next_row_is_told() -> None:
    tap, hose = "Tap closed: Remedy Open the tap.", "Hose bent: Remedy Lay the hose flat."
    assert answer("didn't help", CAUSES, tap) == f"{hose} [1]"
    assert answer("opened it already", CAUSES, tap) == f"{hose} [1]"
    assert answer("no change", CAUSES, tap, hose) == "Pump worn: Remedy Have the pump replaced. [1]"
    assert answer("no change", CAUSES, tap, hose, "Pump worn: Remedy Have the pump replaced.").startswith(SORRY)


def test_the_row_of_another_problem_holds_no_other_remedy() -> None:
    told = "F1: Meaning No paper, What to do Fill in paper."
    assert answer("didn't help", CODES, told) == "Questions: Ida Moe, ext. 31 [1]"
    assert answer("filled that already", CODES, told) == "Questions: Ida Moe, ext. 31 [1]"
    same = CODES.replace("F2", "F1")
    assert answer("didn't help", same, told) == "F1: Meaning Tray open, What to do Close the tray. [1]"


@pytest.mark.parametrize("message", ["ive damaged the kettle", "ive sold it", "i moved the shelf"])
def test_what_was_done_besides_what_was_told_goes_on_from_nothing(message: str) -> None:
    assert answer(message, BOILER, PLUG).startswith("I don’t know")


@pytest.mark.parametrize(
    "message", ["ive pressed the knob", "ive filled it", "replaced the cord already", "checked it"]
)
def test_what_was_done_of_what_was_told_goes_on_from_it(message: str) -> None:
    assert answer(message, BOILER, PLUG, KNOB, WATER).startswith("If none of this helps")


def test_what_was_done_with_a_thing_of_which_no_remedy_was_told_goes_on_from_nothing() -> None:
    text = "Members pay 30 euros. Guests pay 4 euros a day."
    assert answer("paid that already", text, "Members pay 30 euros.").startswith("I don’t know")


def test_what_goes_on_is_told_once_however_many_questions_are_searched() -> None:
    passage = Passage(1, 1, "House book", "", SINK)
    asked = ("who do i tell (the tap drips", "when is it mended)")
    said = ("Paper towels are in the cupboard. [1]",)
    prompt = Prompt((), "who do i tell", asked, (Evidence(1, Hit(passage, 1.0)),), said)
    assert ExtractiveAnswerer(NoJudge()).answer(prompt) == f"{CARETAKER} [1]"  # type: ignore[arg-type]


def test_what_failed_is_not_searched_for_even_if_nothing_else_is_known() -> None:
    assert answer("didn't help", "Sinks are cleaned on Mondays.", "Sinks are cleaned on Mondays.").startswith(SORRY)


def test_whom_a_fact_is_about_is_not_whom_to_turn_to_when_it_did_not_help() -> None:
    law = "The law was proved by Ann Little in 1961."
    assert answer("didn't help", f"{law} It holds for queues.", law, "It holds for queues.").startswith(SORRY)


def test_how_somebody_is_reached_is_told_by_the_way_that_was_asked_for() -> None:
    text = "Belts are made of rubber.\n\nService: 0700 12 34 56, on weekdays. At other times write to help@belts.test."
    assert answer("how can i reach you", text, "Belts are made of rubber.").startswith("Service: 0700")
    assert answer("what's your number", text.replace("Service", "At the desk"), "Belts are made of rubber.").startswith(
        "At the desk: 0700"
    )
    assert answer("can i email you", text, "Belts are made of rubber.").startswith("At other times write to help@")


def test_what_came_near_is_told_if_it_says_whom_to_turn_to() -> None:
    text = "Belts are made of rubber.\n\nRing 0700 12 34 56 on weekdays."
    shown = (
        "I don’t know: the documents do not answer “a number?”. The nearest is Belts: “Ring 0700 12 34 56 on weekdays.”"
    )
    passages = (Passage(1, 1, "Belts", "", text), Passage(2, 2, "Tyres", "", "Support: 0800 555"))
    found = tuple(Evidence(number, Hit(each, 1.0)) for number, each in enumerate(passages, 1))
    prompt = Prompt((), "who do i call", ("who do i call",), found, (shown,))
    told = ExtractiveAnswerer(NoJudge()).answer(prompt)  # type: ignore[arg-type]
    assert told == "Ring 0700 12 34 56 on weekdays. [1]"


def test_the_head_of_a_column_and_its_cell_are_no_name() -> None:
    blinks = "Red blinks: Meaning Cover open, What to do Close the cover."
    lamps = "Lamp | Meaning | What to do\nRed blinks | Cover open | Close the cover"
    text = f"1. Switch it off.\n2. Open the cover.\n\n{lamps}"
    assert blinks not in answer("did that, still stuck", text, "Switch it off.", "Open the cover.")


def test_without_a_person_it_is_an_ordinary_question() -> None:
    assert answer("who do i tell", "Sinks are blue.", "Sinks are blue.").startswith("I don’t know")


class EasyJudge:
    """A judge to whom everything answers, what comes first best."""

    def odds(self, _question: str, sentences: list[Passage]) -> list[float]:
        return [9.0 - place for place, _ in enumerate(sentences)]


def test_after_what_is_not_known_only_who_is_turned_to_with_it_is_told() -> None:
    text = "Many ask why a lamp is dear. Ring Ida Moe about chairs. Ask the caretaker, Jon Aske, for a lamp."
    passage, unknown = Passage(1, 1, "House book", "", text), "I don’t know: the documents do not answer “why a lamp”."
    asked = ("who do i ask (why a lamp)",)
    prompt = Prompt((), "who do i ask", asked, (Evidence(1, Hit(passage, 1.0)),), (unknown,))
    told = ExtractiveAnswerer(EasyJudge()).answer(prompt)  # type: ignore[arg-type]
    assert told == "Ask the caretaker, Jon Aske, for a lamp. [1]"


def test_who_was_named_before_is_named_again_after_what_is_not_known() -> None:
    text, said = (
        f"{DARK}\n\nService: 0700 12 34 56.",
        (f"{DARK} [1]", "Service: 0700 12 34 56. [1]", "I don’t know: no."),
    )
    passage = Passage(1, 1, "House book", "", text)
    prompt = Prompt((), "who do i call", ("who do i call (why)",), (Evidence(1, Hit(passage, 1.0)),), said)
    told = ExtractiveAnswerer(NoJudge()).answer(prompt)  # type: ignore[arg-type]
    assert told == "As I said: Service: 0700 12 34 56. [1]"


def test_a_section_may_say_that_it_tells_whom_to_turn_to() -> None:
    remedy = Passage(1, 1, "Oven book", "", "The oven does not heat. Turn the knob all the way to the right.")
    support = Passage(2, 1, "Oven book", "", "Ring 0700 12 34 56.", "Support")
    said = (f"{remedy.text} [1]",)
    evidence = tuple(Evidence(number, Hit(each, 1.0)) for number, each in enumerate((remedy, support), 1))
    prompt = Prompt((), "still cold", ("still cold (no heat)",), evidence, said)
    assert ExtractiveAnswerer(NoJudge()).answer(prompt) == "Ring 0700 12 34 56. [2]"  # type: ignore[arg-type]
