"""Decodes the bytes of a text file: by its byte order mark, as UTF-8, by what it declares, or as Western European."""

from __future__ import annotations

import codecs
import re

from turnwise.errors import UnreadableDocument

_MARKS = (  # that of UTF-32 begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED_BYTES = 1024  # at the beginning of a page, as browsers look
_DECLARED = re.compile(
    rb"<meta\b[^>]*\bcharset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml\b[^>]*\bencoding\s*=\s*[\"']([\w.:-]+)", re.I
)
_AS_BROWSERS_READ = {  # by a larger encoding that has all of it
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
_BINARY_CHARACTER = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]")
_MAX_BINARY_SHARE = 0.05  # of the characters in a text file
_ACCENTED = re.compile("[^\x00-\x7f]")
_MAX_ACCENTED_SHARE = 0.4  # of the characters in a Western European text, blanks left out


def decode(name: str, data: bytes) -> str:
    """The text of a file. Raises UnreadableDocument if it is none, or of an encoding that cannot be told."""
    text = _marked(data) or _utf8(data) or _declared(data)
    guessed = not text
    text = text or data.decode("cp1252", "replace")
    if "\0" in text or len(_BINARY_CHARACTER.findall(text)) > len(text) * _MAX_BINARY_SHARE:
        raise UnreadableDocument(f"{name} is not text.", "Check that its extension is right, or save it as UTF-8.")
    if guessed and len(_ACCENTED.findall(text)) > len("".join(text.split())) * _MAX_ACCENTED_SHARE:
        raise UnreadableDocument(f"{name} is text of an unknown encoding.", "Save it as UTF-8.")
    return text


def _marked(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    return ""


def _utf8(data: bytes) -> str:
    """The text as UTF-8; "" if it is of another encoding. A few broken characters, as where a file was cut, do not
    make it one: what is valid outnumbers them."""
    text = data.decode("utf-8-sig", "replace")
    broken = text.count("\ufffd")
    return text if 2 * broken <= len(_ACCENTED.findall(text)) else ""


def _declared(data: bytes) -> str:
    """The text in the encoding that the page itself names; "" if it names none, or none that is known."""
    found = _DECLARED.search(data, 0, _DECLARED_BYTES)
    if not found:
        return ""
    try:
        encoding = codecs.lookup((found[1] or found[2]).decode()).name
        return data.decode(_AS_BROWSERS_READ.get(encoding, encoding), "replace")
    except (LookupError, ValueError):
        return ""
