"""Which language a message is in, its phrases, and that no language is read by another's rules."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.config import Settings
from turnwise.dialogue.language import CODES, FOLDER, language, named_subject, read_language, says
from turnwise.turn.condense import condense, search_query
from turnwise.turn.planner import QueryPlanner
from turnwise.turn.understand import understand
from turnwise.types import Message


def said(*contents: str) -> tuple[Message, ...]:
    return tuple(Message("assistant" if place % 2 else "user", content) for place, content in enumerate(contents))


BERT = {
    "en": said("What is BERT?", "BERT is a model. [1]"),
    "de": said("Was ist BERT?", "BERT ist ein Sprachmodell. [1]"),
    "fr": said("Qu'est-ce que BERT ?", "BERT est un modèle. [1]"),
    "es": said("¿Qué es BERT?", "BERT es un modelo. [1]"),
    "pt": said("O que é o BERT?", "O BERT é um modelo. [1]"),
    "zh": said("BERT是什么？", "BERT是一个语言模型。[1]"),
    "ja": said("BERTとは何ですか？", "BERTは言語モデルです。[1]"),
}
SENTENCES = {
    "en": "What is BERT? | How does it work? | details? | activities included | And Los Angeles? "
    "| When was MIT founded? | Los Angeles weather | What does 'die Katze' mean? | What is a café? | naïve Bayes "
    "| a second car | third car? | im pregnant | ive moved "
    "| continue | the war | so what | GPT? | E10 | y? | UUID 3f2b1c4d-88ab-4e1f-9a77-0c1d2e3f4a5b failed, why?",
    "de": "Was ist BERT? | Wer war das? | und was ist mit GPT? | danke | Wie wird es trainiert? | Also, warum? | "
    "Die Hard ist ein Film | mehr dazu | Wie viel kostet das? | Warum ist 3f2b1c4d-4e1f kaputt?",
    "fr": "Qu'est-ce que BERT ? | et pour GPT ? | merci beaucoup | Où est la bibliothèque ? "
    "| Quels sont les avantages ?",
    "es": "¿Qué es BERT? | ¿y GPT? | gracias | ¿Quién lo inventó? | he visto que me gusta | ¿Cuánto cuesta?",
    "pt": "O que é o BERT? | e o GPT? | obrigado | conte mais | Quem pode acessar isso? | Quanto custa?",
    "zh": "BERT是什么？ | 那GPT呢？ | 谢谢 | 它是怎么训练的？",
    "ja": "BERTとは何ですか？ | もっと詳しく | ありがとう | それは何ですか",
    "nl": "Wat is BERT en hoe werkt het? | Waarom is dat zo?",
    "it": "Che cosa è BERT? | Come funziona questo?",
    "": "Что такое BERT? | Спасибо | ما هو بيرت؟ | BERT란 무엇인가요? | Τι είναι αυτό;",
}


@pytest.mark.parametrize(
    ("message", "code"), [(text.strip(), code) for code, texts in SENTENCES.items() for text in texts.split("|")]
)
def test_a_message_shows_its_language(message: str, code: str) -> None:
    assert read_language(message) == code


def test_a_message_that_shows_none_is_in_the_language_of_the_conversation() -> None:
    assert read_language("BERT?", ("Und was ist mit GPT?",)) == "de"
    assert read_language("BERT?", ("GPT?", "Was ist das?")) == "de"
    assert read_language("BERT?") == "en"


SAID: dict[tuple[str, str], dict[str, str]] = {
    ("social", "thanks"): {
        "de": "danke | vielen Dank! | Danke schön",
        "fr": "merci | merci beaucoup !",
        "es": "gracias | ¡muchas gracias!",
        "pt": "obrigado | muito obrigada",
        "zh": "谢谢 | 谢谢你！",
        "ja": "ありがとう | ありがとうございます",
    },
    ("social", "hello"): {
        "de": "hallo | Guten Morgen",
        "fr": "bonjour | salut",
        "es": "hola | buenos días",
        "pt": "olá | bom dia",
        "zh": "你好",
        "ja": "こんにちは",
    },
    ("social", "goodbye"): {
        "de": "tschüss | auf Wiedersehen",
        "fr": "au revoir",
        "es": "adiós | hasta luego",
        "pt": "tchau",
        "zh": "再见",
        "ja": "さようなら",
    },
    ("social", "acknowledged"): {
        "de": "alles klar | ich verstehe",
        "fr": "d'accord | je comprends",
        "es": "entiendo | vale",
        "pt": "entendi",
        "zh": "好的 | 明白了",
        "ja": "わかりました | なるほど",
    },
    ("social", "frustrated"): {
        "de": "das hilft mir nicht | das ist nutzlos! | es funktioniert immer noch nicht, das ist sinnlos",
        "fr": "c'est inutile | ça ne sert à rien !",
        "es": "esto no sirve | es inútil",
        "pt": "isso não ajuda | é inútil",
        "zh": "没用",
        "ja": "役に立たない",
    },
    ("reform", "list"): {
        "de": "als Liste bitte | Gib mir das als Liste | in Stichpunkten",
        "fr": "sous forme de liste | en liste s'il vous plaît",
        "es": "dame eso en una lista | como una lista por favor",
        "pt": "em forma de lista | coloque isso em uma lista",
        "zh": "用列表列出来",
        "ja": "箇条書きにして | リストにしてください",
    },
    ("reform", "table"): {
        "de": "als Tabelle | Gib mir das als Tabelle bitte | setze die Wirkungen in eine Tabelle",
        "fr": "sous forme de tableau | dans un tableau | mets les effets dans un tableau",
        "es": "en una tabla por favor | pon los efectos en una tabla",
        "pt": "em uma tabela por favor | coloque os efeitos numa tabela",
        "zh": "用表格表示 | 把这些数字整理成表格",
        "ja": "表にしてください | これらの数字を表にしてください",
    },
    ("reform", "shorter"): {
        "de": "kürzer bitte | fass das zusammen",
        "fr": "plus court | résume ça",
        "es": "más corto | resume eso por favor",
        "pt": "mais curto | resuma isso",
        "zh": "简短一点 | 总结一下",
        "ja": "もっと短く | 要約して",
    },
    ("reform", "simpler"): {
        "de": "einfacher bitte | das verstehe ich nicht",
        "fr": "plus simplement | je ne comprends pas",
        "es": "más sencillo | no entiendo",
        "pt": "mais simples | não entendi",
        "zh": "简单一点 | 我不明白",
        "ja": "もっと簡単に | わかりません",
    },
    ("reform", "translate"): {
        "de": "auf Englisch bitte | übersetze das ins Englische",
        "fr": "en anglais s'il vous plaît",
        "es": "en inglés por favor | tradúcelo al inglés",
        "pt": "em inglês por favor",
        "zh": "翻译成英文",
        "ja": "英語に翻訳してください",
    },
    ("recall", "first"): {
        "de": "Was habe ich zuerst gefragt? | was war meine erste Frage?",
        "fr": "Qu'est-ce que j'ai demandé en premier ?",
        "es": "¿qué te pregunté primero? | ¿cuál fue mi primera pregunta?",
        "pt": "o que eu perguntei primeiro? | qual foi minha primeira pergunta?",
        "zh": "我最先问了什么？",
        "ja": "最初の質問は何でしたか",
    },
    ("recall", "numbered"): {
        "de": "Was war meine zweite Frage? | was war meine 3. Frage? | Was habe ich als zweites gefragt?",
        "fr": "Quelle était ma deuxième question ? | quelle était ma 3e question ?",
        "es": "¿cuál fue mi segunda pregunta? | ¿cuál fue mi 3ª pregunta?",
        "pt": "qual foi minha segunda pergunta? | qual foi a minha 3ª pergunta?",
        "zh": "我的第二个问题是什么？ | 我第3个问题是什么？",
        "ja": "二番目の質問は何でしたか | 私の2つ目の質問は何でしたっけ",
    },
    ("recall", "before"): {
        "de": "Was war die Frage davor? | was war meine vorletzte Frage?",
        "fr": "Quelle était la question d'avant ? | quelle était mon avant-dernière question ?",
        "es": "¿cuál fue la pregunta antes de esa? | ¿cuál fue mi penúltima pregunta?",
        "pt": "qual foi a pergunta antes dessa? | qual foi minha penúltima pergunta?",
        "zh": "那之前的问题是什么？ | 我的倒数第二个问题是什么？",
        "ja": "その前の質問は何でしたか | 最後から二番目の質問は何でしたか",
    },
    ("recall", "all"): {
        "de": "Fasse zusammen, worüber wir gesprochen haben | fass unser Gespräch zusammen",
        "fr": "Résume ce dont nous avons parlé | résume notre conversation",
        "es": "resume lo que hemos hablado | resúmeme nuestra conversación",
        "pt": "resuma o que falamos | resuma a nossa conversa",
        "zh": "总结一下我们聊过的内容",
        "ja": "これまでの会話をまとめてください",
    },
    ("recall", "asked"): {
        "de": "Welche Frage habe ich zu Anhängen gestellt?",
        "fr": "Quelle question ai-je posée sur les pièces jointes ?",
        "es": "¿qué pregunta hice sobre los adjuntos?",
        "pt": "que pergunta eu fiz sobre anexos?",
        "zh": "我问过哪些关于附件的问题？",
        "ja": "添付ファイルについてどんな質問をしましたか",
    },
    ("clarify", "instead"): {
        "de": "nein, ich meinte Anhänge",
        "fr": "non, je voulais dire les pièces jointes",
        "es": "no, me refería a los adjuntos",
        "pt": "não, eu quis dizer anexos",
        "zh": "不是，我说的是附件",
        "ja": "いいえ、添付ファイルのことです",
    },
    ("clarify", "wrong"): {
        "de": "das ist falsch | das habe ich nicht gefragt",
        "fr": "ce n'est pas ce que j'ai demandé | c'est faux",
        "es": "eso no es lo que pregunté",
        "pt": "isso está errado",
        "zh": "不对",
        "ja": "違います",
    },
    ("clarify", "repeated"): {
        "de": "das hast du schon gesagt | du hast das schon gesagt | Das sagtest du bereits"
        "| Sie haben mir das schon erklärt",
        "fr": "tu l'as déjà dit | ça, tu l'as déjà dit | tu m'as déjà dit ça",
        "es": "ya me lo dijiste | ya me dijiste eso | eso ya lo has dicho",
        "pt": "você já disse isso | isso você já disse",
        "zh": "你已经说过了",
        "ja": "もう聞きました | それはもう聞きました",
    },
    ("follow_up", ""): {
        "de": "und was ist mit GPT? | erzähl mir mehr | Wie wird es trainiert? | warum? | mehr dazu | Und GPT?"
        "| und wie lange? | muss man das lesen | wer ist der | wie teuer",
        "fr": "et pour GPT ? | dis-m'en plus | Comment est-il entraîné ? | pourquoi ?"
        "| Qui peut y accéder ? | Qui l'a inventé ? | Qui la fabrique ?"
        "| et combien de fois ? | je dois le lire ?",
        "es": "¿y GPT? | cuéntame más | ¿por qué? | ¿Quién puede acceder a ello?"
        "| ¿qué pasa con GPT? | ¿Quién lo inventó? | ¿Por qué ocurre? | ¿Cómo funciona?"
        "| ¿Cómo lo hace? | ¿y cuántas veces? | ¿tengo que leerlo?",
        "pt": "e o GPT? | conte mais | por quê? | Quem pode acessar isso? | Quem o inventou?"
        "| Como funciona? | Por que ocorre?",
        "zh": "那GPT呢？ | 继续 | 它是怎么训练的？ | 为什么？ | 详细说说",
        "ja": "もっと詳しく | GPTはどうですか | それはどう訓練されますか | なぜですか | 誰が作ったの？"
        "| いつ始まりましたか",
    },
    ("new_question", ""): {
        "de": "Was ist eine Liste in Python? | Wie funktioniert Gradientenabstieg? | Wer erfand die Tabelle?"
        "| Kann man das Essen mitnehmen?",
        "fr": "Qu'est-ce qu'une liste en Python ?"
        "| Comment fonctionne la descente de gradient ? | Qui a inventé l'avion ?"
        "| Qui le président soutient ?",
        "es": "¿Qué es una lista en Python? | ¿Cómo funciona el descenso de gradiente?"
        "| ¿Quién inventó la bombilla? | ¿Por qué Roma? | ¿Por qué estudiar?"
        "| ¿Cuándo empieza la charla?"
        "| ¿Cómo la luna mueve el mar?",
        "pt": "O que é uma lista em Python? | Como funciona o gradiente descendente?"
        "| Quem inventou o telefone? | Quem o Brasil enfrenta? | Quem o governo apoia?",
        "zh": "Python中的列表是什么？ | 梯度下降怎么工作？",
        "ja": "Pythonのリストとは何ですか | 勾配降下法とは何ですか | 誰が電話を発明したの？ | 誰が大統領ですか",
    },
}
ROWS = [
    (text.strip(), code, *key) for key, by in SAID.items() for code, texts in by.items() for text in texts.split("|")
]


@pytest.mark.parametrize(("message", "code", "intent", "operation"), ROWS)
def test_the_phrases_of_each_language_are_known(message: str, code: str, intent: str, operation: str) -> None:
    understood = understand(message, BERT[code])
    assert (understood.language, understood.intent, understood.operation) == (code, intent, operation)
    assert understood.follow_up.is_follow_up == (intent in ("follow_up", "reform", "clarify"))


@pytest.mark.parametrize("code", [code for code in CODES if code != "en"])
def test_turnwise_answers_a_courtesy_in_its_language(code: str) -> None:
    for what in ("thanks", "hello", "goodbye", "acknowledged"):
        message = SAID[("social", what)][code].split("|")[0].strip()
        assert spoken(message, BERT[code]) == says(code, what) != says("en", what)
    first = spoken(SAID[("recall", "first")][code].split("|")[0].strip(), BERT[code])
    assert BERT[code][0].content in first
    assert first == says(code, "first", text=BERT[code][0].content)


def spoken(message: str, history: tuple[Message, ...]) -> str:
    (step,) = asyncio.run(QueryPlanner().create_plan("", message, history)).steps
    assert step.tool == "say"
    return step.input


@pytest.mark.parametrize(
    "message",
    [
        *("Кто это придумал?", "Спасибо", "그것은 무엇인가요?", "ما هذا؟", "Ποιος το έφτιαξε;", "यह क्या है?"),
        *("Waarom is dat zo?", "Come funziona questo?", "Bu nedir ve neden?", "Vad är det och varför?"),
    ],
)
def test_a_language_without_phrases_is_searched_as_it_stands(message: str) -> None:
    understood = understand(message, BERT["en"])
    assert (understood.intent, understood.follow_up.is_follow_up) == ("new_question", False)
    assert condense(message, BERT["en"], understood).query == message


@pytest.mark.parametrize(
    "message",
    [
        *(
            "Die Also-Regel ist so alt",
            "Was war der Krieg?",
            "War die Mauer hoch?",
            "Hat er an der Uni Die Zeit gelesen und so?",
        ),
        *("He comprado un libro, ¿qué opinas de la trama?", "Me gusta la historia de Roma"),
    ],
)
def test_words_that_look_english_do_not_trigger_english_rules(message: str) -> None:
    found = understand(message, BERT["en"])
    assert found.language in ("de", "es")
    assert "refers to something" not in found.follow_up.reason or found.follow_up.reason.startswith("“er”")


def test_what_a_question_names_is_found_without_the_small_words() -> None:
    assert named_subject("Was ist BERT?") == "BERT"
    assert named_subject("Et la descente stochastique de gradient ?") == "descente stochastique"
    assert named_subject("What is gradient descent?") == "gradient descent"
    assert understand("und warum?", BERT["de"]).follow_up.previous_topic == "BERT"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Was war meine zweite Frage?", "de"),
        ("Was war meine 2. Frage?", "de"),
        ("Quelle était ma seconde question ?", "fr"),
        ("Quelle était ma 2ème question ?", "fr"),
        ("¿cuál fue mi segunda pregunta?", "es"),
        ("qual foi minha segunda pergunta?", "pt"),
        ("我的第二个问题是什么？", "zh"),
        ("二番目の質問は何でしたか", "ja"),
    ],
)
def test_a_question_is_recalled_by_its_number_in_its_language(message: str, code: str) -> None:
    second = "GPT-2?"
    history = (*BERT[code], *said(second, "GPT-2."))
    assert spoken(message, history) == says(code, "numbered", number="2", text=second)


def test_an_objection_in_another_language_is_no_topic() -> None:
    history = (*BERT["de"], *said("falsch", "Das tut mir leid."))
    understood = understand("und warum?", history)
    assert understood.follow_up.previous_topic == "BERT"
    assert [each.content for each in understood.seen if each.role == "user"] == ["Was ist BERT?"]
    condensed = condense("und warum?", history, understood)
    assert "falsch" not in search_query("und warum?", history, understood, condensed, Settings()).talk


@pytest.mark.parametrize("code", CODES)
def test_a_language_is_one_readable_file(code: str) -> None:
    assert (FOLDER / f"{code}.toml").is_file()
    known = language(code)
    families = {family for family, _, _ in known.patterns}
    assert {"social", "reform", "recall", "clarify", "refer_back"} <= families
    assert code == "en" or (known.continues and known.pronouns)


@given(st.text(max_size=300))
def test_any_text_has_a_language(text: str) -> None:
    assert read_language(text) in {
        *CODES,
        "",
        "it",
        "nl",
        "sv",
        "da",
        "no",
        "pl",
        "cs",
        "tr",
        "ro",
        "fi",
        "hu",
        "id",
        "vi",
    }
    assert len(named_subject(text)) <= len(text)


def test_a_follow_up_in_another_language_is_searched_as_it_stands_with_the_topic() -> None:
    understood = understand("Wie wird es trainiert?", BERT["de"])
    condensed = condense("Wie wird es trainiert?", BERT["de"], understood)
    assert condensed.query == "Wie wird es trainiert?"
    assert [term.text for term in condensed.added] == ["BERT"]


def test_a_wish_for_more_in_another_language_is_no_question_to_take_words_from() -> None:
    history = (*BERT["de"], *said("Wie wird es trainiert?", "Mit Text.", "Erzähl mir mehr", "Mehr."))
    condensed = condense("Und GPT?", history, understand("Und GPT?", history))
    assert [term.text for term in condensed.added] == ["trainiert"]


def test_a_correction_in_another_language_keeps_the_question() -> None:
    history = said("Wie sende ich Fotos?", "Mit der Kamera.")
    message = "nein, ich meinte Anhänge"
    condensed = condense(message, history, understand(message, history))
    assert condensed.query == message
    assert "Fotos" in {term.text for term in condensed.added}


@pytest.mark.parametrize("message", ["sin(30)", "sin 30", "what is sin(30)?"])
def test_a_function_in_a_sum_does_not_show_a_language(message: str) -> None:
    assert read_language(message) == "en"
    assert read_language(message, ["What is BERT?"]) == "en"
    assert read_language("sin(30)", ["Was ist BERT?"]) == "de"
    assert read_language("¿Qué es BERT sin 30 capas?") == "es"
