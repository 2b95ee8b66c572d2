"""Frequent words, which show whether a decoded or undisguised text is readable."""

from __future__ import annotations

import codecs
import re

from turnwise.text import STOP_WORDS

_FREQUENT = """able about access account act action actions active actual add additional address administrator
    admin affect after again agent agree allow allowed allows almost alone already also although always amount
    analysis another answer answers anyone anything api apply approach area argue around article asked asking
    assist assistant attack authority authorized automatic available avoid away bank base because become been begin
    behave behind being believe below best better beyond big block body bomb book both break bring build business
    bypass call called cannot card care case cause change chapter character chat check child children choose city
    class clear close code command commands common company complete computer condition confidential confirm
    consider contact contain content context continue control conversation copy correct could country course cover
    create credentials credit current customer data database date debug decide decode decision default define
    delete describe describes detail detailed details developer developers device different difficult direct
    directions dirty disable discard disclose disregard display document documents does doing done down drop drug
    drugs during each early earlier easy education effect either else email emails employee enable encoded end
    english enough enter entire erase error even event ever every everyone everything evil exact exactly example
    execute exfiltrate existing experiment explain explosive expose fact false family feel file files filter
    filters final find fine finish first five follow following force forget form format former found four free
    freely friend full function further game general generate get give given goal going good government great
    ground group guard guardrail guardrails guide guideline guidelines hack hacker hand happen hard harm harmful
    have head hear hello help helpful hidden hide high history hold home hour house human idea ignore ignored
    ignoring illegal image imagine immediate immediately important include including indeed inform information
    initial input inside instead instruct instructed instruction instructions interest internal issue jailbreak
    jailbroken job keep key keys kill kind knowledge known language large last late later law lead learn leave left
    legal less letter level life light limit limits line link list little live local long longer look love machine
    made main make malware man manager many mask master material matter maximum maybe mean means member memory
    mention message messages method might mind minute mode model moment money month moral morals more morning most
    mother move much must name national need network never new news next night nothing notice now number obey of
    offer office often old only open openai operator order original other others output outside over override page
    paper paragraph parent part party pass passage password passwords past pay people perform perhaps permission
    permissions permit person personal persona persist phone phrase picture place plan play point poem poison
    police policies policy political position possible power preceding pretend previous previously print prior
    private privilege privileged problem process produce program prohibited prompt prompts protect protection
    protocol provide public publish purpose put query question questions quick quite quote raise rather reach read
    reader ready real really reason recall receive recipe record refuse regard regulations reject release remain
    remember remove repeat replace reply report request requests require required research reset respond response
    responses restrict restricted restriction restrictions result return reveal reverse review right role room root
    rule rules run safe safety same sanitize save say school scenario script search second secret secrets section
    secure security see seem send sensitive sentence serve server service session set several share shell short
    should show side simple simply simulate since sing skip small someone something speak special specific spell
    start state statement steal step steps still stop stored story strict string student students study such
    suggest summarise summarize summary supervisor support suppose switch system table take talk task tasks teach
    teacher team tell temporary test text than their them themselves then there therefore these they thing things
    think third this those thought three through time times today together token tokens told tomorrow tool tools
    top topic total toward trade train training transfer translate translation trick true trust truth try turn
    twice type unauthorized under understand unfiltered university unless unlimited unlock unrestricted until
    update upload upon url use used useful user username users using usual value verbatim version very view violate
    violence virus wait walk want warning watch water way weapon weapons week weight well what when where whether
    which while white whole whom whose will window wish with within without woman word words work world would write
    writing written wrong year years yes yesterday yet you young your yours yourself ignoriere vergiss alle
    vorherigen anweisungen ignora olvida todas las instrucciones anteriores ignorez oubliez toutes les tutte
    istruzioni precedenti""".split()

WORDS = frozenset(_FREQUENT) | {word for word in STOP_WORDS if len(word) > 1 and word not in ("re", "ve", "ll")}
MAX_TOKEN_CHARS = 1_000
MAX_WORD_CHARS = max(map(len, WORDS))
_PREFIXES = frozenset(word[:size] for word in WORDS for size in range(1, len(word) + 1)) | {"a", "i"}

# Words that happen to be a frequent word backwards or in ROT13.
_CHANCE = frozenset(
    "emit evil trap loot ward pots mood reed room live time stressed desserts reward drawer level gulp spam peek keep "
    "keels sleek tool snap span deer nuts stun tips spit meet teem edit tide eras sear loop pool doom door rood noon "
    "part tram mart nets sent nips spin regal lager lever revel parts strap star rats step pets strops sports diaper "
    "repaid deliver reviled moor lived devil laid dial lair rail liar brag garb flow wolf draw dart trad mail liam "
    "nova avon edoc gnat tang tang tort clerk pyrex gnat tnat terra barf envy rail sheer one nun ant abba".split()
)
_LONG = [word for word in WORDS if len(word) > 3]
REVERSED_WORDS = frozenset(word[::-1] for word in _LONG) - WORDS - _CHANCE
ROT13_WORDS = frozenset(codecs.encode(word, "rot13") for word in _LONG if word.isascii()) - WORDS - _CHANCE

_PUNCTUATION = ".,;:?!()[]{}\"“”‘’'…–—-，。、！？：；（）「」《》`*"
# A translation table: ASCII letters to lower case, everything else to spaces.
_LETTERS_ONLY = bytes(sign if chr(sign).isalpha() else 32 for sign in bytes(range(128)).lower()) + b" " * 128
_ASCII = re.compile("[A-Za-z0-9]")
LATIN = "A-Za-z\u00c0-\u024f\u1e00-\u1eff"  # letters, for a character class
DOTTED_I = "\u0130"  # İ, the only letter with a lower case of two characters; patterns that ignore case take it for i


class Tokens:
    """The distinct tokens of a text, split at whitespace. `odd` are those that are more than a word with punctuation
    around it. Searching these is faster than searching a long text."""

    __slots__ = ("all", "long", "odd", "odd_text")

    def __init__(self, text: str) -> None:
        self.all = set(text.split())
        odd = [each for each in self.all if not each.isalpha() and _is_odd(each.strip(_PUNCTUATION))]
        self.odd = [each for each in odd if len(each) <= MAX_TOKEN_CHARS]
        self.long = [each for each in odd if len(each) > MAX_TOKEN_CHARS]  # perhaps a payload, but not a disguised word
        self.odd_text = "\n".join(self.odd)

    def any_like(self, pattern: re.Pattern[str]) -> bool:
        return bool(pattern.search(self.odd_text)) or any(map(pattern.search, self.long))

    def words(self) -> set[str]:
        return ascii_words(" ".join(self.all))

    def in_other_script(self) -> bool:
        """Whether most characters are not ASCII, so that any Latin words are among those of another script."""
        whole = "".join(self.all)
        return not whole.isascii() and 2 * len(whole.encode("ascii", "ignore")) < len(whole)


def _is_odd(token: str) -> bool:
    if token.isascii():
        return not token.isalpha()
    return bool(_ASCII.search(token)) or 4 * sum(map(token.count, "._-*|/~")) > len(token)


def ascii_words(text: str) -> set[str]:
    """The distinct words of ASCII letters in a text, in lower case."""
    return set(text.encode("ascii", "replace").translate(_LETTERS_ONLY).decode("ascii").split())


def lower_ascii(text: str) -> str:
    """The text in lower case, with "?" for each character that is not ASCII. It has the same length, and for most long
    texts this is much faster than `str.lower`."""
    if not text.isascii():
        text = text.replace("\N{KELVIN SIGN}", "k").encode("ascii", "replace").decode("ascii")
    return text.lower()


def reveals_words(before: set[str], after: set[str]) -> bool:
    """Whether a change clearly revealed words: one of more than four letters, or two of more than two."""
    new = [word for word in (after - before) & WORDS if len(word) > 2]
    return len(new) > 1 or any(len(word) > 4 for word in new)


def segment(letters: str, share: float = 0.75) -> list[int] | None:
    """Where the words start in letters without spaces, or None if known words cover less than this share of them. A
    word counts by the square of its length, so that long words win over short ones inside them."""
    low = letters.lower()
    best = [0.0] * (len(low) + 1)
    taken = [0] * (len(low) + 1)  # the length of the known word that ends here, 0 for none
    for start in range(len(low)):
        if best[start] > best[start + 1]:
            best[start + 1], taken[start + 1] = best[start], 0
        for end in range(start + 1, len(low) + 1):
            piece = low[start:end]
            if piece not in _PREFIXES:
                break
            worth = best[start] + ((end - start) ** 2 if piece in WORDS else 0.5 if piece in ("a", "i") else -1)
            if worth > best[end] and worth > best[start]:
                best[end], taken[end] = worth, end - start
    starts: list[int] = []
    end, covered, known = len(low), 0, True
    while end:
        if taken[end]:
            covered += taken[end]
            if not known:
                starts.append(end)
            end -= taken[end]
            starts.append(end)
            known = True
        else:
            end -= 1
            known = False
    return sorted({0, *starts}) if covered >= share * len(low) else None
