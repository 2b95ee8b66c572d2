"""Function words of languages other than English, which name nothing."""

from __future__ import annotations

FUNCTION_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(text.split())
    for language, text in {
        "de": """der die das den dem des ein eine einen einem einer eines und oder aber auch noch nicht kein keine ist
            sind war waren wird werden wurde wurden hat haben hatte kann können muss müssen soll sollen darf was wer
            wen wem wie wo wann warum wieso weshalb welche welcher welches welchen wohin woher es er sie ihn ihm ihr
            ihre ihren sein seine seinen ich du wir mich mir uns dir dich man sich zu zum zur in im an am auf aus bei
            mit nach von vom vor für über unter um durch gegen ohne zwischen als wenn dass ob so dann da hier dort dies
            diese dieser dieses diesem diesen davon damit dazu darüber mehr habt habe mein meine meinen meiner dein
            deine unser unsere möchte möchten will wollen würde brauche etwas viel viele wieviel zeit alle ja nein
            bitte oft häufig lange mal dürfen könnte könnt müsst gibt es bedeutet heißt dabei beim ins ans denn
            doch nur sehr erzähl erzähle erzählen sag sage sagen erklär erkläre erklären zeig zeige gib weiter
            genauer""",
        "fr": """le la les l un une des du de d et ou mais aussi encore ne pas plus est sont était étaient sera a ont
            avait peut peuvent doit que qu qui quoi quel quelle quels quelles comment où quand pourquoi combien temps
            il elle ils elles on je tu nous vous me te se lui leur leurs son sa ses ce cet cette ces ça cela c s n j m
            t y en à au aux dans sur sous avec sans pour par entre vers chez depuis comme si alors donc là ici être
            avoir faire fait dit moi toi mon ma mes ton ta tes notre nos votre vos peux pouvez puis veux veut dire
            signifie voudrais dois faut avez avons ai suis es tout tous toute toutes oui non est-ce très dis dites
            raconte racontez souvent fois longtemps explique expliquez parle parlez continue""",
        "es": """el la los las lo un una unos unas y e o u pero también aún no más es son era eran fue fueron será ha
            han había puede pueden debe que qué quien quién quienes cual cuál cuáles como cómo donde dónde cuando
            cuándo cuánto cuántos por porque él ella ellos ellas yo tú nosotros me te se le les su sus mi este esta
            estos estas ese esa esos esas esto eso aquello de del a al en con sin para sobre entre desde hasta hay ser
            estar está están tiene tienen tengo tenéis tenemos puedo puedes podemos quiero quiere decir significa
            quisiera necesito mis tu tus nuestro nuestra cada cuánta tiempo cuántas cuanto cuanta cuantos cuantas sí
            todo todos hacer hace muy si menudo vez veces cuéntame dime explica explícame háblame sigue continúa""",
        "pt": """o a os as um uma uns umas e ou mas também ainda não mais é são era eram foi foram será tem têm tinha
            pode podem deve que quê quem qual quais como onde quando quanto quantos por porque ele ela eles elas eu tu
            você nós me te se lhe lhes seu sua seus suas meu este esta estes estas esse essa esses essas isto isso
            aquilo de do da dos das em no na nos nas com sem para sobre entre desde até há ser estar está estão ter
            fazer faz muito vez vezes frequentemente ao à aos às pelo pela conte conta diga fale explique
            explica continue continua""",
    }.items()
}
# Words that ask for a price, and do not say of what.
PRICE_WORDS: dict[str, frozenset[str]] = {
    "de": frozenset("kostet kosten preis preise teuer zahlen bezahlen".split()),
    "fr": frozenset("coûte coûtent coût coute coutent prix tarif tarifs cher payer".split()),
    "es": frozenset("cuesta cuestan cuánto precio precios vale valen caro pagar".split()),
    "pt": frozenset("custa custam quanto preço preços vale caro pagar".split()),
}
# Characters that name nothing in scripts without spaces. Hiragana name nothing either.
FUNCTION_CHARACTERS = frozenset(
    "的是了吗呢么什麼怎样樣如何为為哪些个個它他她们們这這那和与與或及在有以对對于於之可不被把会會能请請问問吧啊也都就还還"
)
