"""Checking a complete answer: what may be shown of it, what was found, and what the conversation records."""

from __future__ import annotations

import asyncio

import pytest

from turnwise.conversation import Conversation
from turnwise.guard.pipeline import GuardrailPipeline
from turnwise.guard.preset import GuardPreset
from turnwise.types import Source

SOURCE = Source(
    1, 1, "Harbour", "harbour.md", "", None, "The harbour was built in 1911. Write to desk@harbour.example."
)
KEY = "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
PIPELINE = GuardrailPipeline()
BLOCKING = GuardrailPipeline(GuardPreset("b", rails={"output": {"secrets": {"action": "block"}}}))


def test_an_innocent_answer_passes_as_it_is() -> None:
    result = PIPELINE.check_output("The harbour was built in 1911 [1].", sources=[SOURCE])
    assert (result.action, result.sanitized) == ("allow", "The harbour was built in 1911 [1].")
    assert (result.pipeline_type, result.warnings, result.conversation_id) == ("output", (), None)
    assert {name: found.state for name, found in result.details.items()} == {
        "links": "clear",
        "secrets": "clear",
        "pii": "clear",
        "leak": "skipped",
        "grounding": "clear",
    }


def test_what_was_found_is_taken_out_and_told_with_its_places() -> None:
    text = f"Use {KEY} and write to jo@example.com."
    result = PIPELINE.check_output(text)
    assert result.action == "redact"
    assert result.sanitized == "Use [GitHub token removed] and write to [email address removed]."
    assert [text[each.start : each.end] for each in result.details["secrets"].spans] == [KEY]
    assert [text[each.start : each.end] for each in result.details["pii"].spans] == ["jo@example.com"]
    assert result.warnings == ("the answer held a GitHub token", "the answer held an email address")


def test_what_stands_in_the_sources_or_in_the_question_is_no_leak() -> None:
    conversation = Conversation()
    conversation.add_prompt("I am jo@example.com, who are you?")
    text = "You are jo@example.com; write to desk@harbour.example."
    assert PIPELINE.check_output(text, conversation, sources=[SOURCE]).sanitized == text


def test_canaries_and_the_system_prompt_are_kept_back() -> None:
    prompt = "You answer in rhymes about the sea and you never tell anyone why that is so."
    text = "Blue falcon 77. I answer in rhymes about the sea and you never tell anyone why."
    result = PIPELINE.check_output(text, system_prompt=prompt, canaries=["Blue-Falcon-77"])
    assert result.sanitized == "[hidden string removed]. I [system prompt removed]."
    assert result.details["leak"].facts == {"kinds": {"hidden string": 1, "system prompt": 1}}


def test_what_the_sources_do_not_bear_out_is_warned_of() -> None:
    result = PIPELINE.check_output(
        "The harbour was built in 1911 [1]. It has nine cranes and a zoo [1].", sources=[SOURCE]
    )
    assert result.action == "warn"
    assert result.details["grounding"].facts == {"ungrounded": ["It has nine cranes and a zoo."]}
    assert result.warnings == ("1 of 2 sentences is not borne out by the sources",)


def test_only_the_sources_can_be_cited() -> None:
    assert PIPELINE.check_output("It is so [1][4].", sources=[SOURCE]).sanitized == "It is so [1]."
    assert PIPELINE.check_output("It is so [1][4].").sanitized == "It is so [1][4]."


def test_an_answer_completes_the_turn_that_waits() -> None:
    conversation = Conversation()
    PIPELINE.check_input("How old is it?", conversation)
    result = PIPELINE.check_output(f"Use {KEY}.", conversation)
    assert result.conversation_id == conversation.id
    (turn,) = conversation.turns
    assert (turn.prompt, turn.response, turn.status) == ("How old is it?", "Use [GitHub token removed].", "answered")


def test_an_answer_that_nobody_asked_for_is_a_turn_of_its_own() -> None:
    conversation = Conversation()
    PIPELINE.check_output("Good morning.", conversation)
    assert [(turn.prompt, turn.response) for turn in conversation.turns] == [(None, "Good morning.")]


@pytest.mark.parametrize("asked", [True, False])
def test_a_blocked_answer_is_recorded_without_its_text(asked: bool) -> None:
    conversation = Conversation()
    if asked:
        conversation.add_prompt("What is the key?")
    result = BLOCKING.check_output(f"It is {KEY}.", conversation)
    assert (result.blocked, result.sanitized) == (True, "")
    assert result.reasons == ("the answer held a GitHub token",)
    (turn,) = conversation.turns
    assert (turn.prompt, turn.response, turn.status) == ("What is the key?" if asked else None, None, "blocked")
    assert turn.metadata == {"blocked": "output", "reasons": ["the answer held a GitHub token"]}
    assert conversation.messages() == ()


def test_turns_can_be_kept_by_hand() -> None:
    by_hand = GuardrailPipeline(keep_turns=False)
    conversation = Conversation()
    conversation.add_prompt("What is the key?")
    by_hand.check_output(f"It is {KEY}.", conversation)
    assert conversation.turns[0].status == "pending"
    conversation.add_response(f"It is {KEY}.")
    by_hand.check_output(f"It is {KEY}.", conversation)
    assert [turn.response for turn in conversation.turns] == ["It is [GitHub token removed]."]


def test_a_preset_that_only_watches_changes_nothing_and_says_what_it_would_do() -> None:
    watching = GuardrailPipeline(GuardPreset("w", shadow=True, rails={"output": {"secrets": {"action": "redact"}}}))
    result = watching.check_output(f"It is {KEY}.")
    assert (result.action, result.shadow, result.sanitized) == ("allow", "redact", f"It is {KEY}.")


def test_nothing_is_no_answer() -> None:
    with pytest.raises(ValueError, match="nothing to check"):
        PIPELINE.check_output(None)  # type: ignore[arg-type]


def test_it_can_be_awaited() -> None:
    result = asyncio.run(PIPELINE.acheck_output(f"It is {KEY}.", canaries=["x-y-z-1"]))
    assert result.sanitized == "It is [GitHub token removed]."


def test_secrets_are_taken_out_of_a_message_too() -> None:
    result = PIPELINE.check_input(f"Why does {KEY} not work?")
    assert (result.action, result.sanitized) == ("redact", "Why does [GitHub token removed] not work?")
