"""Whether what was stored fits the code that reads it now, and what becomes of it where an operator's version is another.

Every entry says by which version of its operator it was written. One of an earlier version is migrated when it is read, and stored in its
new form when the operator writes it: so a migration has no beginning and no end, and a crash finds nothing half done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from whorl.errors import StateUnfit
from whorl.state.codec import user_key
from whorl.state.scope import MIGRATE, Rules, unfit
from whorl.state.values import GONE, own

Migrate = Callable[[str, Any, Any, int], Any]
"""(state, key, value, version that wrote it) -> the value as it is now."""


class Versions(NamedTuple):
    """Of an operator: which one it is, and how it takes values of earlier ones."""

    now: int = 1
    migrate: Migrate | None = None
    key_of: Callable[[bytes], Any] = bytes


class Fitting:
    """Of one state in one table."""

    def __init__(self, rules: Rules, versions: Versions, prefix: bytes, is_list: bool) -> None:
        self._rules, self._versions, self._prefix, self._is_list = rules, versions, prefix, is_list

    def __call__(self, key: bytes, value: Any, version: int) -> Any:
        """What is read of an entry with this key; `GONE` where the migration forgets it."""
        if version != self._versions.now:
            value = self._migrated(key, value, version)
        if value is None or value is GONE or self._rules.conversion.kind is None:
            return value
        try:
            if not self._is_list:
                return self._checked(value)
            if value.__class__ is not list:
                raise TypeError(f"it is declared as a list and was given {value!r:.80}")
            return [self._checked(each) for each in value]
        except TypeError as error:
            raise unfit(self._rules, self._user_key(key), error) from error

    def _checked(self, value: Any) -> Any:
        kind, dump, _ = self._rules.conversion
        return value if value.__class__ is kind or dump is None else dump(value)

    def _migrated(self, key: bytes, value: Any, version: int) -> Any:
        rules, now, migrate = self._rules, self._versions.now, self._versions.migrate
        user = self._user_key(key)
        what = f"the state '{rules.name}' of '{rules.operator}' for the key {user!r:.80} was written by its version {version}"
        if version > now:
            raise StateUnfit(f"{what}, and this is {now}", hint="use the newer code, which can read it")
        if migrate is None:
            raise StateUnfit(f"{what}, and {now} has no way to read it", hint=f"give its class a method {MIGRATE}")
        try:
            made = migrate(rules.name, self._versions.key_of(user), value, version)
            return GONE if made is None else own(self._dumped(made))
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise StateUnfit(f"{what}, and cannot be migrated: {why}", hint="mend its method 'migrate'") from error

    def _dumped(self, value: Any) -> Any:
        dump = self._rules.conversion.dump
        if dump is None:
            return value
        return [dump(each) for each in value] if self._is_list else dump(value)

    def _user_key(self, key: bytes) -> bytes:
        return user_key(self._prefix + key) or b""
