"""Archives, opened with care: Word, PowerPoint, OpenDocument and EPUB files are ZIP files."""

from __future__ import annotations

import io
import zipfile

from turnwise.errors import EncryptedDocument, UnreadableDocument

MOST_FILES = 20_000
MOST_BYTES = 1024 * 1024 * 1024  # unpacked, all files together
HARMLESS = 64 * 1024 * 1024  # so much unpacked is no danger, however tightly it was packed
TIGHTEST = 100  # times smaller than unpacked: text is packed to a tenth, a bomb to a thousandth


def open_archive(data: bytes, name: str) -> zipfile.ZipFile:
    """The archive in these bytes, unless it would unpack to more than it should. No file in it can exceed the size
    that was looked at here: unpacking stops there."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError) as error:
        raise UnreadableDocument(f"{name} is damaged: {error}.", "Check that it opens in its program.") from error
    files = archive.infolist()
    size = sum(file.file_size for file in files)
    if len(files) > MOST_FILES or size > MOST_BYTES or (size > HARMLESS and size > TIGHTEST * len(data)):
        raise UnreadableDocument(
            f"{name} would unpack to {size / 1e6:,.0f} MB in {len(files):,} files, which looks like a trap.",
            "If it is none, save it again, or as PDF.",
        )
    if any(file.flag_bits & 1 for file in files):
        raise EncryptedDocument(f"{name} is protected by a password.", "Save a copy without the password.")
    return archive
