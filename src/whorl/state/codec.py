"""The bytes of state, in the changelog and on disk alike. They outlive the program: what one version wrote every later one reads.

    value   a byte of format version (low half) and flags (high half), two bytes of the operator's version where it is not 1, eight bytes
            of expiry where there is one, msgpack (lz4 where it helps)
    key     operator/state NUL user's key                       one value per key
            operator/state{} NUL length, user's key, map key    one entry of a map
            _timers NUL kind, time, operator NUL user's key
            _order NUL operator NUL …                           what `whorl.state.bounds` counts

Nothing from outside is ever unpickled.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from hashlib import blake2b
from typing import Any, NamedTuple

import lz4.block as lz4
import msgpack

from whorl.errors import PipelineError, WorldError
from whorl.state.values import Timed

VERSION = 1
_TIMED, _EVENT, _SQUEEZED, _STAMPED = 0x10, 0x20, 0x40, 0x80
_KNOWN = 0x0F
_EXPIRY = struct.Struct(">q")
_STAMP = struct.Struct(">H")
HIGHEST_VERSION = 0xFFFF
"""Of an operator."""
_LENGTH = struct.Struct(">I")
LARGE = 1024
"""Bytes beyond which a value is squeezed, and not kept in memory."""
FIRST = bytes((VERSION,))
"""What an encoded value begins with that is not `LARGE`, does not end, and is of the first version of its operator."""
_DATE, _DECIMAL, _TUPLE, _INT = 1, 2, 3, 4
_SURROGATES = "surrogatepass"

TIMERS = "_timers"
ORDER = "_order"
SUPERSTEP = "_superstep"
"""The table in which an lp keeps how far it is, where an operator goes by supersteps."""
MAP = "{}"
"""What the names of tables with maps end with."""
LONGEST_KEY = 511
"""Of LMDB. A key of this length or more is stored as its beginning and a hash, which are exactly that long."""
_HASH = 16
KEPT = LONGEST_KEY - _HASH
"""Bytes that a key and its stored form have in common."""


class _Packer(threading.local):
    """A packer that is kept is ten times as fast as a new one, and belongs to one thread."""

    def __init__(self) -> None:
        self.pack: Callable[[Any], bytes] = _packer()


def _packer() -> Callable[[Any], bytes]:
    pack: Callable[[Any], bytes] = msgpack.Packer(
        default=_extended, strict_types=True, datetime=True, unicode_errors=_SURROGATES
    ).pack
    return pack


def _extended(value: Any) -> msgpack.ExtType:
    kind = value.__class__
    if kind is tuple:
        return msgpack.ExtType(_TUPLE, _packer()(list(value)))
    if kind is Decimal:
        return msgpack.ExtType(_DECIMAL, str(value).encode())
    if kind is date:
        return msgpack.ExtType(_DATE, _LENGTH.pack(value.toordinal()))
    if kind is int:
        return msgpack.ExtType(_INT, value.to_bytes(value.bit_length() // 8 + 1, signed=True))
    raise TypeError(f"'{kind.__qualname__}' has no form in state")


def _plain(code: int, data: bytes) -> Any:
    if code == _TUPLE:
        return tuple(_unpacked(data))
    if code == _DECIMAL:
        return Decimal(data.decode())
    if code == _DATE:
        return date.fromordinal(_LENGTH.unpack(data)[0])
    if code == _INT:
        return int.from_bytes(data, signed=True)
    raise WorldError(f"the state holds a value of the unknown kind {code}", hint="use the Whorl that wrote it")


def _unpacked(packed: bytes) -> Any:
    return msgpack.unpackb(
        packed, ext_hook=_plain, timestamp=3, strict_map_key=False, unicode_errors=_SURROGATES, use_list=True
    )


_own = _Packer()


def pack(value: Any) -> bytes:
    """Equal bytes for equal values of a kind: fit for keys."""
    return _own.pack(value)


def packer() -> Callable[[Any], bytes]:
    """`pack` for many values, of the thread that asks."""
    return _own.pack


unpack = _unpacked


def encode(value: Any) -> bytes:
    """Of a value that is `own`, or such a value `Timed`."""
    if value.__class__ is not Timed:
        packed = _own.pack(value)
        return FIRST + packed if len(packed) <= LARGE else _squeezed(VERSION, b"", packed)
    flags = VERSION | _TIMED | (_EVENT if value.event else 0)
    return _squeezed(flags, _EXPIRY.pack(value.expires), _own.pack(value.value))


def _squeezed(flags: int, expiry: bytes, packed: bytes) -> bytes:
    squeezed = lz4.compress(packed) if len(packed) > LARGE else packed
    if len(squeezed) < len(packed):
        return bytes((flags | _SQUEEZED,)) + expiry + squeezed
    return bytes((flags,)) + expiry + packed


def decode(raw: bytes) -> Any:
    """What `encode` was given."""
    flags = raw[0]
    if flags == VERSION:
        return _unpacked(raw[1:])
    check(raw)
    if flags & _STAMPED:
        return decode(bytes((flags ^ _STAMPED,)) + raw[1 + _STAMP.size :])
    packed = raw[9:] if flags & _TIMED else raw[1:]
    value = _unpacked(lz4.decompress(packed) if flags & _SQUEEZED else packed)
    return Timed(value, _EXPIRY.unpack_from(raw, 1)[0], bool(flags & _EVENT)) if flags & _TIMED else value


def check(raw: bytes) -> None:
    """Raises where a newer Whorl wrote this."""
    version = raw[0] & _KNOWN
    if version > VERSION:
        raise WorldError(
            f"the state was written in format {version}, this Whorl knows {VERSION}",
            hint="use the newer Whorl",
            code="state-format",
        )


def stamped(raw: bytes, version: int) -> bytes:
    """An encoded value that says by which version of its operator it was written."""
    return bytes((raw[0] | _STAMPED,)) + _STAMP.pack(version) + raw[1:]


def version_of(raw: bytes) -> int:
    """The version of the operator that wrote an encoded value."""
    found: int = _STAMP.unpack_from(raw, 1)[0] if raw[0] & _STAMPED else 1
    return found


def expiry(raw: bytes) -> tuple[int, bool] | None:
    """When an encoded value ends and whether in event time, without decoding it."""
    if not raw[0] & _TIMED:
        return None
    return _EXPIRY.unpack_from(raw, 1 + _STAMP.size if raw[0] & _STAMPED else 1)[0], bool(raw[0] & _EVENT)


def is_large(raw: bytes) -> bool:
    """Whether the value takes more than a KB, squeezed or not."""
    return len(raw) > LARGE or bool(raw[0] & _SQUEEZED)


# -- keys -----------------------------------------------------------------------------------------------------------------------------


def table_prefix(operator: str, state: str) -> bytes:
    if "/" in operator or "\0" in operator + state:
        raise PipelineError(
            f"'{operator}/{state}' cannot name a state", hint="leave out '/' and NUL", code="state-name"
        )
    return f"{operator}/{state}\0".encode()


def map_group(key: bytes) -> bytes:
    """What all entries of one user's key in a map begin with."""
    return _LENGTH.pack(len(key)) + key


def map_entry(entry: bytes) -> tuple[bytes, bytes]:
    """The user's key, and the packed key within its map, of what begins with a `map_group`."""
    end = _LENGTH.size + _LENGTH.unpack_from(entry)[0]
    return entry[_LENGTH.size : end], entry[end:]


class Address(NamedTuple):
    """Whose an entry is."""

    operator: str
    state: str
    """As it was declared; `TIMERS` for a timer."""
    key: bytes
    map_key: bytes | None = None
    """Packed; None where the state is no map."""


def address(entry: bytes) -> Address | None:
    """None where the entry belongs to the lp itself."""
    table, nul, rest = entry.partition(b"\0")
    if not nul:
        return None
    if table == TIMERS.encode():
        timed, _, key = rest[9:].partition(b"\0")
        return Address(timed.decode(), TIMERS, key)
    if table == ORDER.encode():
        return None
    operator, _, state = table.decode().partition("/")
    if state == SUPERSTEP:
        return None
    if not state.endswith(MAP):
        return Address(operator, state, rest)
    return Address(operator, state.removesuffix(MAP), *map_entry(rest))


def owner(entry: bytes) -> tuple[str, str]:
    """The operator that an entry is of, and its state as tables name it, `TIMERS` or `ORDER`; two empty ones for what is the host's own."""
    table, nul, rest = entry.partition(b"\0")
    if table == TIMERS.encode():
        return rest[9:].partition(b"\0")[0].decode(), TIMERS
    if table == ORDER.encode():
        return rest.partition(b"\0")[0].decode(), ORDER
    operator, _, state = table.decode().partition("/") if nul else ("", "", "")
    return operator, state


def user_key(entry: bytes) -> bytes | None:
    """The user's key that an entry belongs to, of any kind; None where it belongs to the lp itself."""
    found = address(entry)
    return None if found is None else found.key


def short(key: bytes) -> bytes:
    """The key as LMDB can hold it. All scans are in the order of this, so that stores and overlays agree."""
    if len(key) < LONGEST_KEY:
        return key
    return key[:KEPT] + blake2b(key, digest_size=_HASH).digest()
