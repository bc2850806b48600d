"""The certificates that this machine trusts, as a Java key store.

A Java that came as a wheel knows only public authorities; a machine may have its own, which Python already goes by.
"""

from __future__ import annotations

import hashlib
import ssl
import struct
from collections.abc import Sequence
from pathlib import Path

PASSWORD = "whorl"  # the format wants one; nothing in the store is secret
_MAGIC, _VERSION, _TRUSTED = 0xFEEDFEED, 2, 2


def trusted_certificates() -> list[bytes]:
    """In DER; none where the system keeps them in a way that cannot be listed."""
    return ssl.create_default_context().get_ca_certs(binary_form=True)


def write_key_store(certificates: Sequence[bytes], path: Path) -> None:
    """In the JKS format, with the checksum that Java looks at."""
    content = struct.pack(">III", _MAGIC, _VERSION, len(certificates))
    for at, certificate in enumerate(certificates):
        alias, kind = _text(f"ca-{at}"), _text("X.509")
        size = struct.pack(">I", len(certificate))
        content += struct.pack(">I", _TRUSTED) + alias + struct.pack(">Q", 0) + kind + size + certificate
    salt = PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite"
    path.write_bytes(content + hashlib.sha1(salt + content).digest())


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">H", len(encoded)) + encoded
