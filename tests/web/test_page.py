"""The page in a real browser: over turns that are written here, and once over the real engine."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.server.scripted import BERT, PLAN, STAGE, TIMEOUT, Client, reply_to, serving
from turnwise.app import build
from turnwise.config import Settings
from turnwise.dialogue.claims import verify
from turnwise.server.run import running
from turnwise.turn.run import LEFT_OUT_NOTICE
from turnwise.types import (
    Accepted,
    Answered,
    ConversationPhase,
    ConversationState,
    Delta,
    Ending,
    Failed,
    Planned,
    Reply,
    StageDone,
    StageTrace,
    StepDone,
    StepResult,
    TopicKnowledge,
    TurnEvent,
    TurnRequest,
)

pytest.importorskip("playwright", reason="the page is tested with Playwright: pip install 'turnwise[dev]'")

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page


LOST = ConversationState(
    1,
    topic="BERT",
    phase=ConversationPhase.UNDERSTANDING,
    knowledge=(TopicKnowledge("GPT", "advanced", "I built it", 1), TopicKnowledge("BERT", "confused", "I am lost", 1)),
    open_questions=("Which part?",),
    mood="confused",
    mood_evidence="I am lost",
)


DRAFT = """## How it *works*

It **hides words** [1]. Then `guess()` is
called.

1. One **thing** [12]
   - and more
2. Another

```python
x = 2 ** 3  # [4]
```
Done.

"""


async def plays(request: TurnRequest) -> AsyncGenerator[TurnEvent, None]:
    """A turn that does what its message says."""
    yield Accepted(request.conversation_id, 1)
    yield StageDone(STAGE)
    if "steps" in request.message:
        yield Planned(PLAN)
        yield StepDone(0, PLAN.steps[0], StepResult())
        if "wait" in request.message:
            await asyncio.sleep(60)
    if "fail" in request.message:
        yield Failed(TIMEOUT, 504, ())
        return
    for piece in DRAFT if "draft" in request.message else ():
        yield Delta(piece)
        await asyncio.sleep(0)
    yield Delta("BERT hides ")
    if "slowly" in request.message:
        await asyncio.sleep(60)
    yield Answered(_reply(request))


def _reply(request: TurnRequest) -> Reply:
    if "thanks" in request.message:
        plan = StageTrace("plan", "say", "thanks ask for nothing", 0.1)
        return dataclasses.replace(reply_to(request, "You're welcome."), sources=(), trace=(plan, _searched()))
    if "steps" in request.message:
        plan = PLAN.with_result(0, StepResult(ms=12.0)).with_result(1, StepResult("It is <b>12</b>.", ms=0.5))
        trace = (StageTrace("plan", "rag + calculator + answer", plan.reason, 0.1), _searched("What is BERT?"))
        return dataclasses.replace(reply_to(request), plan=plan, trace=trace)
    if "next" in request.message:
        return dataclasses.replace(reply_to(request), suggestions=("What is <b>GPT</b>?", "How is BERT trained?"))
    if "doubt" in request.message:
        text = (
            "It **hides** words [1]. It has `900` layers [1]. It guesses the hidden ones [2]. Nobody knows its age yet."
        )
        again = dataclasses.replace(BERT, number=2, heading="BERT > Use", page=7, quote="It guesses them.")
        claims = verify(text, (BERT, again))
        return dataclasses.replace(reply_to(request, text), sources=(BERT, again), claims=claims)
    if "other words" in request.message:
        source = dataclasses.replace(BERT, heading="")
        return dataclasses.replace(reply_to(request, "It conceals words [1]."), sources=(source,))
    if "lost" in request.message:
        return dataclasses.replace(reply_to(request, "It hides words."), state=LOST)
    reply = reply_to(request, "BERT **hides** words [1]. <script>document.title = 'taken'</script>")
    hostile = dataclasses.replace(BERT, title="<b onclick=alert(1)>BERT</b>")
    query = request.condensed_query or request.message
    trace = (STAGE, _searched(query))
    return dataclasses.replace(reply, sources=(hostile,), condensed_query=query, trace=trace, notice="By the rules.")


def _searched(*queries: str) -> StageTrace:
    return StageTrace("retrieve", "1 passage", "words agree", 2.0, {"searches": list(queries)})


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(tmp_path_factory.mktemp("page"), plays) as client:
        yield client


def ask(page: Page, text: str) -> Locator:
    """Type a question, send it with Enter, and wait until its turn has ended."""
    turn = page.locator(".turn").nth(page.locator(".turn").count())
    page.fill("#message", text)
    page.press("#message", "Enter")
    turn.locator("footer").wait_for()
    return turn


def test_an_answer_with_its_source_and_its_reason(page: Page, client: Client) -> None:
    page.goto(client.address)
    turn = ask(page, "What is BERT?")
    assert turn.locator(".answer strong").inner_text() == "hides"
    assert turn.locator(".searched").inner_text().startswith("Searched for “What is BERT?”")
    assert turn.locator(".searched").inner_text().endswith("because the question stands alone")
    turn.locator("button.cite").click()
    assert page.locator("#source mark").inner_text() == "BERT hides words."
    page.keyboard.press("Escape")
    assert page.locator("#source").is_hidden()
    assert page.evaluate("document.activeElement.className") == "cite"
    assert turn.locator(".notice").inner_text() == "By the rules."
    turn.locator("summary").click()
    assert "1 passage" in turn.locator(".why ol").inner_text()


def test_where_the_conversation_stands_is_told_in_a_line_that_unfolds(page: Page, client: Client) -> None:
    page.goto(client.address)
    assert page.locator("#standing").is_hidden()
    ask(page, "I am lost")
    strip = page.locator("#standing")
    line = "BERT · asking how or why · a new question · turn 1 · you find it unclear"
    assert strip.locator("summary").inner_text().strip() == line
    assert strip.locator("dl").is_hidden()
    strip.locator("summary").click()
    named = dict(zip(strip.locator("dt").all_inner_texts(), strip.locator("dd").all_inner_texts(), strict=True))
    assert named == {
        "Last message": "the first message",
        "What you know": "GPT: you know it well (“I built it”)\nBERT: you find it unclear (“I am lost”)",
        "Not answered yet": "“Which part?”",
        "Mood": "you seem confused (“I am lost”)",
    }
    page.keyboard.press("Escape")
    assert strip.locator("dl").is_hidden()
    page.reload()
    page.get_by_role("button", name="New conversation", exact=True).click()
    assert strip.is_hidden()


def test_the_steps_of_a_plan_are_shown_with_what_came_of_them(page: Page, client: Client) -> None:
    page.goto(client.address)
    turn = ask(page, "two steps")
    assert turn.locator(".searched").inner_text().startswith("Searched for “What is BERT?” Edit")
    assert turn.locator(".steps").is_hidden()
    turn.locator("summary").click()
    turn.locator(".steps").wait_for()  # the fold is filled when it opens
    assert turn.locator(".steps li").all_inner_texts() == [
        "search “What is BERT?” → 0 passages12 ms",
        "calculator “15% of 80” → It is <b>12</b>.0.5 ms",
    ]


def test_while_a_plan_runs_it_is_told_how_far_it_is(page: Page, client: Client) -> None:
    page.goto(client.address)
    page.fill("#message", "two steps, wait")
    page.press("#message", "Enter")
    page.get_by_text("1 of 2 steps done").wait_for()
    page.click("#stop")


def test_what_others_wrote_is_shown_and_never_run(page: Page, client: Client) -> None:
    page.goto(client.address)
    turn = ask(page, "<img src=x onerror='document.title=1'>")
    assert turn.locator(".question").inner_text().startswith("<img")
    assert "<script>" in turn.locator(".answer").inner_text()
    assert "<b onclick" in turn.locator(".chip").inner_text()
    assert page.title() not in ("1", "taken")


def test_what_is_not_borne_out_is_marked_and_the_citations_of_a_document_stand_together(
    page: Page, client: Client
) -> None:
    page.goto(client.address)
    turn = ask(page, "doubt")
    marks = [(mark.inner_text(), mark.get_attribute("title")) for mark in turn.locator("mark.doubt").all()]
    uncited = "No passage is cited for this"
    wrong = "The cited passage does not say this"
    assert marks == [
        ("It has ", wrong),
        ("900", wrong),
        ("layers", wrong),
        ("Nobody knows its age yet", uncited),
    ]
    assert turn.locator(".doubts").inner_text().startswith("2 sentences, underlined, are not borne out")
    assert turn.locator(".sources > li").count() == 1
    assert turn.locator(".group .chip").all_inner_texts() == [
        "1\nTraining\nBERT hides words.",
        "2\npage 7\nIt guesses them.",
    ]
    turn.locator(".chip").nth(1).click()
    assert page.locator("#source mark").inner_text() == "It guesses them."


def test_what_is_searched_for_can_be_edited(page: Page, client: Client) -> None:
    page.goto(client.address)
    turn = ask(page, "What is it?")
    turn.get_by_role("button", name="Edit what is searched for").click()
    turn.get_by_label("Search for").fill("What is BERT?")
    turn.get_by_label("Search for").press("Enter")
    again = page.locator(".turn").nth(1)
    assert "“What is BERT?”" in again.locator(".searched").inner_text()
    assert client.engine.requests[-1].message == "What is it?"
    assert client.engine.requests[-1].condensed_query == "What is BERT?"


def test_a_suggested_question_is_asked_by_a_click_and_only_the_last_turn_has_some(page: Page, client: Client) -> None:
    page.goto(client.address)
    turn = ask(page, "What next?")
    assert turn.locator(".suggestion").all_inner_texts() == ["What is <b>GPT</b>?", "How is BERT trained?"]
    turn.get_by_role("button", name="How is BERT trained?").click()
    page.locator(".turn").nth(1).locator("footer").wait_for()
    assert client.engine.requests[-1].message == "How is BERT trained?"
    assert turn.locator(".suggestions").is_hidden()


@pytest.mark.parametrize("text", ["What is BERT? " * 100, "So?\n" * 40])
def test_a_long_question_is_folded(page: Page, client: Client, text: str) -> None:
    page.goto(client.address)
    turn = ask(page, text)
    question, more = turn.locator(".question"), turn.get_by_role("button", name="Show all of it")
    folded = question.bounding_box()
    assert folded is not None
    assert folded["height"] < 300
    assert len(turn.get_attribute("aria-label") or "") < 210
    assert len(turn.locator(".searched b").inner_text()) < 210
    more.click()
    assert question.bounding_box()["height"] > folded["height"]  # type: ignore[index]
    assert more.is_hidden()
    assert page.evaluate("document.activeElement.className") == "question"
    assert ask(page, "What is BERT?").get_by_role("button", name="Show all of it").count() == 0


def test_a_turn_without_a_search_says_so(page: Page, client: Client) -> None:
    page.goto(client.address)
    line = ask(page, "thanks!").locator(".searched").inner_text()
    assert line == "Searched for nothing — because thanks ask for nothing"


def test_a_failure_is_kind_and_can_be_asked_again(page: Page, client: Client) -> None:
    page.goto(client.address)
    turn = ask(page, "please fail")
    assert turn.locator(".notice").inner_text() == "The model said nothing. Ask again."
    turn.get_by_role("button", name="Ask again").click()
    page.locator(".turn").nth(1).locator(".notice").wait_for()


def test_an_answer_can_be_stopped(page: Page, client: Client) -> None:
    page.goto(client.address)
    page.fill("#message", "answer slowly")
    page.press("#message", "Enter")
    page.get_by_text("BERT hides").wait_for()
    page.get_by_role("button", name="Stop answering").click()
    assert page.locator(".turn .notice").inner_text() == "You stopped this answer."
    assert page.get_by_role("button", name="Ask", exact=True).is_visible()


def test_what_is_asked_during_an_answer_is_kept_and_it_is_said_why(page: Page, client: Client) -> None:
    page.goto(client.address)
    first = ask(page, "What is BERT?")
    first.get_by_role("button", name="Edit what is searched for").click()
    first.get_by_label("Search for").fill("What is GPT?")
    page.fill("#message", "answer slowly")
    page.press("#message", "Enter")
    page.get_by_text("BERT hides", exact=True).wait_for()
    asked = len(client.engine.requests)
    first.get_by_label("Search for").press("Enter")
    page.get_by_text("An answer is still being given.").wait_for()
    assert first.get_by_label("Search for").input_value() == "What is GPT?"
    page.fill("#message", "And then?")
    page.press("#message", "Enter")
    expect(page.locator(".toast")).to_have_count(2)
    assert page.input_value("#message") == "And then?"
    assert len(client.engine.requests) == asked
    page.click("#stop")


def test_an_answer_looks_like_one_while_it_comes(page: Page, client: Client) -> None:
    page.goto(client.address)
    page.fill("#message", "draft it slowly")
    page.press("#message", "Enter")
    page.get_by_text("BERT hides").wait_for()
    drawn = page.locator(".answer").inner_html().replace(' class="streaming" dir="auto"', "")
    cite = '<span class="cite">{}</span>'
    assert drawn == (
        f"<h3>How it *works*</h3><p>It <strong>hides words</strong>{cite.format(1)}. "
        "Then <code>guess()</code> is\ncalled.</p>"
        f'<ol><li value="1">One <strong>thing</strong>{cite.format(12)}</li></ol><ul><li>and more</li></ul>'
        '<ol><li value="2">Another</li></ol>'
        "<pre>x = 2 ** 3  # [4]</pre><p>Done.</p><p>BERT hides</p>"
    )


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        (
            "It is **bold**.\n\n**So** `is` it.",
            "<p>It is <strong>bold</strong>.</p><p><strong>So</strong> <code>is</code> it.</p>",
        ),
        ("- **a** b", "<ul><li><strong>a</strong> b</li></ul>"),
        ("2 * 3 * 4", "<p>2 * 3 * 4</p>"),
        ("```js\na **\n``` b `c`", "<pre>a **</pre><p> b <code>c</code></p>"),
        ("````\na\n  b\n````\nb", "<pre>a\n  b</pre><p>b</p>"),
    ],
)
def test_however_an_answer_is_cut_it_looks_the_same(
    page: Page, client: Client, text: str, drawn: str, step: int
) -> None:
    page.goto(client.address)
    script = """async ([text, step]) => {
      const { Sketch } = await import("/web/sketch.js");
      const box = document.createElement("div");
      const sketch = new Sketch(box);
      for (let end = step; end < text.length; end += step) sketch.draw(text.slice(0, end));
      sketch.draw(text, true);
      return box.innerHTML;
    }"""
    assert page.evaluate(script, [text, step]).replace(' class="streaming" dir="auto"', "") == drawn


def test_turns_that_never_ended_well_are_told_plainly(page: Page, client: Client) -> None:
    store = client.engine.store
    store.finish("story", store.accept("story", "one").turns[-1].number, Ending("interrupted"))
    store.finish("story", store.accept("story", "two").turns[-1].number, Ending("failed", error=TIMEOUT))
    store.accept("story", "three")
    page.goto(f"{client.address}/#/story")
    notices = page.locator(".notice:visible")
    notices.nth(2).wait_for()
    assert notices.all_inner_texts() == [
        "This answer was interrupted.",
        "The model said nothing. Ask again.",
        "This question is still being answered.",
    ]
    expect(page.locator("#earlier a[aria-current]")).to_contain_text("one")


def test_a_conversation_that_is_gone_leaves_a_usable_page(page: Page, client: Client) -> None:
    page.goto(f"{client.address}/#/gone")
    page.get_by_text("There is no conversation 'gone'").wait_for()
    ask(page, "What is BERT?")
    assert page.evaluate("location.hash") != "#/gone"


def test_shift_enter_makes_a_line_and_the_box_grows(page: Page, client: Client) -> None:
    page.goto(client.address)
    before = page.locator("#message").bounding_box()
    page.fill("#message", "one")
    for _ in range(3):
        page.press("#message", "Shift+Enter")
    after = page.locator("#message").bounding_box()
    assert before is not None
    assert after is not None
    assert after["height"] > before["height"]
    assert page.locator(".turn").count() == 0


@pytest.mark.parametrize("width", [360, 1440])
def test_nothing_is_wider_than_the_screen(page: Page, client: Client, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(client.address)
    turn = ask(page, "x" * 400)
    turn.locator("footer").evaluate(
        """async (foot) => {
            const { doubted } = await import("/web/doubts.js");
            const claim = {text: "x".repeat(80), numbers: [1], supported: false};
            foot.append(doubted(document.createElement("div"), [claim]));
        }"""
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    turn.locator("button.cite").click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Close the source").click()
    page.get_by_role("button", name="New conversation", exact=True).click()
    assert page.get_by_role("button", name="What is “BERT” about?").is_visible()


def test_what_is_unfolded_below_the_last_answer_is_in_sight(page: Page, client: Client) -> None:
    page.set_viewport_size({"width": 360, "height": 500})
    page.goto(client.address)
    ask(page, "What is BERT?")
    turn = ask(page, "And what are the steps?")
    turn.locator(".why summary").click()
    turn.locator(".why li").last.wait_for()
    composer = page.locator("#foot").bounding_box()
    page.wait_for_timeout(500)
    row = turn.locator(".why li").first.bounding_box()
    assert composer is not None
    assert row is not None
    assert row["y"] + row["height"] <= composer["y"]


def test_what_is_written_from_right_to_left_stands_so(page: Page, client: Client) -> None:
    page.goto(client.address)
    turn = ask(page, "ما هو BERT؟")
    assert turn.locator(".question").evaluate("element => getComputedStyle(element).direction") == "rtl"
    assert turn.locator(".answer p").first.evaluate("element => getComputedStyle(element).direction") == "ltr"
    assert turn.locator(".searched b").evaluate("element => getComputedStyle(element).direction") == "rtl"
    page.fill("#message", "ما هو")
    assert page.locator("#message").evaluate("element => getComputedStyle(element).direction") == "rtl"


def test_the_quote_of_a_source_can_be_read(page: Page, client: Client) -> None:
    page.goto(client.address)
    quote = ask(page, "In other words?").locator(".sources q").first
    assert quote.evaluate("element => element.scrollWidth <= element.clientWidth")


def test_on_a_screen_that_is_touched_no_panel_brings_up_the_keyboard(browser: Browser, client: Client) -> None:
    phone = browser.new_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    phone.goto(client.address)
    for opener in ("#show-documents", "#show-earlier"):
        phone.locator(opener).click()
        assert phone.evaluate("document.activeElement.matches('input, textarea')") is False
        phone.keyboard.press("Escape")
    phone.close()


def test_a_question_that_is_changed_is_not_under_the_keyboard(browser: Browser, client: Client) -> None:
    phone = browser.new_page(viewport={"width": 390, "height": 400}, has_touch=True, is_mobile=True)
    phone.goto(client.address)
    ask(phone, "What is BERT?")
    ask(phone, "And GPT?").get_by_role("button", name="Change this question").click()
    asks = phone.get_by_role("button", name="Ask in a branch")
    foot = phone.locator("#foot").bounding_box()
    box = asks.bounding_box()
    assert box
    assert foot
    assert box["y"] + box["height"] <= foot["y"]
    phone.close()


def test_a_sentence_that_is_not_found_in_the_answer_is_quoted_instead_of_underlined(page: Page, client: Client) -> None:
    page.goto(client.address)
    told = page.evaluate(
        """async () => {
            const { doubted } = await import("/web/doubts.js");
            const box = document.createElement("div");
            box.innerHTML = "<p>It is <math><mi>x</mi></math>. It has 900 layers.</p>";
            const claims = ["It is x.", "It has 900 layers."].map((text) => ({text, numbers: [], supported: false}));
            const words = [claims.slice(0, 1), claims].map((some) => doubted(box, some).textContent);
            return [...words, box.querySelectorAll("mark").length];
        }"""
    )
    rest = "not borne out by what is cited: a check of words, not of truth."
    assert told == [
        f"One sentence, “It is x.”, is {rest}",
        f"2 sentences, underlined and “It is x.”, are {rest}",
        1,
    ]


def test_readers_are_not_told_to_type_commands(page: Page, client: Client) -> None:
    page.goto(client.address)
    page.locator("body.may-edit").wait_for()
    said = [
        LEFT_OUT_NOTICE,
        "Set TURNWISE_VISION=true and OPENAI_BASE_URL to a model that can see, or describe the image in words.",
        "The answer was cut at max_tokens. Raise TURNWISE_MAX_TOKENS for longer ones.",
        "The file is larger than the 100 MB that this server takes. Send less, or raise max_upload.",
        "Ask again.",
    ]
    script = "async (all) => { const { forReaders } = await import('/web/readers.js'); return all.map(forReaders); }"
    assert page.evaluate(script, said) == [
        "Some passages contain instructions to the assistant and were left out. "
        "If you trust their document, say so in its menu under Documents.",
        "Describe it in words; or whoever looks after this server can set up a model that can see.",
        "Whoever looks after this server can change that.",
        "The file is larger than the 100 MB that this server takes. Whoever looks after this server can change that.",
        "Ask again.",
    ]


def test_a_quotation_from_right_to_left_has_its_bar_on_the_right(page: Page, client: Client) -> None:
    page.goto(client.address)
    turn = ask(page, "What is BERT?")
    side = """async (answer) => {
        const { TurnView } = await import("/web/turn.js");
        const view = new TurnView("?", {});
        answer.append(view.element);
        view.show("<blockquote><p>ما هو BERT؟</p></blockquote>");
        return getComputedStyle(view.element.querySelector("blockquote")).borderRightWidth;
    }"""
    assert turn.locator(".answer").evaluate(side) == "3px"


def test_the_veil_goes_with_a_drag_that_was_broken_off(page: Page, client: Client) -> None:
    page.goto(client.address)
    page.locator("body.may-edit").wait_for()
    page.evaluate(
        """() => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File(["a"], "a.md"));
            for (const where of [document.body, document.querySelector("main")])
                where.dispatchEvent(new DragEvent("dragenter", {dataTransfer, bubbles: true}));
        }"""
    )
    expect(page.locator("#drop")).to_be_visible()
    expect(page.locator("#drop")).to_be_hidden(timeout=5000)


def test_what_is_said_in_passing_does_not_lie_over_the_answer(page: Page, client: Client) -> None:
    page.set_viewport_size({"width": 1280, "height": 420})
    page.goto(client.address)
    turn = ask(page, "What is BERT?")
    turn.get_by_role("button", name="Copy the answer with its sources").click()
    page.locator(".toast").wait_for()
    page.wait_for_timeout(300)
    toast, answer = page.locator(".toast").bounding_box(), turn.bounding_box()
    assert toast
    assert answer
    assert answer["y"] + answer["height"] <= toast["y"] + 24, "but for the space below it"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = Settings(library=str(tmp_path_factory.mktemp("library")))
    with build(settings, create=True) as engine:
        sample = Path(str(resources.files("turnwise"))) / "sample"
        engine.read(sample / "bert.md", sample / "gpt.md")
        with running(engine) as address:
            yield address


def test_ask_follow_up_open_a_source_reload(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_text("2 documents").wait_for()
    for number, question in enumerate(("What is BERT?", "How does it compare to GPT?")):
        page.fill("#message", question)
        page.press("#message", "Enter")
        page.locator(".turn footer").nth(number).wait_for()

    second = page.locator(".turn").nth(1)
    assert "BERT" in second.locator(".searched b").inner_text()
    titles = second.locator(".chip").all_inner_texts()
    assert any("BERT" in title for title in titles)
    assert any("GPT" in title for title in titles)

    second.locator("button.cite").first.click()
    assert page.locator("#source-text").inner_text().strip()
    page.keyboard.press("Escape")

    told = second.locator(".answer").inner_text()
    page.reload()
    assert page.locator(".turn").nth(1).locator(".answer").inner_text() == told
    expect(page.locator("#earlier a")).to_have_count(1)


@pytest.mark.parametrize(
    ("name", "text", "row"),
    [
        (
            "pool.md",
            "# Pool\n\n## Prices\n\n| Visit | Price |\n|---|---|\n| Swim | £5 |\n| Climb | £9 |\n",
            "Climb | £9",
        ),
        ("pool.csv", "visit,price_gbp\nSwim,5\nClimb,9\n", "visit: Climb; price_gbp: 9"),
    ],
)
def test_the_row_that_an_answer_tells_is_marked_in_its_source(
    page: Page, tmp_path: Path, name: str, text: str, row: str
) -> None:
    with build(Settings(library=str(tmp_path / "library")), create=True) as engine:
        engine.add(contents={name: text.encode()})
        with running(engine) as address:
            page.goto(address)
            page.fill("#message", "how much is a climb?")
            page.press("#message", "Enter")
            turn = page.locator(".turn").first
            turn.locator("footer").wait_for()
            assert "|" not in turn.locator(".sources").inner_text()
            turn.locator("button.cite").first.click()
            expect(page.locator("#source-text mark")).to_have_text(row)
