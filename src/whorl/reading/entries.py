"""One entry of state as it is read from outside: a value, one entry of a map, or a timer of one key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from whorl.formats.json import encode as encode_json
from whorl.operators.keyed import moment
from whorl.state.codec import TIMERS, Address, decode, unpack
from whorl.state.timers import kind_of, timer_of
from whorl.state.values import Timed

_LARGEST = 1 << 63
_ESCAPED = "backslashreplace"


@dataclass(frozen=True, slots=True)
class Entry:
    operator: str
    state: str
    key: bytes
    map_key: str | None
    """Text as it is, anything else as JSON; None where the state is no map."""
    value: Any
    expires: datetime | None
    lp: int
    position: int
    """Its offset in the changelog."""
    size: int
    """Bytes of it there, key and value."""

    @property
    def key_text(self) -> str:
        return self.key.decode(errors=_ESCAPED)

    @property
    def is_timer(self) -> bool:
        return self.state == TIMERS

    def columns(self) -> dict[str, Any]:
        """As tables have it: the value as JSON."""
        return {
            "operator": self.operator,
            "state": self.state,
            "key": self.key_text,
            "key_bytes": self.key,
            "map_key": self.map_key,
            "value": as_json(self.value),
            "expires": self.expires,
            "logical_partition": self.lp,
            "position": self.position,
        }

    def line(self) -> str:
        """As a line of JSON. Only a key that is no text has its bytes, in base64."""
        fields = self.columns()
        fields["value"] = orjson.Fragment(fields["value"])
        if _is_text(self.key):
            del fields["key_bytes"]
        return encode_json(fields).decode()


def entry_of(address: Address, raw: tuple[bytes, bytes], lp: int, position: int) -> Entry:
    """`raw`: key and value of a record of the changelog."""
    key, value = raw
    found = _timer(key) if address.state == TIMERS else decode(value)
    expires = None
    if found.__class__ is Timed:
        found, expires = found.value, _when(found.expires)
    map_key = None if address.map_key is None else as_text(unpack(address.map_key))
    place = (address.operator, address.state, address.key, map_key)
    return Entry(*place, found, expires, lp, position, len(key) + len(value))


def _timer(key: bytes) -> dict[str, Any]:
    return {"time": _when(timer_of(key).time), "clock": kind_of(key)}


def _when(ms: int) -> datetime:
    """The last moment that there is stands for those behind it."""
    try:
        return moment(ms)
    except OverflowError:
        return (datetime.max if ms > 0 else datetime.min).replace(tzinfo=UTC)


# -- as text --------------------------------------------------------------------------------------------------------------------------


def as_text(value: Any) -> str:
    return _legal(value) if isinstance(value, str) else as_json(value)


def as_json(value: Any) -> str:
    """Binary in base64, times in ISO, decimals and integers with all their digits; a tuple is a list."""
    try:
        return encode_json(value).decode()
    except ValueError:
        return encode_json(_tamed(value)).decode()


def _tamed(value: Any) -> Any:
    """What JSON has no form for, as the nearest that it has: few values need it, and it costs."""
    if isinstance(value, str):
        return _legal(value)
    if isinstance(value, dict):
        return {as_text(key): _tamed(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_tamed(each) for each in value]
    if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        return orjson.Fragment(str(value))
    return value


def _legal(text: str) -> str:
    """Half of a surrogate pair is no character, and escaped."""
    return text if text.isascii() else text.encode(errors=_ESCAPED).decode()


def _is_text(key: bytes) -> bool:
    try:
        key.decode()
    except UnicodeDecodeError:
        return False
    return True
