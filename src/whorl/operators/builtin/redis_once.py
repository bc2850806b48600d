"""Ids of what was done outside, in Redis: a key for each, `claimed` while it is under way and `done` afterwards."""

from __future__ import annotations

from typing import Any

import redis

from whorl.errors import Retry

_PATIENCE = 5.0
_CLAIMED, _DONE = b"claimed", b"done"


class RedisOnce:
    """Where Redis does not answer, nothing is done: the record is tried again, for ever."""

    def __init__(self, url: str, prefix: str, ttl: float | None) -> None:
        self._redis = redis.Redis.from_url(url, socket_timeout=_PATIENCE, socket_connect_timeout=_PATIENCE)
        self._prefix, self._ms = prefix, None if ttl is None else max(round(ttl * 1000), 1)

    def claim(self, id: str) -> str:
        try:
            if self._redis.set(self._prefix + id, _CLAIMED, nx=True, px=self._ms):
                return "new"
            return "done" if self._redis.get(self._prefix + id) == _DONE else "claimed"
        except redis.RedisError as error:
            raise Retry(1.0, f"Redis does not answer: {error}") from None

    def done(self, id: str) -> None:
        self._write(lambda: self._redis.set(self._prefix + id, _DONE, px=self._ms))

    def release(self, id: str) -> None:
        self._write(lambda: self._redis.delete(self._prefix + id))

    def _write(self, write: Any) -> None:
        """Once more where it fails: what is done must be noted, and what cannot be noted is in doubt."""
        try:
            write()
        except redis.RedisError:
            write()
