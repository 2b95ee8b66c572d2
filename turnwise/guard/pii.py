"""Personal data of a fixed form: addresses and numbers that identify a person, an account or a machine. It does not
look for names of people or places."""

from __future__ import annotations

import difflib
import ipaddress
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence

import phonenumbers
from stdnum import bitcoin, iban, luhn
from stdnum.us import ssn

from turnwise.guard.folding import characters_in, characters_of
from turnwise.guard.verdict import Span

REGIONS = ("US", "GB", "DE", "FR", "ES", "IT", "NL", "CH", "AT", "BE", "SE", "PL", "AU", "CA", "IN", "BR", "MX", "JP")
CONTEXT_CHARS = 60  # text before a number that may say what the number is

_UNUSUAL = frozenset("\xad\ufeff") | characters_in(  # invisible characters, full-width and mathematical letters
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0xFF01, 0xFF5E), (0x1D400, 0x1D7FF), (0xE0000, 0xE007F)
)

# --- words before a number that say what it is ---------------------------------------------------------------------

_OTHER_NUMBER = re.compile(
    r"\b(?:order|invoice|ticket|case|isbn|issn|doi|serial|part|version|release|ref(?:erence)?|id|ids|tracking|patent|"
    r"pmid|pmcid|arxiv|model|sku|vat|ean|upc|barcode|bug|issue|build|commit|item|batch|lot|article|section|chapter|page|"
    r"pages|pp|vol(?:ume)?|no|code|account|registry|licen[cs]e|policy|user|zip|port|coordinates?|latitude|longitude|years?|dates?|between|from)"
    r"(?:\s{1,2}(?:no|nr|number|numbers|id|code|is|was|are)){0,2}\s?[.:#=]{0,2}\s?$",
    re.I,
)
_PHONE_WORD = re.compile(
    r"\b(?:tele)?(?:phones?|fax)\b|\b(?:tel|call|calls|called|calling|mobile|cell|handy|whatsapp|sms|dial|ring|reach|hotline|"
    r"helpline|landline|phoned|texted?|ph|telefon\w{0,6}|tél(?:éphone)?|teléfono|móvil|numéro|nummer|voicemail|"
    r"switchboard|numbers?|answer(?:s|ing|ed)?|messages?|messaging|desk|office|extension)\b|[☎📞📱]",
    re.I,
)
_LABEL_AFTER = re.compile(r"[ (–-]{1,2}(?:fax|office|desk|mobile|cell|phone|home|work|tel|direct|landline)\b", re.I)
_CARD_LIKE = re.compile(
    r"\b(?:order|invoice|tracking|isbn|issn|doi|imei|iccid|ean|upc|gtin|sku|serial)(?:\s{1,2}(?:number|no|id|is)){0,2}"
    r"\s?[.:#=]{0,2}\s?$",
    re.I,
)
_VERSION = re.compile(
    r"(?:\b(?:v|ver|versions?|release|releases|build|firmware|driver|section|chapter|clause|§|revision|rev|update|patch|"
    r"oid|schema|python|java|kernel|upgrade to|upgraded to)\.?[:\s]{0,2}|[A-Za-z]/|[vV=^~])$",
    re.I,
)
_SSN_WORD = re.compile(r"\b(?:ssn|social security|tax(?:payer)? id)\b", re.I)

# --- the patterns --------------------------------------------------------------------------------------------------

_EMAIL_DOMAIN = re.compile(r"@((?:[^\W_](?:[\w-]{0,62})\.){1,8}[^\W\d_]{2,24})(?![\w-]|\.\w)")
_EMAIL_LOCAL = re.compile(r"[\w.+%'&-]{1,64}$")
# A lookahead, so that matches can overlap: in a row of numbers, a card number may start at any of them.
_CARD = re.compile(
    r"(?<![\w./+-])(?=(\d{12,19}|"
    r"\d{4}([ -])\d{4}\2\d{4}\2\d{4}(?:\2\d{1,3}(?!\d))?|\d{4}([ -])\d{6}\3\d{4,5})(?!\w|[.,/-]\w))"
)
_IBAN = re.compile(
    r"(?<![^\W_])[A-Z]{2}\d{2}(?:(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,4})?|[A-Z0-9]{11,30})(?![^\W_])", re.I
)
_IP4 = re.compile(r"(?<![\w.-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d|/\d)")
_IP6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){3,8}(?![\w:])")
_SSN = re.compile(r"(?<![\w.-])\d{3}([ -]?)\d{2}\1\d{4}(?![\w-]|\.\d)")
_NINO = re.compile(r"(?<!\w)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D](?!\w)")
_WALLET = re.compile(r"(?<![\w/])(?:bc1[02-9ac-hj-np-z]{11,71}|[13][1-9A-HJ-NP-Za-km-z]{25,34})(?!\w)")
_PHONE = re.compile(
    r"(?<![\w#$€£@&%=/+.])(?<!\d[.,:-])(?:\+|\(\+?)?\d(?:[ \u00a0().–‑/-]{0,3}\d){5,16}"
    r"(?: ?(?:x|ext\.?) ?\d{1,6})?(?![^\W_]|[%°€$£=]|[.,:/–-]\d)",
    re.I,
)
_AMERICAN = re.compile(r"(?:\+?1[ .-]?)?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[.-]\d{4}\b|\d{3} \d{3} \d{4}\b")
_NEVER_PHONE = re.compile(
    r"(?:1[5-9]|20)\d\d ?[–/-] ?(?:1[5-9]|20)?\d\d|\(?\d{1,5} ?[–/-] ?\d{1,5}\)?|"  # ranges of years and numbers
    r"(?:1[5-9]|20)\d\d[-./]\d{1,2}[-./]\d{1,2}(?: \d{1,2})?|"  # dates
    r"\d{1,2}[-./]\d{1,2}[-./](?:1[5-9]|20)?\d\d(?: \d{1,2})?|"
    r"97[89][ -]?[\d -]{10,14}|\d{2,7} ?- ?\d\d ?- ?\d|\d+\.\d+|(?:\d{1,3}\.){3}\d{1,3}"  # ISBN, CAS, decimals, IP
)
# 1 000 000, a row of numbers, an ISSN: only a phone number if the text says so.
_RARELY_PHONE = re.compile(r"\d{1,3}(?: \d{3}){1,4}|(?:\d{1,4} ){3,}\d{1,4}|\d{4}-\d{4}")
# Ranges of the first digits of card numbers, and the lengths such numbers have.
_CARD_RANGES: tuple[tuple[int, int, Collection[int]], ...] = (
    (4, 4, (13, 16, 19)),
    (51, 55, (16,)),
    (2221, 2720, (16,)),
    (34, 34, (15,)),
    (37, 37, (15,)),
    (300, 305, range(14, 20)),
    (36, 36, range(14, 20)),
    (38, 39, range(14, 20)),
    (35, 35, range(16, 20)),
    (2131, 2131, (15,)),
    (1800, 1800, (15,)),
    (6011, 6011, range(16, 20)),
    (644, 659, range(16, 20)),
    (62, 62, range(16, 20)),
    (5018, 5018, range(12, 20)),
    (5020, 5020, range(12, 20)),
    (5038, 5038, range(12, 20)),
    (56, 58, range(12, 20)),
    (6304, 6304, range(12, 20)),
    (6390, 6390, range(12, 20)),
    (6759, 6763, range(12, 20)),
)


def find_pii(text: str, kinds: Collection[str] | None = None, regions: Sequence[str] = REGIONS) -> list[Span]:
    """The personal data in a text, in order and without overlaps. Phone numbers without a country code are read as
    those of `regions`. A number that could also be something else counts if the words before it say what it is."""
    plain, positions = normalize(text)
    ranks = {kind: rank for rank, kind in enumerate(FINDERS)}
    finders = {kind: finder for kind, finder in FINDERS.items() if kinds is None or kind in kinds}
    spans = [Span(start, end, kind) for kind, finder in finders.items() for start, end in finder(plain, regions)]
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, ranks[span.kind])):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
        elif ranks[span.kind] < ranks[kept[-1].kind]:
            kept[-1] = span
    if positions is None:
        return kept
    return [Span(positions[each.start], positions[each.end - 1] + 1, each.kind) for each in kept]


def checked_kinds(kinds: Collection[str] | None, known: Collection[str]) -> frozenset[str]:
    """These kinds, or all known ones if None. Raises ValueError if one is unknown."""
    for kind in kinds or ():
        if kind not in known:
            near = difflib.get_close_matches(kind, known, n=1) or sorted(known)
            raise ValueError(f"there is no kind {kind!r}; did you mean {' or '.join(map(repr, near))}?")
    return frozenset(known if kinds is None else kinds)


def checked_regions(regions: Collection[str]) -> tuple[str, ...]:
    """These regions. Raises ValueError if one is unknown, because none of its phone numbers would be found."""
    for region in regions:
        if region not in phonenumbers.SUPPORTED_REGIONS:
            raise ValueError(f"there is no region {region!r}; use two-letter codes such as 'US' or 'DE'")
    return tuple(regions)


def normalize(text: str) -> tuple[str, list[int] | None]:
    """The text without invisible characters and with full-width letters as plain ones, and the position of each
    character in the original text (None if the text is unchanged)."""
    if text.isascii() or _UNUSUAL.isdisjoint(characters_of(text)):
        return text, None
    kept = [(place, _compatible(letter)) for place, letter in enumerate(text) if unicodedata.category(letter) != "Cf"]
    return "".join(letter for _, letter in kept), [place for place, _ in kept]


def _compatible(letter: str) -> str:
    compatible = unicodedata.normalize("NFKC", letter) if letter > "\x7f" else letter
    return compatible if len(compatible) == 1 else letter


# --- one finder for each kind --------------------------------------------------------------------------------------

Bounds = Iterator[tuple[int, int]]


def _emails(text: str, _: Sequence[str]) -> Bounds:
    for domain in _EMAIL_DOMAIN.finditer(text):
        at = domain.start()
        local = _EMAIL_LOCAL.search(text, max(0, at - 64), at)
        if local is None or not (name := local[0].lstrip(".'&%")):
            continue
        start, end = at - len(name), domain.end()
        if name == "git" or text[max(0, start - 3) : start] == "://" or _is_url_password(text, start):
            continue
        yield start, end


def _is_url_password(text: str, start: int) -> bool:
    """Whether this is the password in a URL, as in postgres://user:here@host."""
    return re.search(r"://[^\s/@]{0,64}:$", text[max(0, start - 72) : start]) is not None


def _cards(text: str, _: Sequence[str]) -> Bounds:
    for found in _CARD.finditer(text):
        for number in dict.fromkeys((found[1], found[1][:19])):  # digits after the first 16 may be another number
            digits = re.sub("[ -]", "", number)
            if _is_issued(digits) and luhn.is_valid(digits) and not _CARD_LIKE.search(_before(text, found.start())):
                yield found.start(), found.start() + len(number)
                break


def _is_issued(digits: str) -> bool:
    return any(
        len(digits) in lengths and first <= int(digits[: len(str(first))]) <= last
        for first, last, lengths in _CARD_RANGES
    )


def _ibans(text: str, _: Sequence[str]) -> Bounds:
    for found in _IBAN.finditer(text):
        ends = [found.start() + gap.start() for gap in re.finditer("[ -]", found[0])]
        for end in (found.end(), *reversed(ends)):
            if iban.is_valid(text[found.start() : end].replace("-", ""), check_country=False):
                yield found.start(), end
                break


def _addresses(text: str, _: Sequence[str]) -> Bounds:
    for found in _IP4.finditer(text):
        if _is_personal(found[0]) and not _VERSION.search(text[max(0, found.start() - 20) : found.start()]):
            yield found.span()
    for found in _IP6.finditer(text):
        groups = [group for group in found[0].split(":") if group]
        if len(groups) >= 3 and re.search(r"\d", found[0]) and _is_personal(found[0]):
            yield found.span()


def _is_personal(address: str) -> bool:
    """Whether an IP address may belong to a person: not one of a private network, a loopback address or a mask."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    mask = address.startswith(("0.", "255.")) or address.endswith(".0")
    return not (ip.is_loopback or ip.is_unspecified or ip.is_private or ip.is_link_local or mask)


def _security_numbers(text: str, _: Sequence[str]) -> Bounds:
    for found in _SSN.finditer(text):
        likely = found[1] == "-" or _SSN_WORD.search(_before(text, found.start()))
        if likely and ssn.is_valid(re.sub("[ -]", "", found[0])):
            yield found.span()


def _insurance_numbers(text: str, _: Sequence[str]) -> Bounds:
    yield from (found.span() for found in _NINO.finditer(text))


def _wallets(text: str, _: Sequence[str]) -> Bounds:
    yield from (found.span() for found in _WALLET.finditer(text) if bitcoin.is_valid(found[0]))


def _phones(text: str, regions: Sequence[str]) -> Bounds:
    for found in _PHONE.finditer(text):
        start, end = found.span()
        labelled = _LABEL_AFTER.match(text, end) is not None
        if not _is_phone(found[0], _before(text, start), labelled, regions):
            inside = _phone_among(found[0], regions)
            if inside is None:
                continue
            start, end = start + inside[0], start + inside[1]
        opened = text[start:end].count("(") - text[start:end].count(")")
        yield start, end + (opened > 0 and text[end : end + 1] == ")")


def _phone_among(numbers: str, regions: Sequence[str]) -> tuple[int, int] | None:
    """The bounds of a phone number among other numbers, if its form alone shows that it is one."""
    starts = [0, *(gap.end() for gap in re.finditer(" ", numbers))]
    ends = [*(gap.start() for gap in re.finditer(" ", numbers)), len(numbers)]
    for start in starts[:8]:
        for end in reversed(ends):
            part = numbers[start:end]
            if start < end and part != numbers and not _NEVER_PHONE.fullmatch(part) and _has_form(part, regions):
                return start, end
    return None


def _is_phone(number: str, before: str, labelled: bool, regions: Sequence[str]) -> bool:
    digits = sum(map(str.isdigit, number))
    if "+" in number[:2]:
        return digits >= 7 and _is_possible(number)
    announced = _PHONE_WORD.search(before) is not None
    certain = announced or (labelled and before[-1:] in ("", "\n"))
    if (
        digits < 7
        or _NEVER_PHONE.fullmatch(number)
        or _OTHER_NUMBER.search(before)
        or (_RARELY_PHONE.fullmatch(number) and not certain)
    ):
        return False
    if announced or labelled:
        return digits <= 15 and (digits > 7 or not number.isdigit())
    return _has_form(number, regions)


def _has_form(number: str, regions: Sequence[str]) -> bool:
    """Whether this is a phone number whatever the text around it says."""
    if "+" in number[:2]:
        return _is_possible(number)
    if _AMERICAN.fullmatch(number):
        return _is_valid(number, ("US", "CA"))
    grouped = re.search(r"\d[ ().–‑/-]+\d", number) is not None
    digits = sum(map(str.isdigit, number))
    return grouped and number.lstrip("(")[0] == "0" and digits >= 9 and _is_valid(number, regions)


def _is_valid(number: str, regions: Sequence[str]) -> bool:
    return any(_parses(number, region, phonenumbers.is_valid_number) for region in regions)


def _is_possible(number: str) -> bool:
    return _parses(number, None, phonenumbers.is_possible_number)


def _parses(number: str, region: str | None, accept: Callable[[phonenumbers.PhoneNumber], bool]) -> bool:
    try:
        return accept(phonenumbers.parse(number, region))
    except phonenumbers.NumberParseException:
        return False


def _before(text: str, start: int) -> str:
    return text[max(0, start - CONTEXT_CHARS) : start]


# If two kinds overlap, the first in this order wins.
FINDERS: dict[str, Callable[[str, Sequence[str]], Bounds]] = {
    "email address": _emails,
    "IBAN": _ibans,
    "card number": _cards,
    "IP address": _addresses,
    "social security number": _security_numbers,
    "national insurance number": _insurance_numbers,
    "wallet address": _wallets,
    "phone number": _phones,
}
PII_KINDS = tuple(FINDERS)
