"""Receive: store the message, judge it in its conversation, and select the history that the turn may read."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from turnwise.dialogue.profile import Profile
from turnwise.errors import ImageNotSeen, InputError, MessageBlocked
from turnwise.guard.limits import admit
from turnwise.guard.pii import find_pii
from turnwise.guard.secrets import find_secrets
from turnwise.guard.shape import check_images, check_request, check_types
from turnwise.logs import Label
from turnwise.types import ChatModel, Image, Message, TurnRequest

if TYPE_CHECKING:
    from turnwise.guard.pipeline import GuardrailPipeline, InputCheck
    from turnwise.guard.verdict import GuardResult
    from turnwise.turn.parts import Parts
    from turnwise.turn.remember import Memory, Past


@dataclass(frozen=True, slots=True)
class Received:
    """A message and its history as the rest of the turn may read them."""

    verdict: GuardResult
    history: tuple[Message, ...]
    query: str | None  # a search query the caller wrote, judged like a message
    ignored: tuple[str, ...]  # roles of the messages in a history from the caller that are not read
    images: tuple[Image, ...] = ()

    @property
    def message(self) -> str:
        return self.verdict.sanitized

    @property
    def reason(self) -> str:
        verdict, count = self.verdict, len(self.ignored)
        only_watching = verdict.shadow not in (None, "allow")
        why = f"only watching, would {verdict.shadow}: {verdict.why}" if only_watching else verdict.why
        unread = "1 message of the history was" if count == 1 else f"{count} messages of the history were"
        return f"{why}; {unread} not read" if count else why

    @property
    def details(self) -> dict[str, Any]:
        rails = {name: dataclasses.asdict(each) for name, each in self.verdict.acted.items()}
        images = {"images": [f"{each.name} ({each.media_type})" for each in self.images]} if self.images else {}
        return {"rails": rails, "left_out": list(self.ignored), **images}

    @property
    def notice(self) -> str:
        """What the user should know about redactions."""
        if self.verdict.shadow:
            return ""
        details = self.verdict.details.values()
        kinds = [span.kind for each in details if each.action == "redact" for span in each.spans]
        redacted = ", ".join(dict.fromkeys(kinds))
        return f"Taken out of your message before it was processed: {redacted}." if redacted else ""


async def receive(request: TurnRequest, parts: Parts, memory: Memory, label: Label) -> tuple[Received, Past]:
    """The message as the turn may read it, and what came before it. It is stored before it is judged in its
    conversation, so that a blocked one is on record too."""
    check_types(request)
    await admit(request, parts.limits)
    check = await asyncio.to_thread(parts.guard.open_input, request.message)
    check_request(request, parts.settings.max_message)
    images = await asyncio.to_thread(checked_images, request, parts.guard, parts.models)
    past = await memory.accept(check.sanitized)
    label.turn = memory.number
    received = await asyncio.to_thread(judge_in_context, request, check, parts.guard, past)
    return dataclasses.replace(received, images=images), past


def judge_in_context(request: TurnRequest, check: InputCheck, guard: GuardrailPipeline, past: Past) -> Received:
    """Judge the message together with what came before it."""
    verdict = check.within(past.messages, past.blocked, past.trusted, past.places)
    ignored = tuple(past.messages[place].role for place in sorted(verdict.left_out))
    history, query = readable_history(past, verdict, guard), caller_query(request, guard, verdict)
    return Received(verdict, history, query, ignored)


def readable_history(past: Past, verdict: GuardResult, guard: GuardrailPipeline) -> tuple[Message, ...]:
    """The history as a turn may read it. If a caller sent it, attacks, forged turns and system messages are dropped
    (nobody said them, and they are not instructions to us), and it is redacted like a message."""
    skipped = verdict.left_out
    history = tuple(each for place, each in enumerate(past.messages) if place not in skipped and each.role != "system")
    return history if past.trusted else guard.clean_history(history)


def caller_query(request: TurnRequest, guard: GuardrailPipeline, verdict: GuardResult) -> str | None:
    """The search query that came with the request, sanitized, or None. Raises MessageBlocked if it is not allowed."""
    if not request.condensed_query or verdict.blocked:
        return None
    judged = guard.judge_input(request.condensed_query)
    if judged.blocked:
        raise MessageBlocked(f"This query was not searched for: {judged.why}.", "Put it another way.")
    return judged.sanitized


def checked_images(request: TurnRequest, guard: GuardrailPipeline, models: Sequence[ChatModel]) -> tuple[Image, ...]:
    """The images of a request, checked. Raises an InputError if they are not valid or no model can see them. Their
    names reach the model and the store, so they are judged like messages."""
    images = check_images(request.images)
    if images and not any(getattr(model, "sees", False) for model in models):
        raise ImageNotSeen(
            "No model that can see images is set up.",
            "Set TURNWISE_VISION=true and OPENAI_BASE_URL to a model that can see, or describe the image in words.",
        )
    for each in images:
        if (judged := guard.judge_input(each.name)).blocked:
            raise MessageBlocked(f"The name of an image was not accepted: {judged.why}.", "Give the file another name.")
    return images


def usable_profile(memory: Memory, guard: GuardrailPipeline) -> Profile:
    """What is remembered about the user, as a turn may use it: preferences in their own words are judged like
    messages, whoever stored them."""
    profile = memory.profile()
    if not profile.in_own_words:
        return profile
    try:
        blocked = guard.judge_input("\n".join(profile.in_own_words)).blocked
    except InputError:
        blocked = True
    kept = tuple(each for each in profile.preferences if each not in profile.in_own_words)
    return dataclasses.replace(profile, preferences=kept) if blocked else profile


def is_private(text: str) -> bool:
    """Whether a text contains something that is never remembered about a user, even if the guard allows it."""
    return bool(find_pii(text) or find_secrets(text))
