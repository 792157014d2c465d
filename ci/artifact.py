"""One JSON document out of the archive that an untrusted job left. Nothing is written to a disk."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path

from ci.errors import BadInput
from ci.files import Fields, parse_json

# A verdict takes less than a kilobyte a point, and a tenth of that compressed.
ARCHIVE_LIMIT = 2 << 20
DOCUMENT_LIMIT = 8 << 20
# Of the other kinds zipfile unpacks a whole chunk, however large, whatever it was asked for.
_BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# All that zipfile raises for archives that are damaged, encrypted or of an unknown version.
_UNREADABLE = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError,
    ValueError,
)  # fmt: skip


def document_of(archive: bytes, name: str) -> Fields:
    """The document that the archive holds under exactly this name. Raises BadInput."""
    where = Path(name)
    way_out = "see the log of the job that made it"
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as members:
            member = members.getinfo(name)
            if member.compress_type not in _BOUNDED:
                raise BadInput(where, "is neither stored nor deflated", way_out)
            with members.open(member) as stream:
                # The size that the archive claims may be a lie; a byte too many is enough.
                content = stream.read(DOCUMENT_LIMIT + 1)
    except KeyError as error:
        raise BadInput(where, "is not in the archive", way_out) from error
    except _UNREADABLE as error:
        raise BadInput(where, f"its archive cannot be read ({error})", way_out) from error
    if len(content) > DOCUMENT_LIMIT:
        raise BadInput(where, f"is larger than {DOCUMENT_LIMIT >> 20} MiB", way_out)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(where, "is not UTF-8 text", way_out) from error
    return parse_json(text, where, way_out)
