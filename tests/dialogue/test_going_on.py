"""Messages that go on from the last answer."""

from __future__ import annotations

import pytest

from turnwise.dialogue.going_on import going_on

NEXT = "and then? | what next | ok, then what | done. now what? | what's the next step? | what do i do after that"
FAILED = """didn't help | that didn't work | it doesnt work | still broken | still no sound | that did not help either
    | it's still cold | tried that | i already tried that, still nothing | no luck | same problem | nothing helped
    | the lamp still blinks | it isn't working | tried all of that but nothing works
    | tried both | also did that, still hot | did that still there | nope still dark | wiped it, no change
    | i reset the fuse but it still trips | swapped them, same thing | switched it off and on, still hot"""
TRIED = """oiled that already | i already replaced it | also did that one | ive cleaned the pipe | done both of them
    | checked the cable twice | i did the second one too | i pressed it | i also pressed the knob
    | moved it closer too | turned it off and on again | i took the lid off already"""
WHOM = """who do i tell | who do i report that to? | whom should i ask about that | where do i complain
    | who's in charge of that | who is responsible for this | and who can i call then | who to contact
    | where do i report it | who can help me with that | who do i have to tell | where do i need to report that
    | ok i'll call them, what's the number | ill ring support whats their number | what is the service number
    | how do i reach you | can i email you instead | can i call someone | what's your number | what is their address"""
OTHER = """who do i tell if i fall ill | what is next week's menu | is it still free? | still open on sundays?
    | then it is 5 euros | who is responsible for the garden | what happened after the war | and now the fees
    | i'm still a student at heart, what does it cost | what works best | tell me what helps | who is Ann Moe
    | what's the number of moons | can i call it a day's work | what's the number
    | where do i park | what does nothing happen mean | the next bus | i was told that it still counts | used cars
    | i moved my booking | i cancelled the order | i moved a year ago | needed a permit for the second car | red"""


OTHER_LANGUAGES = [
    ("next", "und danach? | was mache ich jetzt | wie geht's weiter? | et après ? | ok, je fais quoi ensuite"),
    ("next", "¿y luego? | ¿qué hago ahora? | e depois?"),
    ("failed", "hat leider nicht geholfen | geht immer noch nicht | immer noch kaputt | das habe ich schon versucht"),
    ("failed", "immer noch dunkel | c'est toujours bloqué | sigue sucio | continua lento"),
    ("failed", "ça n'a pas marché | ça marche toujours pas | toujours rien | j'ai déjà essayé"),
    ("failed", "no me ha funcionado | sigue sin funcionar | ya lo he probado | não resultou | continua na mesma"),
    ("", "und am dienstag? | geht das auch ohne karte | das habe ich verloren | après le cours ? | ça coûte combien"),
    ("", "¿y después de clase? | no hay plazas | no funciona la app | ainda há vagas?"),
]


@pytest.mark.parametrize(("kind", "messages"), OTHER_LANGUAGES)
def test_so_it_is_in_other_languages(kind: str, messages: str) -> None:
    read = {each: going_on(each) for each in messages.split(" | ")}
    assert read == dict.fromkeys(read, kind)


KINDS = {"next": NEXT, "failed": FAILED, "tried": TRIED, "whom": WHOM, "": OTHER}


@pytest.mark.parametrize(("kind", "messages"), KINDS.items())
def test_what_goes_on_from_the_last_answer_is_known_by_its_form(kind: str, messages: str) -> None:
    read = {each: going_on(each) for each in " ".join(messages.split()).split(" | ")}
    assert read == dict.fromkeys(read, kind)
