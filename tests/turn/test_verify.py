"""Which sentences of an answer the passages they cite bear out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from patience import within
from talking import answered, stage

from turnwise.dialogue.claims import verify
from turnwise.engine import Engine
from turnwise.models.fake import FakeChat
from turnwise.turn.parts import Parts
from turnwise.turn.verify import grounds, try_verify
from turnwise.types import Claim, Reference, Source, TurnRequest

FERRY = (
    "Dogs travel free of charge on the upper deck. A muzzle is not required, but the dog must be kept on a lead. The "
    "ferry to Norsholm leaves every forty minutes from pier 3 between 6 a.m. and 10 p.m. Tickets cost 14 crowns for "
    "adults and 7 crowns for children under twelve. Bicycles are not allowed on weekday mornings."
)
LEASE = (
    "The rent is 1,250 euros a month and is due on the first working day. The tenant pays for electricity and "
    "internet; heating is included. Either side may end the lease with three months' notice. Pets need the written "
    "consent of the landlord. The deposit of two months' rent is returned within 60 days after the flat is handed back."
)
MEASLES = (
    "The World Health Organization recommends two doses of the measles vaccine. In 2021, about 128,000 people died of "
    "measles, most of them children under five. Vaccination decreased deaths by 73 per cent between 2000 and 2018."
)
SIZES = (
    "BERT was released in two main sizes.\n\nmodel | layers | hidden size | parameters\n"
    "BERT base | 12 | 768 | 110 million\nBERT large | 24 | 1,024 | 340 million"
)


def source(text: str, number: int = 1, title: str = "", reference: Reference | None = None) -> Source:
    return Source(number, number, title, "a.md", "", None, text, reference=reference)


def judged(sentence: str, text: str) -> bool:
    (claim,) = verify(f"{sentence} [1]", [source(text)])
    return claim.supported


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("Dogs travel free of charge on the upper deck.", FERRY),
        ("Dogs may come along for free on the upper deck.", FERRY),
        ("Dogs have to be on a lead, but need no muzzle.", FERRY),
        ("An adult ticket costs 14 crowns.", FERRY),
        ("You cannot bring a bicycle on weekday mornings.", FERRY),
        ("Ferries to Norsholm depart from pier 3 every 40 minutes.", FERRY),
        ("The monthly rent is €1250.", LEASE),
        ("Heating is part of the rent, while the tenant pays electricity and internet.", LEASE),
        ("The lease can be ended by either party with a notice of 3 months.", LEASE),
        ("You need the landlord's written consent to keep a pet.", LEASE),
        ("The WHO recommends two doses of measles vaccine.", MEASLES),
        ("Measles killed some 128,000 people in 2021.", MEASLES),
        ("BERT large: layers 24, hidden size 1,024, parameters 340 million.", SIZES),
        ("BERT large has 340 million parameters and 24 layers.", SIZES),
        ("“Dogs travel free of charge on the upper deck.”", FERRY),
    ],
)
def test_what_the_passage_says_in_other_words_is_borne_out(sentence: str, text: str) -> None:
    assert judged(sentence, text)


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("An adult ticket costs 20 crowns.", FERRY),
        ("Ferries to Karlby depart from pier 3 every 40 minutes.", FERRY),
        ("A muzzle is required for dogs.", FERRY),
        ("Bicycles are allowed on weekday mornings.", FERRY),
        ("The crossing was opened by the king and is popular with tourists.", FERRY),
        ("The monthly rent is €1350.", LEASE),
        ("The lease can be ended by either party with a notice of 6 months.", LEASE),
        ("Pets do not need the written consent of the landlord.", LEASE),
        ("Smoking on the balcony is forbidden after ten in the evening.", LEASE),
        ("The CDC recommends two doses of measles vaccine.", MEASLES),
        ("Measles killed some 128,000 people in 2020.", MEASLES),
        ("Vaccination increased deaths by 73 per cent between 2000 and 2018.", MEASLES),
        ("BERT large has 300 million parameters and 20 layers.", SIZES),
    ],
)
def test_a_different_number_name_or_meaning_is_not_supported(sentence: str, text: str) -> None:
    assert not judged(sentence, text)


def test_what_stands_above_a_passage_is_known() -> None:
    reference = Reference("olsen", ("Olsen, Kari",), 2021)
    told = source("The rent is due on the first working day.", title="Lease of flat 12", reference=reference)
    (claim,) = verify("In the lease of flat 12 (Olsen 2021), rent is due on the first working day [1].", [told])
    assert claim.supported


def test_a_sentence_that_cites_two_passages_rests_on_both() -> None:
    sources = [source("Herons eat fish.", 1), source("Storks eat frogs.", 2)]
    both, one = verify(
        "Herons eat fish and storks eat frogs [1][2]. Herons eat fish and storks eat frogs [1].", sources
    )
    assert (both.numbers, one.numbers) == ((1, 2), (1,))
    assert both.score > one.score


def test_a_claim_that_cites_nothing_is_not_borne_out_and_the_rest_is_no_claim() -> None:
    text = (
        "Sure! Here is what the ferry rules say:\n\n## Dogs\nDogs travel free of charge on the upper deck [1]. "
        "Cats travel in the hold of the ship.\n\n```\nprint('A line of code that states nothing.')\n```\n\n"
        "The documents do not mention parrots. I could not find more. Shall I go on? You asked about dogs first."
    )
    assert verify(text, [source(FERRY)]) == (
        Claim("Dogs travel free of charge on the upper deck.", (1,), True, 1.0),
        Claim("Cats travel in the hold of the ship.", (), False, 0.0),
    )


def test_only_cited_sentences_of_a_quoting_answerer_are_claims() -> None:
    text = (
        "The nearest passages are:\n\n- “Dogs travel free of charge on the upper deck.” [1]\n\nThat needs a model here."
    )
    assert [claim.numbers for claim in verify(text, [source(FERRY)], quotes=True)] == [(1,)]


def test_what_a_tool_found_bears_a_claim_out_without_a_citation() -> None:
    (claim,) = verify("15 % of 1,240 is 186.", (), found=("15 % of 1240 is 186.",))
    assert (claim.numbers, claim.supported) == ((), True)
    (claim,) = verify("15 % of 1,240 is 188.", (), found=("15 % of 1240 is 186.",))
    assert not claim.supported


def test_in_another_language_only_the_numbers_are_compared() -> None:
    assert judged("Eine Karte für Erwachsene kostet 14 Kronen, und Hunde fahren auf dem Deck mit.", FERRY)
    assert not judged("Eine Karte für Erwachsene kostet 20 Kronen, und Hunde fahren auf dem Deck mit.", FERRY)


def test_text_without_spaces_is_compared_by_its_characters() -> None:
    text = "狗可以免费乘坐渡轮的上层甲板。成人票价为14克朗。"
    assert judged("成人票价是14克朗。", text)
    assert not judged("猫必须留在汽车里。", text)


def test_meaning_helps_where_words_differ(sample_engine: Engine) -> None:
    text = "The animal must be kept on a lead at all times. Boats leave the harbour hourly."
    said = "Pets have to stay leashed on board the whole time [1]."
    (by_words,) = verify(said, [source(text)])
    (by_meaning,) = verify(said, [source(text)], embedder=sample_engine.index.embedder)
    assert by_meaning.score >= by_words.score


words = st.sampled_from(
    [
        "Dogs",
        "travel",
        "not",
        "never",
        "14",
        "crowns",
        "[1]",
        "[2]",
        "[9]",
        ".",
        "?",
        "\n\n",
        "- ",
        "| a | b |",
        "```",
        "#",
    ]
)


@given(st.lists(words, max_size=20).map(" ".join))
def test_any_answer_can_be_checked(text: str) -> None:
    for claim in verify(text, [source(FERRY), source("", 2)], found=("7",)):
        assert 0 <= claim.score <= 1
        assert claim.supported == (claim.score >= 0.5)
        assert claim.text


@pytest.mark.parametrize(
    "text", ["Dogs cost 900 crowns [1]. " * 2_000, "dogs " * 12_000 + "[1]", "`" * 60_000, "not " * 15_000 + "[1]"]
)
def test_a_long_answer_does_not_stall(text: str, sample_engine: Engine) -> None:
    with within(10):
        verify(text, [source(FERRY)], embedder=sample_engine.index.embedder)


def test_a_turn_gives_its_claims_and_the_sentences_behind_them(make_parts: Callable[..., Parts]) -> None:
    said = "Both sides of a word are read by BERT at once [1, 2]. It came out in 1999 [1]."
    reply = answered(TurnRequest("What is BERT?"), make_parts(FakeChat(lambda _: [said[:60], said[60:]])))
    assert reply.text == said.replace("[1, 2]", "[1][2]")
    assert [(claim.numbers, claim.supported) for claim in reply.claims] == [((1, 2), True), ((1,), False)]
    assert all(source.quote in " ".join(source.text.split()) for source in reply.sources)
    assert stage(reply, "verify").decision == "1 of 2 sentences borne out"


def test_a_courtesy_has_no_claims(make_parts: Callable[..., Parts]) -> None:
    reply = answered(TurnRequest("thanks!"), make_parts(FakeChat(lambda _: "never asked")))
    assert (reply.claims, stage(reply, "verify").decision) == ((), "nothing to check")


def test_a_check_that_breaks_costs_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        name, dimension = "broken", 1

        def embed_query(self, text: str) -> object:
            raise RuntimeError(text)

        embed_passages = embed_query

    source = Source(1, 1, "BERT", "bert.md", "", None, "BERT reads text in both directions, says the paper.")
    assert try_verify("BERT looks at words from left and right alike [1].", (source,), (), Broken(), False) == ()
    assert "could not be checked" in caplog.text


def test_the_trace_says_what_the_claims_were_held_against() -> None:
    sum_alone, cites, bare = (
        Claim("2 + 2 = 4", (), True, 1.0),
        Claim("So", (1,), True, 1.0),
        Claim("So", (), False, 0.0),
    )
    assert grounds([sum_alone], ["2 + 2 = 4"]) == "by what the tools gave"
    assert grounds([cites, bare]) == "by the words of the passages they cite"
    assert grounds([cites, sum_alone], ["4"]) == "by the words of the passages they cite and what the tools gave"
    assert grounds([bare]) == "they cite nothing"
    assert grounds([]) == "the answer states nothing"
