"""The dashboard in a real browser, over turns that were held and turns that were kept."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from invented import invented, keep

from turnwise.app import build
from turnwise.config import Settings
from turnwise.engine import Engine
from turnwise.server.run import running
from turnwise.types import Ending

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CARDS = ["days", "follow_up", "condense", "phases", "flow", "unanswered", "cited", "uncited", "learning", "repetition",
         "moods", "feedback", "latency", "guard", "models"]  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, sample_folder: Path) -> Iterator[Engine]:
    """A library of two collections, a conversation that was held, and three weeks of others."""
    with build(Settings(library=str(tmp_path_factory.mktemp("seen"))), create=True) as engine:
        engine.read(sample_folder, collection="learning")
        engine.read(sample_folder / "field-trips.txt", collection="school")
        keep(engine.store, invented(engine.index.documents(), time.time() - 7200, days=20))
        chat = engine.chat("held")
        for message in (
            "What is BERT?",
            "How is it trained?",
            "Who is the mayor of Lima?",
            "And the mayor of Lima now?",
        ):
            chat.ask(message)
        yield engine


@pytest.fixture(scope="module")
def address(engine: Engine) -> Iterator[str]:
    with running(engine) as address:
        yield address


def opened(page: Page, address: str, query: str = "") -> Page:
    page.goto(f"{address}/dashboard{query}")
    page.wait_for_selector("#report[aria-busy=false] > *, #unlock:not([hidden]), #notice:not([hidden])")
    return page


def card(page: Page, name: str) -> Any:
    return page.locator(f"#card-{name}")


def drawn(page: Page, days: int) -> None:
    """Wait for the chart of so many days."""
    page.locator(f"#card-days .mark:nth-last-of-type({days}):nth-of-type(1)").wait_for(state="attached")


def test_every_chart_is_drawn_and_says_its_message(page: Page, address: str) -> None:
    opened(page, address)
    assert page.locator("article.card").evaluate_all("cards => cards.map(card => card.id)")[:15] == [
        f"card-{name}" for name in CARDS
    ]
    for plot in page.locator(".plot").all():
        plot.locator("svg.chart").wait_for(state="attached")
        assert len(plot.get_attribute("aria-label") or "") > 30
        assert plot.locator("svg.chart *").count() > 4
    assert not {
        word for word in ("NaN", "undefined", "Infinity", "null") if word in page.locator("#report").inner_html()
    }


def test_the_figures_are_those_of_the_store(page: Page, address: str, engine: Engine) -> None:
    opened(page, address, "?days=all")
    turns = list(engine.store.facts())
    assert page.locator("#figures dd").first.inner_text().split()[0] == f"{len(turns):,}"
    assert f"{len({turn['conversation_id'] for turn in turns})} conversations" in page.locator("#figures").inner_text()


def test_a_bar_a_day_as_high_as_its_turns(page: Page, address: str, engine: Engine) -> None:
    opened(page, address, "?days=7")
    marks = card(page, "days").locator(".mark")
    assert marks.count() == 7
    heights = marks.evaluate_all(
        "marks => marks.map(mark => [...mark.querySelectorAll('rect:not(.hit)')]"
        ".reduce((sum, bar) => sum + Number(bar.getAttribute('height')), 0))"
    )
    card(page, "days").get_by_role("button", name="as a table").click()
    turns = [int(cell) for cell in card(page, "days").locator("tbody td:nth-child(2)").all_inner_texts()]
    highest = turns.index(max(turns))
    scaled = [height / heights[highest] * turns[highest] for height in heights]
    assert scaled == pytest.approx(turns, abs=0.5)
    assert sum(turns) <= len(list(engine.store.facts()))


def test_a_stopped_turn_is_neither_answered_nor_left_out(page: Page, tmp_path: Path) -> None:
    with build(Settings(library=str(tmp_path)), create=True) as engine:
        for status in ("answered", "interrupted"):
            number = engine.store.accept("c", "thanks!").turns[-1].number
            facts = {"intent": "social", "model": "no model" if status == "answered" else ""}
            engine.store.finish("c", number, Ending(status, "You are welcome.", facts=facts))  # type: ignore[arg-type]
        with running(engine) as address:
            opened(page, address)
            mark = card(page, "days").locator(".mark").last
            assert mark.get_attribute("data-tip").endswith(": 2 turns, 1 stopped")  # type: ignore[union-attr]
            bars = mark.locator("rect:not(.hit)").evaluate_all(
                "all => all.map(bar => [bar.classList.value, Number(bar.getAttribute('height'))]).filter(bar => bar[1])"
            )
            (answered, high), (stopped, as_high) = sorted(bars)
            assert ("s1" in answered, "s3" in stopped) == (True, True)
            assert high == as_high
            models = card(page, "models")
            models.locator("svg.chart").wait_for(state="attached")
            told = models.inner_text()
            assert "No language model was asked" in told
            assert told.count("Said without a model") == 1
            assert "no model" not in told.replace("No language model", "")


def test_a_question_without_an_answer_leads_into_its_conversation(page: Page, address: str) -> None:
    opened(page, address, "?days=all")
    unanswered = card(page, "unanswered")
    if unanswered.locator(".more").count():
        unanswered.locator(".more").click()
    entry = unanswered.locator("li", has_text="mayor of Lima").first
    assert entry.locator("a").get_attribute("href") == "/#/held/4"
    entry.locator("a").click()
    page.get_by_text("Who is the mayor of Lima?").first.wait_for()


def test_each_chart_has_the_same_as_a_table(page: Page, address: str) -> None:
    opened(page, address)
    for name in CARDS:
        toggle = card(page, name).get_by_role("button", name="as a table")
        toggle.focus()
        page.keyboard.press("Enter")
        assert toggle.get_attribute("aria-pressed") == "true"
        assert card(page, name).locator("table tbody tr").count() > 0
        assert card(page, name).locator(".body").is_hidden()
    card(page, "days").get_by_role("button", name="as a table").click()
    assert card(page, "days").locator(".plot svg").is_visible()


def test_a_table_can_be_taken_along(page: Page, address: str, tmp_path: Path) -> None:
    opened(page, address, "?days=all")
    with page.expect_download() as download:
        card(page, "condense").get_by_role("button", name="CSV").click()
    assert download.value.suggested_filename == "turnwise-condense.csv"
    download.value.save_as(tmp_path / "taken.csv")
    with (tmp_path / "taken.csv").open(encoding="utf-8-sig") as file:
        assert {row["method"] for row in csv.DictReader(file)} >= {"literal", "rules"}


def test_the_time_is_chosen_and_kept_in_the_address(page: Page, address: str) -> None:
    opened(page, address)
    assert page.locator("input[name=days]:checked").get_attribute("value") == "30"
    page.locator("input[value='7']").check()
    drawn(page, 7)
    assert page.url.endswith("?days=7")
    page.reload()
    drawn(page, 7)
    page.locator("input[value='custom']").check()
    day = time.strftime("%Y-%m-%d", time.localtime(time.time() - 5 * 86_400))
    page.locator("input[name=since]").fill(day)
    page.locator("input[name=until]").fill(day)
    drawn(page, 1)
    assert f"since={day}&until={day}" in page.url


def test_a_collection_is_looked_at_alone(page: Page, address: str) -> None:
    opened(page, address, "?days=all")
    whole = page.locator("#span").inner_text()
    page.locator("select[name=collection]").select_option("school")
    page.locator("#span", has_text="“school”").wait_for()
    assert page.locator("#span").inner_text() != whole
    card(page, "cited").get_by_role("button", name="as a table").click()
    assert set(card(page, "cited").locator("tbody td:nth-child(2)").all_inner_texts()) == {"school"}


def test_the_pointer_tells_what_a_mark_is(page: Page, address: str) -> None:
    opened(page, address)
    card(page, "latency").locator(".mark").first.hover()
    assert "95% within" in page.locator("#tip").inner_text()
    page.mouse.move(5, 5)
    assert page.locator("#tip").is_hidden()


def test_where_nothing_was_asked_it_says_what_to_do(page: Page, tmp_path: Path) -> None:
    with build(Settings(library=str(tmp_path)), create=True) as empty, running(empty) as address:
        opened(page, address)
        assert page.get_by_role("heading", name="Nothing was asked in this time").is_visible()
        page.get_by_role("button", name="Look at all time").click()
        page.get_by_role("heading", name="Nothing was asked yet").wait_for()
        assert "Add documents first" in page.locator(".nothing").inner_text()
        assert page.get_by_role("link", name="Ask a question").get_attribute("href") == "/"


def test_one_plain_turn_leaves_no_chart_broken(page: Page, tmp_path: Path, sample_folder: Path) -> None:
    with build(Settings(library=str(tmp_path)), create=True) as engine, running(engine) as address:
        engine.read(sample_folder / "bert.md")
        engine.chat("one").ask("What is BERT?")
        opened(page, address)
        assert page.locator("#span").inner_text().endswith(": 1 turn")
        assert "Nobody has rated an answer yet" in card(page, "feedback").inner_text()
        assert "No question went unanswered" in card(page, "unanswered").inner_text()
        assert "nothing was sent anywhere" in card(page, "models").inner_text()
        assert card(page, "models").locator(".legend").count() == 0, "there are no tokens to tell apart"
        drawn = page.locator("#report").inner_html()
        assert not {word for word in ("NaN", "undefined", "Infinity", "null") if word in drawn}


def test_a_server_with_keys_asks_for_one_that_may_manage(page: Page, tmp_path: Path) -> None:
    with build(Settings(library=str(tmp_path), access="keys"), create=True) as engine:
        _, asks = engine.store.keys.create("reader", may="ask")
        _, manages = engine.store.keys.create("keeper", may="manage")
        with running(engine) as address:
            opened(page, address)
            for where in (address, f"{address}/dashboard"):  # a password manager, and Chromium, look for it
                form = httpx.get(where).text.split('type="password"')[0].rpartition("<form")[2]
                assert 'autocomplete="username"' in form
            page.get_by_label("Key", exact=True).fill(asks)
            page.get_by_role("button", name="Open").click()
            page.get_by_text("needs one that may manage").wait_for()
            page.get_by_label("Key", exact=True).fill(manages)
            page.get_by_role("button", name="Open").click()
            page.get_by_role("heading", name="Nothing was asked").wait_for()
            assert page.locator("#unlock").is_hidden()


@pytest.mark.parametrize("width", [390, 820, 1440])
def test_nothing_is_wider_than_the_page(page: Page, address: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    opened(page, address)
    page.locator("#card-models svg.chart").wait_for(state="attached")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.locator("svg.chart").evaluate_all(
        "all => all.filter(svg => svg.getBoundingClientRect().width > svg.parentElement.clientWidth + 1).length"
    )
    assert wide == 0


def test_a_chart_is_drawn_anew_where_the_page_gets_narrower(page: Page, address: str) -> None:
    opened(page, address)
    page.locator("#card-days svg.chart").wait_for(state="attached")
    page.set_viewport_size({"width": 420, "height": 900})
    page.wait_for_selector("#card-days svg[width^='3']")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_can_be_used_with_any_sense(browser: Browser, address: str, theme: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme=theme)
    opened(page, address, "?days=all")
    for show in ("charts", "tables"):
        if show == "tables":
            for toggle in page.get_by_role("button", name="as a table").all():
                toggle.click()
        found = Axe().run(page).response["violations"]
        grave = [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in ("serious", "critical")]
        assert grave == []
    page.close()


def test_nothing_breaks_the_policy_against_foreign_scripts_and_styles(page: Page, address: str) -> None:
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    opened(page, address)
    card(page, "days").locator(".mark").first.hover()
    assert complaints == []


def test_on_a_narrow_screen_the_choice_of_time_stays_within_the_page(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 320, "height": 700})
    opened(page, address, "?days=7")
    range_, main = page.locator("#range").bounding_box(), page.locator("#filters").bounding_box()
    assert range_
    assert main
    assert range_["x"] + range_["width"] <= main["x"] + main["width"]


def test_days_in_the_wrong_order_are_told_without_the_names_of_parameters(page: Page, address: str) -> None:
    opened(page, address, "?since=2026-02-01&until=2026-01-01")
    said = page.locator("#notice").inner_text()
    assert "The first day asked for is after the last" in said
    assert "since" not in said
