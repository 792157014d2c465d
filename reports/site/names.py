"""Names of kernels and problems as parts of a file's name and of an address."""

import re
from hashlib import sha256

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=]{0,99}")


def slug(name: str) -> str:
    """Readable where the name is harmless; else what is harmless of it and a hash. Two names never
    share a slug: a harmless one has no hyphen, so its slashes can become hyphens."""
    if PLAIN.fullmatch(name.replace("/", "_")):
        return name.replace("/", "-")
    harmless = re.sub(r"[^A-Za-z0-9=]+", "-", name).strip("-")[:60]
    return f"{harmless}-{sha256(name.encode()).hexdigest()[:12]}"
