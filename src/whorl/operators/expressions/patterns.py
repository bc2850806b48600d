"""LIKE patterns and Java regular expressions as Python's, where both mean the same.

A construct whose meaning differs, or that Python lacks, raises `UnsupportedPattern`: better refused than subtly different.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

_LINE_END = r"\n\r\u0085\u2028\u2029"
_ANY = f"[^{_LINE_END}]"
_AT_END = f"(?=(?:\\r\\n|[{_LINE_END}])?\\Z)"
_SAME_ESCAPES = "dDwWsSbBtnrfA"
_GROUP_OPENERS = ("(?:", "(?=", "(?!", "(?<=", "(?<!")
_NAMED = re.compile(r"\(\?<([a-zA-Z][a-zA-Z0-9]*)>")
_TOKEN = re.compile(r"\\.|\[|\]|\(\?[a-z-]+[:)]|\(\?<?[:=!]|\(\?<[a-zA-Z][a-zA-Z0-9]*>|\(|.", re.DOTALL)
_GROUP_REFERENCE = re.compile(r"\\(.)|\$([0-9])|(\$)|([^\\$]+)", re.DOTALL)


class UnsupportedPattern(ValueError):
    pass


@lru_cache(1024)
def java_regex(pattern: str) -> re.Pattern[str]:
    """Raises ValueError where the pattern is wrong, UnsupportedPattern where it is only Java's."""
    out, in_class, first = [], False, False
    for match in _TOKEN.finditer(pattern):
        token = match.group()
        out.append(_in_class(token, first) if in_class else _outside(token, match.start()))
        if not in_class and token == "[":
            in_class, first = True, True
            continue
        if in_class and token == "]":
            in_class = False
        first = in_class and first and token == "^"
    try:
        return re.compile("".join(out), re.ASCII)
    except re.error as error:
        raise ValueError(f"'{pattern}' is not a regular expression: {error}") from None


def _outside(token: str, at: int) -> str:
    if token.startswith("\\"):
        return _escape(token)
    if token == ".":
        return _ANY
    if token == "$":
        return _AT_END
    if token == "(?i)" and at == 0:
        return token
    if named := _NAMED.match(token):
        return f"(?P<{named.group(1)}>"
    if token.startswith("(?") and token not in _GROUP_OPENERS:
        raise UnsupportedPattern(token)
    return token


def _in_class(token: str, first: bool) -> str:
    if token == "[" or token == "&" or (token == "]" and first):
        raise UnsupportedPattern(f"{token} in a character class")
    return _escape(token) if token.startswith("\\") else token


def _escape(token: str) -> str:
    char = token[1]
    if char in _SAME_ESCAPES or (char.isdigit() and char != "0"):
        return token
    if char == "z":
        return r"\Z"
    if char.isascii() and char.isalnum():
        raise UnsupportedPattern(token)
    return re.escape(char)


def java_replacement(pattern: re.Pattern[str], text: str) -> Callable[[re.Match[str]], str]:
    """`$1` is a group, `\\$` a dollar; a group that took no part is empty."""
    parts: list[str | int] = []
    for escaped, group, dollar, plain in _GROUP_REFERENCE.findall(text):
        if dollar or (group and int(group) > pattern.groups):
            raise ValueError(f"'{text}' refers to a group that '{pattern.pattern}' does not have")
        parts.append(int(group) if group else escaped or plain)
    if all(isinstance(part, str) for part in parts):
        fixed = "".join(map(str, parts))
        return lambda match: fixed
    return lambda match: "".join(part if isinstance(part, str) else match.group(part) or "" for part in parts)


@lru_cache(1024)
def like_regex(pattern: str, escape: str = "\\") -> re.Pattern[str]:
    out, chars = [], iter(pattern)
    for char in chars:
        if char == escape:
            after = next(chars, None)
            if after not in ("%", "_", escape):
                raise ValueError(f"LIKE pattern '{pattern}' has '{escape}' before something other than % _ {escape}")
            out.append(re.escape(after))
        else:
            out.append({"%": ".*", "_": "."}.get(char) or re.escape(char))
    return re.compile("".join(out), re.DOTALL)


def like_form(pattern: str, escape: str = "\\") -> tuple[str, str] | None:
    """('equal' | 'startswith' | 'endswith' | 'contains', text) where a pattern is that simple."""
    body = pattern.strip("%")
    if escape in pattern or "_" in pattern or "%" in body:
        return None
    before, after = pattern.startswith("%"), pattern.endswith("%")
    if before and after:
        return "contains", body
    return ("endswith" if before else "startswith" if after else "equal"), body


def java_split(pattern: re.Pattern[str], text: str, limit: int) -> list[str]:
    """As Java's split with trailing empty strings kept."""
    parts: list[str] = []
    start = 0
    for match in pattern.finditer(text):
        if limit > 0 and len(parts) == limit - 1:
            break
        if match.end() == 0 or (match.end() == match.start() == len(text)):
            continue
        parts.append(text[start : match.start()])
        start = match.end()
    return [*parts, text[start:]]
