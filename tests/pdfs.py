"""Small PDFs, made by hand."""

from __future__ import annotations

from collections.abc import Sequence


def make_pdf(
    pages: Sequence[Sequence[str | tuple[int, str]]],
    title: str = "",
    encrypted: bool = False,
    created: str = "",
    outline: Sequence[tuple[str, int]] = (),
    keywords: str = "",
    drawn: str = "",
) -> bytes:
    """A small PDF with these lines on its pages, some of them in a size of their own; `encrypted` gives it a password
    that nobody knows, `outline` the titles of its parts with their pages (from 0). `drawn` is drawn on every page
    after its lines."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        sized = [(11, line) if isinstance(line, str) else line for line in lines]
        shown = " ".join(f"/F1 {size} Tf ({text}) Tj T*" for size, text in sized)
        content = f"BT /F1 11 Tf 13 TL 60 760 Td {shown} ET {drawn}".encode("latin-1")
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % len(objects)
        )
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    trailer = b"/Root 1 0 R"
    if title or created or keywords:
        told = (title.encode("latin-1"), created.encode(), keywords.encode("latin-1"))
        objects.append(b"<< /Title (%s) /CreationDate (%s) /Keywords (%s) >>" % told)
        trailer += b" /Info %d 0 R" % len(objects)
    if outline:
        root = len(objects) + 1
        last = root + len(outline)
        objects.append(b"<< /Type /Outlines /First %d 0 R /Last %d 0 R >>" % (root + 1, last))
        for number, (name, page) in enumerate(outline, root + 1):
            following = b"/Next %d 0 R " % (number + 1) if number < last else b""
            before = b"/Prev %d 0 R " % (number - 1) if number > root + 1 else b""
            place = b"%s%s/Dest [%s /Fit]" % (following, before, kids[page])
            objects.append(b"<< /Title (%s) /Parent %d 0 R %s >>" % (name.encode("latin-1"), root, place))
        objects[0] = b"<< /Type /Catalog /Pages 2 0 R /Outlines %d 0 R >>" % root
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
    return (
        bytes(out)
        + table
        + b"trailer << /Size %d %s >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, trailer, len(out))
    )
