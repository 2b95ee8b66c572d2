"""Small PDFs, made by hand."""

from __future__ import annotations

from collections.abc import Sequence


def make_pdf(pages: Sequence[Sequence[str]], title: str = "", encrypted: bool = False) -> bytes:
    """A small PDF with these lines on its pages; `encrypted` gives it a password that nobody knows."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        shown = " ".join(f"({line}) Tj T*" for line in lines)
        content = f"BT /F1 11 Tf 13 TL 60 760 Td {shown} ET".encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    trailer = b"/Root 1 0 R"
    if title:
        objects.append(b"<< /Title (%s) >>" % title.encode("latin-1"))
        trailer += b" /Info %d 0 R" % len(objects)
    if encrypted:
        objects.append(b"<< /Filter /Standard /V 1 /R 2 /P -4 /O <%s> /U <%s> >>" % (b"11" * 32, b"22" * 32))
        trailer += b" /Encrypt %d 0 R /ID [<00> <00>]" % len(objects)
    return _assembled(objects, trailer)


def _assembled(objects: list[bytes], trailer: bytes) -> bytes:
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(b"%010d 00000 n \n" % len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, b"".join(offsets))
    return bytes(out) + table + b"trailer << /Size %d %s >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, trailer, len(out))
