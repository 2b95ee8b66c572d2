"""Opens ZIP archives safely: Word, PowerPoint, Excel, OpenDocument and EPUB files."""

from __future__ import annotations

import io
import zipfile

from turnwise.errors import EncryptedDocument, UnreadableDocument

MAX_FILES = 20_000
MAX_UNPACKED_BYTES = 1024 * 1024 * 1024  # all files together
HARMLESS_BYTES = 64 * 1024 * 1024  # unpacked; up to this size any compression ratio is fine
MAX_COMPRESSION_RATIO = 100  # text compresses about 10 times, a zip bomb about 1000 times


def open_archive(data: bytes, name: str) -> zipfile.ZipFile:
    """Open an archive, unless it would unpack to too much. The declared sizes can be trusted, because unpacking stops
    there."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError) as error:
        raise UnreadableDocument(f"{name} is damaged: {error}.", "Check that it opens in its program.") from error
    files = archive.infolist()
    size = sum(file.file_size for file in files)
    if (
        len(files) > MAX_FILES
        or size > MAX_UNPACKED_BYTES
        or (size > HARMLESS_BYTES and size > MAX_COMPRESSION_RATIO * len(data))
    ):
        raise UnreadableDocument(
            f"{name} would unpack to {size / 1e6:,.0f} MB in {len(files):,} files, which looks like a zip bomb.",
            "If it is not, save it again, or as PDF.",
        )
    if any(file.flag_bits & 1 for file in files):
        raise EncryptedDocument(f"{name} is protected by a password.", "Save a copy without the password.")
    return archive
