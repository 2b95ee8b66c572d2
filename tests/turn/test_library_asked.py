"""What documents there are: told by the library itself, as far as the one who asks may see it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from talking import events_of, stage

from turnwise.app import build
from turnwise.config import Settings
from turnwise.dialogue.intent import read_intent
from turnwise.models.fake import FakeChat
from turnwise.turn.parts import Parts
from turnwise.turn.retrieve import MAX_TITLES
from turnwise.types import Answered, Filter, Prompt, Reach, Reply, TurnRequest

Talk = Callable[..., tuple[Reply, ...]]


@pytest.mark.parametrize(
    "message",
    [
        "Which documents do you have?",
        "what documents are there",
        "so what files can you search?",
        "how many documents do you have?",
        "what topics can I ask about?",
        "list all documents",
        "What's in this library?",
        "Welche Dokumente gibt es hier?",
        "Quels documents avez-vous ?",
        "¿Qué documentos tienes?",
        "Quais documentos você tem?",
        "这里有哪些文档？",
        "どのような資料がありますか",
    ],
)
def test_a_question_for_the_documents_is_told_from_one_to_them(message: str) -> None:
    assert read_intent(message)[:2] == ("recall", "documents")


@pytest.mark.parametrize(
    "message",
    [
        "Which documents do I need for a visa?",
        "what is in the library on Mill Street?",
        "how many books can I borrow?",
        "list the files that must be handed in",
        "Welche Dokumente muss ich mitbringen?",
        "what data do you collect about me?",
    ],
)
def test_a_question_to_the_documents_stays_one(message: str) -> None:
    assert read_intent(message).intent != "recall"


def test_the_documents_are_named_and_the_talk_goes_on(talk: Talk) -> None:
    first, listed, after = talk("What is BERT?", "which documents do you have?", "How does it compare to GPT?")
    assert listed.text.startswith("The library holds 14 documents:\n\n- Attention and the transformer\n")
    assert "- Overfitting and regularisation" in listed.text
    assert not listed.sources
    assert stage(listed, "understand").reason == "asks what the library holds"
    assert first.text
    assert after.condensed_query == "How does BERT compare to GPT?"


def test_no_model_is_asked_for_them(make_parts: Callable[..., Parts]) -> None:
    asked: list[Prompt] = []
    model = FakeChat(lambda prompt: asked.append(prompt) or "I have read everything.")
    *_, last = events_of(TurnRequest("which documents do you have?"), make_parts(model))
    assert isinstance(last, Answered)
    assert last.reply.text.startswith("The library holds 14 documents:")
    assert not asked


def test_only_what_the_caller_may_see_and_looks_at_is_named(tmp_path: Path) -> None:
    with build(Settings(library=str(tmp_path / "library")), create=True) as engine:
        assert engine.chat().ask("what documents are there?").text.startswith("The library is still empty")
        for name, title in (("harbour", "Ships"), ("garden", "Roses")):
            engine.add(contents={f"{name}.md": f"# {title}\n\nA line on {title}.".encode()}, collection=name)

        def told(**more: object) -> str:
            request = TurnRequest("what documents are there?", (), **more)  # type: ignore[arg-type]
            return engine.run(engine.answer(request)).text

        assert told() == "The library holds 2 documents:\n\n- Roses\n- Ships"
        assert told(where=Filter(collections=("garden",))) == "The library holds one document:\n\n- Roses"
        assert told(reach=Reach(collections=("harbour",))) == "The library holds one document:\n\n- Ships"
        both = {"where": Filter(collections=("garden",)), "reach": Reach(collections=("harbour",))}
        assert told(**both).startswith("The library is still empty")
        assert told(reach=Reach("somebody")).startswith("The library is still empty")


def test_of_many_documents_the_first_are_named(tmp_path: Path) -> None:
    with build(Settings(library=str(tmp_path / "library")), create=True) as engine:
        texts = {f"{number:03}.md": f"# Report [{number}]\n\nRain fell.".encode() for number in range(MAX_TITLES + 5)}
        engine.add(contents=texts)
        lines = engine.chat().ask("list the documents").text.splitlines()
    assert (lines[0], lines[-1]) == (f"The library holds {MAX_TITLES + 5} documents:", "… and 5 more.")
    assert len(lines) == MAX_TITLES + 3
