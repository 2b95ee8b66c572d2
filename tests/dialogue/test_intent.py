"""What a message asks for: found if its form shows it, and not for a plain question that only sounds like it."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.config import Settings
from turnwise.dialogue.intent import asks_documents, read_intent, without_courtesy
from turnwise.dialogue.language import CODES, MAX_MESSAGE_CHARS, language
from turnwise.dialogue.listed import place_of
from turnwise.turn.condense import condense
from turnwise.turn.plan import MAX_LISTED
from turnwise.turn.planner import QueryPlanner
from turnwise.turn.understand import understand
from turnwise.types import Message, QueryPlan


def said(*contents: str) -> tuple[Message, ...]:
    return tuple(Message("assistant" if place % 2 else "user", content) for place, content in enumerate(contents))


def planned(message: str, history: tuple[Message, ...]) -> QueryPlan:
    return asyncio.run(QueryPlanner().create_plan("", message, history))


def spoken(message: str, history: tuple[Message, ...]) -> str:
    (step,) = planned(message, history).steps
    assert step.tool == "say"
    return step.input


def condensed_to(message: str, *contents: str) -> str:
    history = said(*contents)
    return condense(message, history, understand(message, history)).query


PHRASES: dict[tuple[str, str], str] = {
    ("social", "thanks"): """
        thanks | Thank you! | thanks a lot | Many thanks. | thx | ok thanks | Great, thanks! | perfect, thank you |
        no, thanks | Thank you so much for your help | thanks, that helps a lot | thanks, that was very helpful |
        Thanks again! | cheers | thanks, bye | thanks, that's all | that helped, thanks |
        Thanks for the explanation | thank you, I understand now | thanks, have a nice day | cool, thanks |
        ok thanks, very helpful | thanks, really useful!""",
    ("social", "hello"): """
        hello | Hi | hey there | Good morning | good evening! | Hello, how are you? | how are you? | hi turnwise""",
    ("social", "goodbye"): "bye | Goodbye. | see you later | bye bye | good night | ok, bye | see you tomorrow",
    ("social", "acknowledged"): """
        ok | Okay. | got it | I see | cool | great! | makes sense | understood | ok, got it | interesting |
        I understand | sounds good | fair enough | good to know | alright | that makes sense | ok great |
        that's all for now""",
    ("social", "declined"): """
        no | nope | never mind | forget it | not now | no, it's fine | stop. start over | ignore my last question |
        forget all I asked so far | no forget that | actually, never mind | ok ignore that""",
    ("social", "sure"): "are you sure? | Really? | are you quite sure about that?",
    ("social", "capabilities"): """
        what can you do? | Who are you? | what are you? | help | how can you help me? | what can I ask you? |
        what can I do here? | what can you do for me? | what can I do with you? |
        are you a bot? | what do you do? | how does this work? | are you an AI? | what's your name?""",
    ("social", "frustrated"): """
        ugh | ugh useless | this is useless | it's still not working, this is useless!!! | I give up |
        this is useless, I asked this twice | what a waste of time | that doesn't help | argh, this is so annoying |
        I'm so frustrated | I already asked you this""",
    ("reform", "list"): """
        Give me that as a list | in bullet points | as a list | bullet points please | put that in a list |
        make a list | Can you put this into bullet points? | as a numbered list please | list it | list that |
        now as a bulleted list | could you give me that as bullet points please | turn it into a list |
        make me a list of that | as bullets | show me that in list form | please list it | in points |
        write them as a numbered list | put those steps into bullet points | make it a numbered list | number them""",
    ("reform", "table"): """
        as a table | in a table please | Show that as a table | put it into a table | make a table |
        Can you make a table of that? | give me your answer as a table | in tabular form | now as a table |
        format it as a markdown table | put the fees in a table | turn these numbers into a table please |
        put these in a table | give them to me as a table | make it a table | can you make that a table?""",
    ("reform", "shorter"): """
        shorter | make it shorter | shorter please | in short | tl;dr | TLDR | summarize that |
        Summarise your last answer | sum it up | in one sentence | briefly | too long | that's too long |
        a shorter version please | keep it short | Can you shorten that? | in a nutshell | be brief |
        summarize it in two sentences | can you summarise? | give me a short version | get to the point |
        in a few words | say that again shorter | tell me that again, but shorter | make it a bit shorter""",
    ("reform", "quiz"): """
        quiz me | test me on this | ask me a question | can you quiz me please | another quiz question""",
    ("reform", "simpler"): """
        simpler | explain it like I'm five | Explain that in simpler terms | in simple terms | in plain English |
        ELI5 | make it simpler | simplify that | I don't understand | I don't get it | I didn't understand that |
        I'm confused | that's confusing | this is too complicated | what do you mean? | huh? |
        Sorry, I don't understand | I still don't get it | can you explain it in simple words? |
        say it in layman's terms | I am lost | that makes no sense to me | explain this to a child |
        dumb it down please | ugh, this makes no sense, I don't get it | I'm lost, this is useless |
        this is confusing, I don't understand | it still doesn't make any sense | explain simpler""",
    ("reform", "translate"): """
        translate that into French | in German please | Translate it to Spanish | say that in Italian |
        in Japanese | can you say it in Portuguese? | translate this | and in French? |
        Translate your answer into Polish | now in English please""",
    (
        "reform",
        "rewrite",
    ): "rephrase that | reword it please | put it another way | in other words | say it differently",
    ("reform", "repeat"): """
        say that again | repeat that please | can you repeat your answer? | come again? | pardon? | once more |
        what did you just say? | repeat please | Could you repeat that?""",
    ("recall", "first"): """
        What did I ask first? | what was my first question? | What was the very first thing I asked? |
        how did we start? | remind me, what was my first question | do you remember what my first question was? |
        What did I ask at the very beginning? | what was the first thing I asked you about? |
        what was it that I asked you first | what was my initial question | what did I ask initially?""",
    ("recall", "last"): """
        What did I just ask? | what was my last question? | what did I ask before that? |
        what was my previous question | what did I ask you just now?""",
    ("recall", "numbered"): """
        what was my second question? | what was my 3rd question | What was the third thing I asked? |
        what did I ask you second? | what was my question number 2? | remind me, what was my second question again""",
    ("recall", "before"): """
        what was the question before that? | what was my question before the last one? |
        what was my second to last question? | what was my last but one question?""",
    ("recall", "all"): """
        what have we talked about? | What did I ask? | what have I asked so far? | list my questions |
        what did we discuss? | summarize our conversation | recap | what questions have I asked? |
        summarise what we talked about | give me a summary of what we discussed so far |
        sum up everything we have discussed""",
    ("recall", "asked"): """
        do you remember what I asked about field trips? | what did I ask about field trips? |
        did I ask about field trips? | what was my question about field trips? |
        have I asked you about field trips before? | which question did I ask about field trips? |
        which of my questions was about field trips?""",
    ("recall", "said"): """
        what did you say about field trips? | what did you tell me about field trips? |
        remind me what you said about field trips | what have you said about field trips so far? |
        did you mention field trips?""",
    ("clarify", "instead"): """
        no, I meant attachments | I meant attachments | Sorry, I meant attachments | I mean the attachments |
        no, I was asking about attachments | not photos, attachments | not photos but attachments |
        my question was about attachments | no, attachments, not photos | I said attachments, not photos |
        actually I meant attachments | I was referring to attachments | Oh wait, I meant attachments |
        what I meant is attachments | I meant attachments, not photos""",
    ("clarify", "other"): """
        not that one, the other | the other one | no, the other one | not that one | no, I meant the other one |
        I mean the other ones""",
    ("clarify", "repeated"): """
        you already said that | you said that already | You've said this before | you just told me that |
        yes, you already told me that | that's what you said before | you are repeating yourself |
        I know, you said that | you keep saying that | that's the same answer again""",
    ("clarify", "wrong"): """
        that's not what I asked | no, that's wrong | that's wrong | That is not correct. | wrong |
        you misunderstood me | that doesn't answer my question | You didn't answer my question | no, that's not it |
        that isn't what I meant | ugh, that's not what I asked |
        this is incorrect | you misunderstood my question | That's not right""",
    ("refer_back", "earlier"): """
        earlier you mentioned field trips | You mentioned field trips earlier | going back to field trips |
        let's go back to field trips | you said something about field trips | back to field trips |
        returning to field trips | can we go back to field trips? |
        tell me more about the field trips you mentioned earlier | before, you talked about field trips |
        what about the field trips you mentioned?""",
    ("arithmetic", "plain numbers"): """
        what is 15% of 80? | 2+2 | 2 + 2 = | how much is 12 times 7? | calculate 3 * (4 + 5) |
        What is 100 divided by 8? | what's the square root of 144? | 7 × 6 | what is half of 90? |
        10 percent of 250 | what is 3 plus 4 minus 2 | 2^10""",
    ("arithmetic", "of the last answer"): "how much is that times 3? | what is it plus 10? | what is 15% of that?",
    (
        "data",
        "count",
    ): "how many rows are there in the table? | how many columns does the spreadsheet have? | count the rows",
    ("data", "aggregate"): """
        average price by region | what is the average price by region? | total sales by month |
        show me the sum of revenue by country | what is the mean of the price column? | number of orders by customer""",
    ("data", "rows"): "show me the first 10 rows | list the columns | show the top 5 rows of the table",
}
SAID = [(" ".join(text.split()), *key) for key, texts in PHRASES.items() for text in texts.split("|")]
TRIPS = said("What is Edifest?", "Edifest is a festival with field trips. [1]", "How do I send photos?", "By mail. [2]")


@pytest.mark.parametrize(("message", "intent", "operation"), SAID)
def test_the_intent_of_each_phrase_is_recognised(message: str, intent: str, operation: str) -> None:
    understood = understand(message, TRIPS)
    expected = intent, operation
    if intent == "data" and understood.follow_up.is_follow_up:  # a follow-up is completed first
        expected = "follow_up", ""
    assert (understood.intent, understood.operation) == expected
    assert understood.reason


@pytest.mark.parametrize(
    ("message", "intent", "operation"),
    [
        ("Thanks! Give me that as a list", "reform", "list"),
        ("ok. what did I ask first?", "recall", "first"),
        ("ok, summarize what you told me", "reform", "shorter"),
        ("hm, still confused", "reform", "simpler"),
        ("Thank you! No, I meant attachments", "clarify", "instead"),
        ("thanks, what is 15 % of that?", "arithmetic", "of the last answer"),
        ("Danke! Das bitte als Liste", "reform", "list"),
        ("merci, en tableau s'il te plaît", "reform", "table"),
        ("谢谢！列成表格", "reform", "table"),
        ("ok, thanks. bye!", "social", "thanks"),
    ],
)
def test_what_follows_a_courtesy_is_what_is_wanted(message: str, intent: str, operation: str) -> None:
    reading = read_intent(message)
    assert (reading.intent, reading.operation) == (intent, operation)


@pytest.mark.parametrize(("message", "intent", "operation"), SAID)
def test_case_punctuation_and_spaces_do_not_matter(message: str, intent: str, operation: str) -> None:
    shouted = "  " + message.replace(" ", "  ").replace("'", "’").upper().replace("TLDR", "tldr") + " !!"
    if intent != "arithmetic":
        assert read_intent(shouted, "en")[:2] == (intent, operation)


PLAIN = """
What is a list comprehension? | thanks to whom did the festival start? | Translate: what does X mean? |
what is a table in SQL? | who said that earlier you mentioned? | Thanks to the teachers the festival grew. How? |
Give me a list of BERT models | What is a linked list? | Summarise the field-trip policy |
Make a table of GPT sizes | How do I make a list in Python? | What does thank you mean in German? |
How do you say hello in Japanese? | What is the table of contents? | Explain gradient descent like I'm five |
Explain attention in simple terms | Summarize the BERT paper in one sentence | Translate the abstract into German |
What is shorter, a mile or a kilometre? | Which route is shorter? | List the activities |
List all models with more than 1B parameters | I don't understand backpropagation |
I don't get how attention works | I'm confused about the difference between L1 and L2 |
What do you mean by attention? | What can you do with BERT? | Who are you going to vote for? |
What are you allowed to bring? | What can I do? | What can I do at Edicenter? | How does this law work? |
What is the first question on the exam? | What was the first question that Turing asked? |
What did the first transformer look like? | What questions did I miss in the COMP 237 exam? |
Do you remember the Alamo? | What did you think about the film? | What did Turing say about machines? |
Did you know that BERT is old? | What did I miss? | Did I pass? | What is 9/11? | What happened on 9/11? |
Is it open 24/7? | What is COVID-19? | Who won in 1998? | What is GPT-3.5? | What is 42? | What is version 2.0? |
What are the 3 laws of robotics? | What is the sum of human knowledge? | 1914 - 1918 | What is 5G? |
What is 15% commission? | How much is a ticket? | How much is that ticket? | 2023 | What is 20/20 vision? |
How many employees does Edify have? | How many people live there? | What is the average age of pupils? |
How many columns does the Parthenon have? | What is the average rainfall in Brazil? |
How many rows of seats are in the hall? | What is the total cost of a field trip? |
Who wrote the column in the Times? | What is a database record? |
What does the first row of the periodic table show? | What does "no, I meant" mean? |
What is meant by overfitting? | What did the author mean? | I mean business, how do I start one? |
What's wrong with my code? | Why is it wrong to lie? | Is that correct? | That's wrong, isn't it? |
What is the other theorem? | Who is not that famous? | Not all models are BERT. Which are? |
What is a common mistake? | Is the answer in the table? | Back to school: what do pupils need? |
What did people use before? | How do I go back to the previous page in the app? |
Can I return to work after the exam? | How do I get back to the main menu? | What is going back to nature? |
Did the author mention GPT? | Which papers mentioned dropout? | You said what? And who are they? |
Hello world in Python | What is a hello message in TLS? | What is the OK button for? | Is Great Britain an island? |
What makes sense of touch work? | What is Good Friday? | No-show policy | No smoking areas | Is there no charge? |
No charge for children? | Never mind games in therapy | What is Bye week in football? | How do I repeat a string? |
Repeat customers discount | How do I simplify a fraction? | Which table shows the results? |
What does the summary say? | Where is the list of sponsors? | Can I get a shorter contract? |
Is there a simpler method? | Is there a German version? | What is bullet time? | What are bullet points used for? |
How do I shorten a URL? | What does TL;DR stand for? | What is ELI5? | Who can help me with enrolment? |
Help desk opening hours | What is the help page about? | What is a recap? | in Python | in 2023 | in the morning |
in Germany | as a student | to Berlin | in general | for beginners? | Points of interest | Table tennis rules |
List price of the book | What is in the list? | What did we learn from the study? |
What was discussed at the meeting? | What did the teacher ask first? |
this is useless, how do I reset my password? | What is a useless machine? | Is this useless? | ugh boots |
useless facts about BERT | What is annoying about BERT? | it's not working | Why does it not help? |
I give up my seat, is it refunded? | a waste of time management |
I don't get it, what is dropout? | this makes no sense of smell | I can't follow the link |
What did I ask at the very beginning of the exam? | what was my initial deposit? |
What was the first thing Turing asked? | what was the initial question of the paper? |
what was the original message? | What was it that Turing asked first? | What did I ask for initially?
"""


@pytest.mark.parametrize(
    "message", [text.strip() for line in PLAIN.split("\n") for text in line.split("|") if text.strip()]
)
def test_a_question_that_only_sounds_like_it_is_searched(message: str) -> None:
    understood = understand(message, TRIPS)
    assert understood.intent in ("new_question", "follow_up"), understood
    assert planned(message, TRIPS).steps[0].tool == "rag"


# --- what comes of it ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "message", "question"),
    [
        ("How do I send photos?", "no, I meant attachments", "How do I send attachments?"),
        ("How do I send photos?", "not photos, attachments", "How do I send attachments?"),
        ("How do I send photos?", "sorry, I meant attachments, not photos", "How do I send attachments?"),
        ("How does BERT handle long documents?", "I meant GPT", "How does GPT handle long documents?"),
        ("How does BERT read scanned documents?", "no, I meant short documents", "How does BERT read short documents?"),
        ("What changed in the 2022 version?", "I meant the 2023 version", "What changed in the 2023 version?"),
        ("When is the summer festival?", "no, the winter festival", "When is the winter festival?"),
        ("How do I send photos?", "that's not what I asked", "How do I send photos?"),
        ("How do I send photos?", "no, that's wrong", "How do I send photos?"),
        ("How do I send photos?", "no, I meant how do I delete photos?", "how do I delete photos?"),
        ("How do I send photos?", "no, I meant how do I delete them?", "how do I delete photos?"),
        ("How does it work?", "I meant GPT", "How does GPT work?"),
    ],
)
def test_a_correction_asks_the_last_question_with_the_right_words(last: str, message: str, question: str) -> None:
    assert condensed_to(message, last, "An answer that missed the point.") == question


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("I like trips. I also like music. Tell me about the next.", "No, I mean cardio."),
        ("Can you compare the dishes and the drinks?", "I meant the cheese"),
        ("How do I send photos?", "no, I mean the last option that you suggested for reducing stress, hypnosis"),
    ],
)
def test_where_it_is_not_clear_what_to_replace_the_message_stays(last: str, message: str) -> None:
    history = said(last, "An answer.")
    condensed = condense(message, history, understand(message, history))
    assert (condensed.query, condensed.method) == (message, "literal")
    assert condensed.added


@pytest.mark.parametrize(
    ("last", "question"),
    [
        ("who can come", "who can come to Edicenter"),
        ("Who can join?", "Who can join (Edicenter)?"),
        ("Who can use photos?", "Who can use Edicenter?"),
    ],
)
def test_correcting_what_the_last_question_referred_to_completes_it(last: str, question: str) -> None:
    assert condensed_to("no, I meant Edicenter", "What is edifest?", "A festival.", last, "All.") == question


def test_a_second_correction_still_changes_the_question() -> None:
    talk = "How do I send photos?", "Like this.", "no, I meant attachments", "Like that."
    assert condensed_to("sorry, I meant videos", *talk) == "How do I send videos?"


def test_what_names_nothing_is_not_what_a_pronoun_means() -> None:
    talk = "How do field trips work?", "Like this.", "no, that's wrong", "I see.", "thanks!", "Welcome."
    assert condensed_to("what do they cost?", *talk) == "what do field trips cost?"
    assert condensed_to("no, I meant what do they cost?", *talk) == "what do field trips cost?"


def test_going_back_searches_with_the_words_of_that_turn() -> None:
    talk = "What is Edifest?", "Edifest is a festival with field trips.", "What is BERT?", "BERT is a model."
    assert condensed_to("earlier you mentioned field trips", *talk) == "field trips (Edifest)"
    asked = condensed_to("Going back to field trips, who can join them?", *talk)
    assert asked == "who can join field trips?"
    history = said(*talk)
    added = condense("back to field trips", history, understand("back to field trips", history)).added
    assert {"field", "trips", "Edifest"} <= {term.text for term in added}


@pytest.mark.parametrize(
    ("message", "question"),
    [
        ("Earlier you mentioned thing 3, what is it for?", "what is thing 3 for?"),
        ("Earlier you mentioned randomisation, can you expand?", "randomisation"),
        ("Previously you mentioned thing 3, how does a heron use it?", "how does a heron use thing 3?"),
    ],
)
def test_earlier_you_mentioned_is_believed_even_if_it_is_not_found(message: str, question: str) -> None:
    """It may lie before all that is looked at."""
    assert understand(message, TRIPS).intent == "refer_back"
    assert condensed_to(message, *(each.content for each in TRIPS)) == question
    assert understand(message.replace("Earlier", "Before").replace("Previously", "Before"), TRIPS).intent == "follow_up"


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ("hey so i was wondering what is bert exactly", "what is bert exactly"),
        ("Thanks. Who can join?", "Who can join?"),
        ("hi, what is GPT?", "what is GPT?"),
        ("quick question: how do I send photos?", "how do I send photos?"),
        ("this is useless, how do I reset my password?", "how do I reset my password?"),
        ("ugh, what is BERT?", "what is BERT?"),
        *((same, same) for same in ("so what is it?", "Hi-fi: what is it?", "I wonder whether it rains", " hi ")),
        *((same, same) for same in ("Hey Jude, who wrote it?", "this is useless in what sense?", "hello world")),
    ],
)
def test_chatter_before_a_question_is_not_part_of_it(message: str, asked: str) -> None:
    assert without_courtesy(message) == asked


def test_a_list_of_what_was_asked_has_no_courtesies() -> None:
    history = said("hello", "Hello.", "What is BERT?", "A model.", "thanks!", "Welcome.", "ugh", "Sorry.")
    assert spoken("what have we talked about?", history).splitlines()[2:] == ["1. What is BERT?"]
    assert "“What is BERT?”" in spoken("what did I ask first?", history)
    assert "“What is BERT?”" in spoken("what was my last question?", history)


def test_a_message_cannot_return_to_what_was_never_said() -> None:
    assert understand("Back to school supplies", TRIPS).intent != "refer_back"
    assert understand("earlier you mentioned field trips", ()).intent == "new_question"
    assert understand("no, I meant attachments", ()).intent == "new_question"


def test_memories_of_a_subject_are_quoted_from_the_conversation() -> None:
    assert "What is Edifest?" in spoken("what did I ask about Edifest?", TRIPS)
    assert "How do I send photos?" not in spoken("what did I ask about Edifest?", TRIPS)
    assert "have not asked about dropout" in spoken("did I ask about dropout?", TRIPS)
    assert "Edifest is a festival with field trips. [1]" in spoken("what did you say about field trips?", TRIPS)


def test_what_the_assistant_never_said_is_searched() -> None:
    step, _ = planned("what did you say about dropout?", TRIPS).steps
    assert step.tool == "rag"
    assert step.query is not None
    assert step.query.question == "dropout"


def test_a_question_is_recalled_by_its_number() -> None:
    history = said(
        "What is BERT?", "A model.", "thanks!", "Welcome.", "What is GPT?", "Another.", "And T5?", "A third."
    )
    assert "“What is GPT?”" in spoken("what was my second question?", history)
    assert "“And T5?”" in spoken("what was my 3rd question?", history)
    assert "“What is GPT?”" in spoken("what was the question before that?", history)
    recalled = (*history, *said("what was my last question?", "Your last question was: “And T5?”"))
    assert "“What is GPT?”" in spoken("what was the question before that?", recalled)
    few = spoken("what was my ninth question?", history).splitlines()
    assert few[-3:] == ["1. What is BERT?", "2. What is GPT?", "3. And T5?"]
    assert spoken("what was the question before that?", said("What is BERT?", "A model.")).endswith("1. What is BERT?")


@pytest.mark.parametrize("ordinal", ["", "nth", "zweite", "²"])
def test_an_unknown_ordinal_is_not_a_number(ordinal: str) -> None:
    assert place_of(ordinal) == 0


def test_an_objection_is_read_in_the_language_of_the_conversation() -> None:
    assert asks_documents("falsch")
    assert not asks_documents("falsch", "de")
    assert not asks_documents("that's wrong", "de")
    assert asks_documents("Was ist BERT?", "de")


def test_a_long_conversation_is_remembered_within_bounds() -> None:
    history = said(*(text for number in range(500) for text in (f"What is topic {number}?", "A topic.")))
    everything = spoken("What have I asked so far?", history).splitlines()
    assert len(everything) == MAX_LISTED + 2
    assert everything[-1] == "500. What is topic 499?"
    assert "topic 0?" in spoken("What did I ask first?", history)
    assert "What is topic 7?" in spoken("what did I ask about topic 7?", history)


@pytest.mark.parametrize(("message", "intent", "operation"), SAID)
def test_every_intent_has_a_plan(message: str, intent: str, operation: str) -> None:
    speaks = intent in ("social", "recall") or operation == "plain numbers"
    expected = "say" if speaks else "reform" if intent == "reform" else "rag"
    assert planned(message, TRIPS).steps[0].tool == expected


def test_everything_said_has_words_in_every_language() -> None:
    english = language("en")
    social = {operation for family, operation, _ in english.patterns if family == "social"}
    for code in CODES:
        assert language(code).says.keys() == english.says.keys(), code
        assert social <= language(code).says.keys()


def test_with_detection_off_there_are_no_follow_ups_but_the_last_answer_can_still_be_reformed() -> None:
    off = Settings(follow_up=False)
    for message in (
        "tell me more",
        "how does it work?",
        "no, I meant attachments",
        "earlier you mentioned field trips",
    ):
        understood = understand(message, TRIPS, off)
        assert (understood.intent, understood.follow_up.is_follow_up) == ("new_question", False)
    assert understand("as a list", TRIPS, off).intent == "reform"


def test_a_message_that_asks_the_documents_nothing_is_not_a_topic() -> None:
    for message in (
        "thanks!",
        "as a list",
        "what did I ask first?",
        "I don't understand",
        "that's wrong",
        "2 + 2",
        "ugh!",
    ):
        assert not asks_documents(message)
    for message in ("What is BERT?", "no, I meant attachments", "earlier you mentioned BERT"):
        assert asks_documents(message)
    history = (*TRIPS, *said("I don't understand", "By mail."))
    assert understand("why?", history).follow_up.previous_topic == "photos"


@given(st.text(max_size=200))
def test_any_text_has_a_reading_and_only_known_ones(message: str) -> None:
    reading = read_intent(message)
    assert (reading.intent is None) == (reading.reason == "")
    understand(message, TRIPS)


@pytest.mark.parametrize("code", CODES)
def test_patterns_never_see_more_than_their_share_of_a_message(code: str) -> None:
    """However long a message is, its patterns look at no more than LONGEST characters; none repeats what repeats."""
    assert read_intent("thanks " * MAX_MESSAGE_CHARS, code).intent is None
    for _, _, pattern in language(code).patterns:
        assert "*)*" not in pattern.pattern
        assert "+)+" not in pattern.pattern
        assert "+)*" not in pattern.pattern


@pytest.mark.parametrize(
    "piece", ["no, ", "ok ", "that ", "not that ", "you said a ", "what is the ", "2 + ", "那", "その"]
)
def test_a_message_made_to_confuse_the_patterns_is_a_question(piece: str) -> None:
    for length in (MAX_MESSAGE_CHARS, 16_000):
        message = (piece * length)[:length] + "~x~"
        assert read_intent(message).intent is None


TICKET = "What does a ticket for adults cost?"


@pytest.mark.parametrize(
    ("talk", "message", "question"),
    [
        ((TICKET, "and for seniors?"), "no, I meant students", "What does a ticket for students cost?"),
        ((TICKET,), "sorry, the annual one", "What does a ticket for adults cost (annual)?"),
        ((TICKET, "and for seniors?"), "no the annual one", "What does a ticket for seniors cost (annual)?"),
        ((TICKET,), "no, I meant the annual pass", "What does a ticket for adults cost (the annual pass)?"),
        (("How long is the warranty?",), "I mean for the receiver", "How long is the warranty for the receiver?"),
        (("what happens if I miss the tutorial",), "no, I meant the lab", "what happens if I miss the lab"),
    ],
)
def test_a_correction_means_the_last_question_as_it_stood(talk: tuple[str, ...], message: str, question: str) -> None:
    history = said(*(each for asked in talk for each in (asked, "An answer.")))
    assert condense(message, history, understand(message, history)).query == question


@pytest.mark.parametrize(
    ("last", "message", "question"),
    [
        ("Can I have a dog?", "what about cats", "Can I have cats?"),
        ("Do I need a ticket?", "what about children?", "Do children need a ticket?"),
    ],
)
def test_another_thing_or_another_person_is_asked_about(last: str, message: str, question: str) -> None:
    history = said(last, "An answer.")
    assert condense(message, history, understand(message, history)).query == question


def test_hers_does_not_replace_his_in_the_last_question() -> None:
    history = said("When are his office hours?", "On Monday.")
    assert "hers" not in condense("and hers?", history, understand("and hers?", history)).query.replace("and hers", "")
