"""Quotes that are not cut so that they mislead: with what they refer to, with the rest of the list, with the remedy."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from turnwise.extractive import ExtractiveAnswerer
from turnwise.extractive.statements import statements
from turnwise.text import CONTEXT_BAR, content_stems
from turnwise.types import Evidence, Hit, Passage, Prompt


class WordJudge:
    """A judge that counts the words of the question that a sentence and its heading have."""

    def odds(self, question: str, sentences: Sequence[Passage]) -> list[float]:
        wanted = content_stems(question)
        own = [f"{each.heading} {each.text.rpartition(CONTEXT_BAR)[2]}" for each in sentences]
        return [8.0 * len(wanted & content_stems(each)) / max(1, len(wanted)) - 4.0 for each in own]


def answer(question: str, text: str, heading: str = "", said: tuple[str, ...] = (), completed: str = "") -> str:
    passage = Passage(1, 1, "Handbook", "", text, heading=heading)
    asked = Prompt((), question, (completed or question,), (Evidence(1, Hit(passage, 1.0)),), said)
    return ExtractiveAnswerer(WordJudge()).answer(asked)


# --- what a sentence refers to ------------------------------------------------------------------------------------

GUESTS, MEMBERS, LATER = (
    "Guests leave at noon, and we do not exchange their badges.",
    "Members can come back within ten days.",
    "After that, we exchange only broken badges.",
)


def test_a_sentence_does_not_seem_to_refer_to_another_one() -> None:
    text = f"{GUESTS} {MEMBERS} {LATER}"
    assert answer("do you exchange badges", text) == f"{GUESTS} [1] {MEMBERS} [1] {LATER} [1]"
    again = answer("do you exchange badges", text, said=(f"{MEMBERS} [1]",))
    assert again == f"{GUESTS} [1] {MEMBERS} [1] {LATER} [1]"


@pytest.mark.parametrize(
    "sentence",
    [
        "After that, feed the ferret twice.",
        "Then feed the ferret in the shed.",
        "Otherwise the ferret goes to the vet.",
        "In that case, bring the ferret to the vet.",
        "If this does not help, bring the ferret to the vet.",
        "If not, bring the ferret to the vet.",
        "Instead, give the ferret some broth.",
        "Further ferret visits cost £9.",
        "Second, give the ferret some broth.",
        "The ferret may have some broth instead.",
        "The ferret must sleep there.",
        "The same goes for a ferret.",
        "Both are good for a ferret.",
        "These suit the ferret as well.",
    ],
)
def test_a_sentence_that_follows_on_comes_with_the_one_before(sentence: str) -> None:
    before = "Put the new cage next to the old one for two nights."
    text = f"Snails eat lettuce. {before} {sentence}"
    assert answer("what about the ferret?", text) == f"{before} [1] {sentence} [1]"


@pytest.mark.parametrize(
    "sentence",
    [
        "If it rains, the ferret stays in the shed.",
        "Both the ferret and the stoat eat meat.",
        "Neither the ferret nor the stoat eats grass.",
        "Further information about the ferret is in the leaflet.",
        "Instead of broth, give the ferret some water.",
        "If the cage is full, the ferret may use the shed instead.",
        "Next year the ferret moves to the shed.",
        "There is a ferret in the shed.",
    ],
)
def test_a_sentence_that_stands_alone_comes_alone(sentence: str) -> None:
    text = f"Snails eat lettuce. Put the new cage beside the old one for two nights. {sentence}"
    assert answer("what about the ferret?", text) == f"{sentence} [1]"


def test_what_is_referred_to_comes_with_what_it_refers_to_itself() -> None:
    first, second, third = "The dough rests for a day.", "Then it is shaped.", "After that, sprinkle the flour on top."
    assert answer("when is the flour used?", f"{first} {second} {third}") == f"{first} [1] {second} [1] {third} [1]"


def test_what_was_just_said_is_not_repeated_for_the_sentence_after_it() -> None:
    text = "Put the cage in the hall. Then feed the ferret."
    said: tuple[str, ...] = ("Put the cage in the hall. [1]",)
    assert answer("what about the ferret?", text, said=said) == "Then feed the ferret. [1]"
    said = ("Put the cage in the hall. [1] Then feed the ferret. [1]",)
    again = answer("what about the ferret?", text, said=said)
    assert again == "As I said: Put the cage in the hall. [1] Then feed the ferret. [1]"


# --- steps --------------------------------------------------------------------------------------------------------

TENT = (
    "1. Lay out the groundsheet.\n"
    "2. Push both of the long poles through the sleeves of the tent, starting at the end with the orange ring. "
    "The short pole stays in the bag.\n"
    "3. Raise the tent.\n"
    "4. Drive a peg through each loop, at the angle that the picture shows and never straight down into the soil.\n"
    "   Stones may bend the pegs."
)


@pytest.mark.parametrize("question", ["how do i raise the tent", "how do i stow the short pole in the bag"])
def test_steps_are_told_with_all_their_sentences(question: str) -> None:
    assert answer(question, TENT).splitlines() == [
        "1. Lay out the groundsheet. [1]",
        "2. Push both of the long poles through the sleeves of the tent, starting at the end with the orange ring. [1] "
        "The short pole stays in the bag. [1]",
        "3. Raise the tent. [1]",
        "4. Drive a peg through each loop, at the angle that the picture shows and never straight down into the soil. "
        "[1] Stones may bend the pegs. [1]",
    ]


LOOM = ["1. Wind a warp.", "2. Thread the heddles.\n3. Tie the warp to the beam.", "4. Weave the warp.\n\nLooms last."]


def answer_about_the_loom(question: str, *positions: int, heading: str = "Weaving") -> str:
    passages = [Passage(each + 1, 1, "Loom", "", LOOM[each], heading=heading, position=each) for each in positions]
    evidence = tuple(Evidence(number, Hit(each, 1.0)) for number, each in enumerate(passages, 1))
    return ExtractiveAnswerer(WordJudge()).answer(Prompt((), question, (question,), evidence, ()))


@pytest.mark.parametrize("question", ["how do i wind a warp", "how do i thread heddles", "how do i weave"])
def test_steps_go_on_in_the_next_passage(question: str) -> None:
    assert answer_about_the_loom(question, 1, 0, 2).splitlines() == [
        "1. Wind a warp. [2]",
        "2. Thread the heddles. [1]",
        "3. Tie the warp to the beam. [1]",
        "4. Weave the warp. [3]",
    ]


def test_steps_do_not_go_on_after_a_gap_and_keep_their_numbers() -> None:
    assert "Weave" not in answer_about_the_loom("how do i wind yarn", 0, 2)
    told = answer_about_the_loom("how do i thread heddles on the beam", 1, 2).splitlines()
    assert told == ["2. Thread the heddles. [1]", "3. Tie the warp to the beam. [1]", "4. Weave the warp. [2]"]


def test_a_line_below_a_list_is_no_step() -> None:
    text = f"{TENT}\nTents are kept in the red barn."
    assert "barn" not in answer("how do i raise the tent", text)


# --- lists --------------------------------------------------------------------------------------------------------

FERRY = (
    "The ferry leaves from the north pier.\n\nYou may not bring on board:\n\n"
    "- gas bottles,\n- dogs without a lead; and\n- bicycles with an engine."
)
FORBIDDEN = (
    "You may not bring on board:\n\n- gas bottles [1]\n- dogs without a lead [1]\n- bicycles with an engine. [1]"
)


def test_if_the_line_above_a_list_answers_the_whole_list_is_told() -> None:
    assert answer("what may i not bring on board?", FERRY) == FORBIDDEN
    assert answer("what may i not bring on board?", FERRY, said=(FORBIDDEN,)) == f"As I said: {FORBIDDEN}"


def test_what_the_line_above_a_list_refers_to_is_told_with_it() -> None:
    text = "Dogs are welcome. The pass is for one summer. It opens:\n\n- the pool,\n- the courts."
    told = "The pass is for one summer. [1]\n\nIt opens:\n\n- the pool [1]\n- the courts. [1]"
    assert answer("what does it open", text) == told


def test_an_item_that_is_asked_for_is_told_alone() -> None:
    assert answer("may i bring gas bottles on board?", FERRY) == "You may not bring on board: gas bottles [1]"


def test_a_list_is_not_told_whole_for_an_amount_that_one_item_gives() -> None:
    text = "The trip of the choir includes:\n\n- a bus to the trip\n- a lunch for £12\n- two guides"
    assert "\n- " not in answer("what does the trip of the choir cost?", text)
    assert "\n- two guides" in answer("what does the trip of the choir include?", text)


def test_a_list_is_told_whole_if_its_heading_is_what_is_asked() -> None:
    items = ["a torch", "a rope of ten metres", "two maps"]
    text = "\n".join(f"- {item}" for item in items)
    told = "What to bring:\n\n- a torch [1]\n- a rope of ten metres [1]\n- two maps [1]"
    assert answer("what should i bring", text, "Caving > What to bring") == told
    assert told not in answer("what should i bring for the children", text, "Caving > What to bring")


def test_a_list_below_a_question_is_told_whole() -> None:
    items = [f"a {colour} flag" for colour in ("red", "green", "white", "black", "blue", "pink")]
    text = "What must every crew carry?\n\n" + "\n".join(f"- {item}" for item in items)
    told = "What must every crew carry?\n\n" + "\n".join(f"- {item} [1]" for item in items)
    assert answer("what must every crew carry", text) == told


def test_a_long_list_is_not_told_whole() -> None:
    items = "\n".join(f"- item of colour {number}" for number in range(20))
    assert "colour 19" not in answer("what may i bring?", f"You may bring:\n\n{items}")


# --- a problem and its remedy -------------------------------------------------------------------------------------

STOVE = (
    "The flame turns yellow. The burner gets little air. Sweep the vent and light the stove once more. "
    "Ask a fitter about the hose.\n\nThe stove clicks twice."
)


@pytest.mark.parametrize(
    "question",
    [
        "the flame turns yellow",
        "the flame is turning yellow now, what do i do",
        "my big flame turned yellow",
        "why does the flame turn yellow",
        "how can i help it, the flame turns yellow",
    ],
)
def test_a_sentence_that_only_repeats_the_problem_comes_with_the_next_two(question: str) -> None:
    told = (
        "The flame turns yellow. [1] The burner gets little air. [1] Sweep the vent and light the stove once more. [1]"
    )
    assert answer(question, STOVE) == told


@pytest.mark.parametrize("question", ["does the flame turn yellow?", "what turns yellow, the flame?"])
def test_a_sentence_that_states_the_fact_asked_for_comes_alone(question: str) -> None:
    assert answer(question, STOVE) == "The flame turns yellow. [1]"


def test_a_sentence_that_says_more_than_the_problem_comes_alone() -> None:
    text = "The oven door weighs 9 kg. The glass is double."
    assert answer("the oven door", text) == "The oven door weighs 9 kg. [1]"
    text = "The oven door locks itself during a long programme. The glass is double."
    assert answer("the oven door", text) == "The oven door locks itself during a long programme. [1]"


def test_the_remedy_is_in_the_same_paragraph_or_item() -> None:
    assert answer("the stove clicks twice", f"{STOVE}\n\nSpare parts come by post.") == "The stove clicks twice. [1]"
    one = "- The pilot light of the old stove flickers whenever the wind blows.\n- Spare parts come by post."
    told = "The pilot light of the old stove flickers whenever the wind blows. [1]"
    assert answer("the pilot light of the old stove flickers when the wind blows", one) == told


def test_in_other_languages_nothing_is_taken_for_a_problem() -> None:
    passage = Passage(1, 1, "Heft", "", "Die Flamme wird gelb. Es fehlt an Luft im Brenner.")
    question = "Wird die Flamme gelb?"
    asked = Prompt((), question, (question,), (Evidence(1, Hit(passage, 1.0)),), (), language="de")
    assert ExtractiveAnswerer(WordJudge()).answer(asked) == "Die Flamme wird gelb. [1]"


# --- instructions -------------------------------------------------------------------------------------------------

BRUSHES = [
    "Wipe off the paint with a rag.",
    "Swirl the brush in white spirit.",
    "Then wash the brush with soap and water.",
    "If the bristles are still stiff, soak them overnight.",
]


@pytest.mark.parametrize("question", ["how do i wash the brush", "how to swirl a brush", "how do i soak bristles"])
def test_the_instructions_of_a_paragraph_are_told_together(question: str) -> None:
    text = f"Good brushes last for years. {' '.join(BRUSHES)} A comb helps as well. Buy the paint elsewhere."
    assert answer(question, text) == " ".join(f"{each} [1]" for each in BRUSHES)


def test_instructions_are_told_only_for_a_question_how_to_do_something() -> None:
    text = " ".join(BRUSHES)
    assert answer("where is the brush swirled?", text) == f"{BRUSHES[1]} [1]"


def test_instructions_for_something_else_are_not_told() -> None:
    varnish, oil = "To varnish a chair, sand the wood and dust it.", "To oil a table, warm the oil a little."
    assert answer("how do i varnish a chair", f"{varnish} {oil}") == f"{varnish} [1]"
    assert answer("how do i oil a table", f"{varnish} {oil}") == f"{oil} [1]"
    assert answer("how do i varnish a chair", f"{varnish}\n\nWarm the oil a little.") == f"{varnish} [1]"


def test_of_many_instructions_some_are_told_with_the_best_one() -> None:
    text = " ".join(f"Turn the dial to mark {number}." for number in range(1, 12))
    told = answer("how do i turn the dial to mark 11", text)
    assert told.startswith("Turn the dial to mark 4. [1]")
    assert told.endswith("Turn the dial to mark 11. [1]")


@pytest.mark.parametrize(
    ("sentence", "instructs"),
    [
        ("Swirl the brush in white spirit.", True),
        ("Please do not press the pedal.", True),
        ("When the light is green, wait for ten seconds.", True),
        ("Fold up the frame.", True),
        ("Press the switch.", True),
        ("Visitors the guide knows may stay.", False),
        ("Even the best brush wears out.", False),
        ("Everyone the guide knows may stay.", False),
        ("The brush is stiff.", False),
        ("During the night, all the doors are locked.", False),
        ("Painting a wall takes a day.", False),
    ],
)
def test_what_is_an_instruction(sentence: str, instructs: bool) -> None:
    (statement,) = statements(sentence)
    assert statement.is_instruction is instructs


def test_a_word_that_opens_a_paragraph_says_what_it_is_about() -> None:
    text = "Crew. Forty-eight sailors took part. They were paid.\n\nCan I bring a dog? Yes. Dogs are welcome."
    read = [(each.above, each.text) for each in statements(text)]
    assert read == [
        ("Crew", "Forty-eight sailors took part."),
        ("Crew", "They were paid."),
        ("Can I bring a dog?", "Dogs are welcome."),
    ]


def test_a_long_list_of_short_items_is_told_whole() -> None:
    things = "a sleeping bag, a torch, warm clothes, a towel, a cup, a spoon, a knife, soap, sun cream, a hat".split(
        ", "
    )
    told = answer("what should i bring", "Bring:\n\n" + "\n".join(f"- {each}" for each in things))
    assert all(f"- {each} [1]" in told for each in things)


def test_a_sentence_does_not_explain_one_that_begins_with_the_same_pronoun() -> None:
    text = "Send the camera back if the lid breaks. Its image size is 12 megapixels. Its lens is covered for two years."
    assert answer("how long is its lens covered", text) == "Its lens is covered for two years. [1]"


# --- replies, commands and lists of other things ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("Can guests use the sauna?\nYes. It is heated from noon.", ""),
        ("Yes. It is heated from noon.", "Can guests use the sauna?"),
        ("Can guests use the sauna?\nYes, it is heated from noon.", ""),
    ],
)
def test_a_yes_is_quoted_with_its_question(text: str, heading: str) -> None:
    told = answer("is the sauna for guests", text, heading)
    assert told.replace("Yes, it", "Yes. It") == "Can guests use the sauna? Yes. It is heated from noon. [1]"


def test_a_reply_of_one_word_is_an_answer() -> None:
    text = "How often is the boiler checked?\nWeekly.\n\nCan the tap water be drunk?\nYes. It is tested."
    assert answer("how often is the boiler checked", text) == "How often is the boiler checked? Weekly. [1]"


def test_a_command_is_told_with_the_line_that_announces_it() -> None:
    text = "Install the crane with its package manager:\n\nhoist add crane-cli\n\nSign in afterwards to move the loads."
    told = answer("how do i install the crane", text)
    assert told.startswith("Install the crane with its package manager: hoist add crane-cli [1]")


def test_a_list_that_is_nothing_to_do_is_not_told_as_steps() -> None:
    text = "- New: a map of the trails.\n- Changed: the alarm limit is nine bar instead of six.\n- Fixed: a typo."
    assert answer("how do i change the alarm limit", text) == (
        "Changed: the alarm limit is nine bar instead of six. [1]"
    )


def test_what_was_completed_wrongly_is_answered_as_it_was_typed() -> None:
    text = "A hull is insured for five years. Return the oars in June."
    completed = "is the brass plate with number, key, lamp, rope, oar and deck insured with a hull"
    assert answer("is it insured with a hull", text, completed=completed) == "A hull is insured for five years. [1]"


NEWS = "- Added: a second mast.\n- Fixed: the bilge pump stopped after an hour.\n- Removed: the brass bell."


@pytest.mark.parametrize(
    "question", ["bilge pump stopped after an hour", "which version fixed the bilge pump that stopped"]
)
def test_what_changed_is_told_with_its_version(question: str) -> None:
    told = answer(question, NEWS, "Release notes > 4.1.0 – 3 May 2025")
    assert told == "4.1.0 – 3 May 2025: Fixed: the bilge pump stopped after an hour. [1]"


def test_a_list_under_another_heading_is_told_without_it() -> None:
    assert answer("the brass bell", NEWS, "The 3 masts") == "Removed: the brass bell. [1]"


def test_steps_of_which_two_answer_are_told_whole() -> None:
    steps = "1. Look at the ferret.\n2. Weigh the ferret.\n3. Fill in the card.\n4. Ring the vet about the ferret."
    last = "If none of this helps, bring the ill ferret."
    told = answer("the ferret is ill", f"The ferret is ill?\n\n{steps}\n{last}")
    assert [line[:2] for line in told.splitlines() if line[:1].isdigit()] == ["1.", "2.", "3.", "4."]
    assert "Fill in the card." in told
    assert told.count("Ring the vet") == 1
    assert told.endswith(f"{last} [1]")


def test_all_kinds_are_told_of_a_list_of_sentences() -> None:
    kinds = "- Day pass: it costs £9.\n- Year pass: it costs £80.\n- Guest pass: it is free."
    told = answer("what kinds of passes are there", f"Guests leave at noon.\n\nOther kinds of passes\n\n{kinds}")
    assert all(kind in told for kind in ("Day pass", "Year pass", "Guest pass"))


def test_a_heading_and_the_title_may_share_the_words_of_the_question() -> None:
    text = "- Stoves and candles\n- Nails in the walls\n- Ferrets, except on a lead"
    told = answer("what is forbidden in the handbook", text, heading="Forbidden")
    assert all(each in told for each in ("Stoves", "Nails", "Ferrets"))


def test_a_line_with_a_name_and_a_value_ends_a_paragraph_without_a_full_stop() -> None:
    text = "Applies to all ferrets. Questions: Ida Moe, ext. 31"
    assert [each.text for each in statements(text)] == ["Applies to all ferrets.", "Questions: Ida Moe, ext. 31"]


def test_what_opens_the_section_asked_about_tells_the_amount() -> None:
    told = answer("how many ferrets do you have", "Everyone keeps 25. Ferrets eat, ferrets sleep.", heading="Ferrets")
    assert told.startswith("Everyone keeps 25. [1]")
