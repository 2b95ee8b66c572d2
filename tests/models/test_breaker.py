from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.errors import ModelError, ModelGarbled, ModelRefused, ModelTimeout, ModelUnavailable
from turnwise.models.breaker import Breaker


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(failures=3, rest=30, clock=clock)


def ask(breaker: Breaker, error: BaseException | None = None) -> bool:
    """Whether the endpoint was asked; it fails with the error, if any."""
    asked = False
    try:
        with breaker.call("llama3"):
            asked = True
            if error:
                raise error
    except (ModelError, KeyboardInterrupt) as raised:
        if asked and raised is not error:
            raise
    return asked


def test_after_some_failures_in_a_row_the_endpoint_is_left_alone_for_a_while(breaker: Breaker, clock: Clock) -> None:
    assert [ask(breaker, ModelTimeout("slow")) for _ in range(4)] == [True, True, True, False]
    clock.now += 29
    assert not ask(breaker)
    clock.now += 2
    assert ask(breaker)
    assert [ask(breaker) for _ in range(3)] == [True] * 3


def test_who_is_refused_is_told_for_how_long_and_why(breaker: Breaker, clock: Clock) -> None:
    for _ in range(3):
        ask(breaker, ModelGarbled("The answer broke off."))
    clock.now += 10
    with pytest.raises(ModelUnavailable) as caught, breaker.call("llama3"):
        pass
    assert str(caught.value) == (
        "llama3 is not asked for 20 more seconds, after 3 failures in a row. The last one: The answer broke off."
    )
    assert caught.value.hint


def test_a_success_between_failures_begins_the_count_anew(breaker: Breaker) -> None:
    for _ in range(5):
        assert ask(breaker, ModelTimeout("slow"))
        assert ask(breaker, ModelTimeout("slow"))
        assert ask(breaker)


def test_a_refusal_with_a_reason_and_a_reader_who_left_are_no_failures(breaker: Breaker) -> None:
    for error in (ModelRefused("bad key"), KeyboardInterrupt(), GeneratorExit()):
        for _ in range(5):
            if isinstance(error, GeneratorExit):
                with pytest.raises(GeneratorExit), breaker.call("llama3"):
                    raise error
            else:
                assert ask(breaker, error)
    assert ask(breaker)


def test_while_one_tries_it_again_the_others_are_still_refused(breaker: Breaker, clock: Clock) -> None:
    for _ in range(3):
        ask(breaker, ModelTimeout("slow"))
    clock.now += 31
    with breaker.call("llama3"):
        assert not ask(breaker)
    assert ask(breaker)


def test_a_trial_that_fails_begins_the_rest_anew_and_one_that_was_given_up_does_not(
    breaker: Breaker, clock: Clock
) -> None:
    for _ in range(3):
        ask(breaker, ModelTimeout("slow"))
    clock.now += 31
    assert ask(breaker, KeyboardInterrupt())
    assert ask(breaker, ModelTimeout("slow"))
    assert not ask(breaker)
    clock.now += 31
    assert ask(breaker)


def test_of_many_threads_one_tries(breaker: Breaker, clock: Clock) -> None:
    for _ in range(3):
        ask(breaker, ModelTimeout("slow"))
    clock.now += 31
    asked, ready, done = [], threading.Barrier(8), threading.Event()

    def come() -> None:
        ready.wait()
        try:
            with breaker.call("llama3"):
                asked.append(1)
                done.wait(10)
        except ModelUnavailable:
            pass

    threads = [threading.Thread(target=come) for _ in range(8)]
    for thread in threads:
        thread.start()
    while sum(thread.is_alive() for thread in threads) > 1:
        time.sleep(0.01)
    done.set()
    for thread in threads:
        thread.join()
    assert len(asked) == 1


@given(st.lists(st.sampled_from(["ok", "fail", "refuse", "leave", "wait"])))
def test_it_is_asked_unless_it_failed_three_times_in_a_row_within_the_rest(story: list[str]) -> None:
    clock = Clock()
    breaker = Breaker(failures=3, rest=30, clock=clock)
    errors = {"fail": ModelTimeout("slow"), "refuse": ModelRefused("no"), "leave": KeyboardInterrupt(), "ok": None}
    failures, since = 0, 0.0
    for event in story:
        if event == "wait":
            clock.now += 31
            continue
        expected = failures < 3 or clock.now - since >= 30
        assert ask(breaker, errors[event]) == expected
        if expected and event == "fail":
            failures, since = failures + 1, clock.now
        elif expected and event in ("ok", "refuse"):
            failures = 0
