"""Functions on strings. Positions count from 1; characters are Unicode code points."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import whorl.operators.expressions.patterns as patterns
from whorl.operators.expressions.errors import ExpressionError
from whorl.operators.expressions.registry import implicit, plain, register
from whorl.operators.expressions.types import UNKNOWN, VOID, element_type
from whorl.operators.expressions.value import Emitter, Value, null

_SHA2: dict[int, Callable[[bytes], Any]] = {
    0: hashlib.sha256, 224: hashlib.sha224, 256: hashlib.sha256, 384: hashlib.sha384, 512: hashlib.sha512,
}  # fmt: skip


def _substring(text: str, position: int, length: int = 2**31 - 1) -> str:
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + length, 0)]


def _replace(text: str, search: str, replacement: str = "") -> str:
    return text.replace(search, replacement) if search else text


def _locate(search: str, text: str, position: int = 1) -> int:
    return text.find(search, position - 1) + 1 if position > 0 else 0


def _padding(text: str, length: int, pad: str) -> str:
    missing = length - len(text)
    return (pad * (missing // len(pad) + 1))[:missing] if missing > 0 and pad else ""


def _lpad(text: str, length: int, pad: str = " ") -> str:
    return (_padding(text, length, pad) + text)[: max(length, 0)]


def _rpad(text: str, length: int, pad: str = " ") -> str:
    return (text + _padding(text, length, pad))[: max(length, 0)]


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _sha2(data: bytes, bits: int) -> str | None:
    return _SHA2[bits](data).hexdigest() if bits in _SHA2 else None


plain("upper(text) -> string", "In capitals.", "{}.upper()", ["string"], "string", aliases=["ucase"])
plain("lower(text) -> string", "In small letters.", "{}.lower()", ["string"], "string", aliases=["lcase"])
plain("trim(text) -> string", "Without spaces at both ends.", "{}.strip(' ')", ["string"], "string", aliases=["btrim"])
plain("ltrim(text) -> string", "Without spaces at the start.", "{}.lstrip(' ')", ["string"], "string")
plain("rtrim(text) -> string", "Without spaces at the end.", "{}.rstrip(' ')", ["string"], "string")
plain(
    "substring(text, position[, length]) -> string", "From a position on; a negative one counts from the end.",
    _substring, ["string", "int", "int"], "string", least=2, aliases=["substr"],
)  # fmt: skip
plain(
    "replace(text, search[, replacement]) -> string", "Every occurrence replaced.",
    _replace, ["string", "string", "string"], "string", least=2,
)  # fmt: skip
plain("contains(text, search) -> boolean", "Whether it occurs.", "{1} in {0}", ["string", "string"], "boolean")
plain(
    "startswith(text, search) -> boolean", "Whether it begins so.", "{}.startswith({})", ["string", "string"], "boolean"
)
plain("endswith(text, search) -> boolean", "Whether it ends so.", "{}.endswith({})", ["string", "string"], "boolean")
plain(
    "lpad(text, length[, pad]) -> string", "Filled up at the start, or cut, to a length.",
    _lpad, ["string", "int", "string"], "string", least=2,
)  # fmt: skip
plain(
    "rpad(text, length[, pad]) -> string", "Filled up at the end, or cut, to a length.",
    _rpad, ["string", "int", "string"], "string", least=2,
)  # fmt: skip
plain(
    "instr(text, search) -> int", "Where it first occurs; 0 if nowhere.", "{}.find({}) + 1", ["string", "string"], "int"
)
plain("md5(data) -> string", "MD5 in hexadecimal.", _md5, ["binary"], "string")
plain(
    "sha2(data, bits) -> string",
    "SHA-224, 256, 384 or 512 in hexadecimal.",
    _sha2,
    ["binary", "int"],
    "string",
    nullable=True,
)


@register("locate(search, text[, position]) -> int", "Where it first occurs from a position on; 0 if nowhere.", 2, 3)
def _build_locate(emitter: Emitter, args: Sequence[Value]) -> Value:
    given = [
        implicit(emitter, arg, param, "locate") for arg, param in zip(args, ("string", "string", "int"), strict=False)
    ]
    if len(given) == 2 or not given[2].nullable:
        return emitter.call(_locate, given, "int")
    # Only here a null argument is not a null result: no position is position 0.
    code, position = emitter.bind(given[2])
    found = emitter.call(_locate, [*given[:2], replace(position, nullable=False)], "int")
    return Value(f"(0 if {code} is None else {found.code})", "int")


@register("length(text) -> int", "Number of characters, or of bytes.", 1, aliases=["char_length", "len"])
def _length(emitter: Emitter, args: Sequence[Value]) -> Value:
    value = args[0] if args[0].type == "binary" else implicit(emitter, args[0], "string", "length")
    return emitter.apply([value], "len({})".format, "int")


@register("concat(value, …) -> string", "One after the other; null if any is null.", 0, None)
def concat(emitter: Emitter, args: Sequence[Value]) -> Value:
    if any(arg.type == "binary" or arg.type.startswith("array") for arg in args):
        raise ExpressionError("concat takes strings here, not binaries or arrays", code="unsupported")
    texts = [implicit(emitter, arg, "string", "concat") for arg in args]
    if not texts:
        return emitter.literal("", "string")
    if all(text.simple for text in texts[1:]):
        return emitter.apply(texts, lambda *codes: " + ".join(codes), "string")
    # Spark computes all parts before it looks for a null, so an error behind a null is an error.
    return emitter.call_with_nulls(_joined, texts, "string", nullable=any(text.nullable for text in texts))


def _joined(*parts: str | None) -> str | None:
    return None if None in parts else "".join(parts)  # type: ignore[arg-type]


@register("concat_ws(separator, value, …) -> string", "Joined by a separator; nulls are left out.", 1, None)
def _concat_ws(emitter: Emitter, args: Sequence[Value]) -> Value:
    separator = implicit(emitter, args[0], "string", "concat_ws")
    parts = [_joinable(emitter, arg) for arg in args[1:]]
    return emitter.call_with_nulls(_join, [separator, *parts], "string", nullable=separator.nullable)


def _joinable(emitter: Emitter, value: Value) -> Value:
    if value.type.startswith("array<"):
        if element_type(value.type) not in ("string", VOID):
            raise ExpressionError(f"concat_ws does not take {value.type} here", code="unsupported")
        return value
    return implicit(emitter, value, "string", "concat_ws")


def _join(separator: str | None, *parts: str | list[str | None] | None) -> str | None:
    if separator is None:
        return None
    flat = (each for part in parts for each in (part if isinstance(part, list) else (part,)))
    return separator.join(each for each in flat if each is not None)


@register("reverse(value) -> same type", "A string or an array from its end.", 1)
def _reverse(emitter: Emitter, args: Sequence[Value]) -> Value:
    value = args[0] if args[0].type.startswith("array<") else implicit(emitter, args[0], "string", "reverse")
    return emitter.apply([value], "{}[::-1]".format, value.type)


def regex_of(value: Value, what: str) -> re.Pattern[str]:
    """The compiled pattern of a constant argument."""
    if not value.is_constant or not isinstance(value.constant, str):
        raise ExpressionError(f"{what} needs a constant pattern", code="unsupported")
    try:
        return patterns.java_regex(value.constant)
    except patterns.UnsupportedPattern as construct:
        raise ExpressionError(f"{what} does not know '{construct}' in '{value.constant}'", code="unsupported") from None
    except ValueError as error:
        raise ExpressionError(str(error), code="expression") from None


@register("split(text, pattern[, limit]) -> array<string>", "Parts between matches of a regular expression.", 2, 3)
def _split(emitter: Emitter, args: Sequence[Value]) -> Value:
    text = implicit(emitter, args[0], "string", "split")
    regex = regex_of(args[1], "split")
    limit = args[2].constant if len(args) == 3 else -1
    if not isinstance(limit, int):
        raise ExpressionError("split needs a constant limit", code="unsupported")
    literal = args[1].constant
    if limit <= 0 and literal and re.escape(literal) == literal:
        return emitter.apply([text], f"{{}}.split({args[1].code})".format, "array<string>")
    return emitter.call(lambda value: patterns.java_split(regex, value, limit), [text], "array<string>")


@register("regexp_replace(text, pattern, replacement) -> string", "Matches replaced; $1 is a group.", 3)
def _regexp_replace(emitter: Emitter, args: Sequence[Value]) -> Value:
    regex = regex_of(args[1], "regexp_replace")
    if regex.match(""):
        raise ExpressionError(
            f"regexp_replace does not take '{args[1].constant}', which matches nothing at all", code="unsupported"
        )
    if not isinstance(args[2].constant, str):
        raise ExpressionError("regexp_replace needs a constant replacement", code="unsupported")
    try:
        replacement = patterns.java_replacement(regex, args[2].constant)
    except ValueError as error:
        raise ExpressionError(str(error), code="expression") from None
    return emitter.call(
        partial(regex.sub, replacement), [implicit(emitter, args[0], "string", "regexp_replace")], "string"
    )


@register("regexp_extract(text, pattern[, group]) -> string", "A group (1) of the first match; empty if none.", 2, 3)
def _regexp_extract(emitter: Emitter, args: Sequence[Value]) -> Value:
    search = regex_of(args[1], "regexp_extract").search
    group = args[2].constant if len(args) == 3 else 1
    if not isinstance(group, int) or not 0 <= group <= regex_of(args[1], "regexp_extract").groups:
        raise ExpressionError(
            f"'{args[1].constant}' has no such group", code="unsupported", hint="write the pattern with a group"
        )

    def extract(text: str) -> str:
        match = search(text)
        return (match.group(group) or "") if match else ""

    return emitter.call(extract, [implicit(emitter, args[0], "string", "regexp_extract")], "string")


def rlike(emitter: Emitter, value: Value, pattern: Value) -> Value:
    if pattern.type == VOID or (pattern.is_constant and pattern.constant is None):
        return null("boolean")
    search = emitter.pooled(regex_of(pattern, "RLIKE").search)
    return emitter.apply([implicit(emitter, value, "string", "RLIKE")], f"{search}({{}}) is not None".format, "boolean")


def like(emitter: Emitter, value: Value, pattern: Value, *, escape: str = "\\", ignore_case: bool = False) -> Value:
    if UNKNOWN in (value.type, pattern.type):
        return Value("None", "boolean")
    value, pattern = implicit(emitter, value, "string", "LIKE"), implicit(emitter, pattern, "string", "LIKE")
    if ignore_case:
        value, pattern = (emitter.apply([each], "{}.lower()".format, "string") for each in (value, pattern))
    if not pattern.is_constant or pattern.constant is None:
        return emitter.call(
            lambda text, like: patterns.like_regex(like, escape).fullmatch(text) is not None,
            [value, pattern],
            "boolean",
        )
    return _like_constant(emitter, value, str(pattern.constant), escape)


def _like_constant(emitter: Emitter, value: Value, pattern: str, escape: str) -> Value:
    form, text = patterns.like_form(pattern, escape) or ("", "")
    templates = {
        "equal": "{} == {!r}",
        "contains": "{1!r} in {0}",
        "startswith": "{}.startswith({!r})",
        "endswith": "{}.endswith({!r})",
    }
    if form:
        return emitter.apply([value], lambda code: templates[form].format(code, text), "boolean")
    try:
        match = emitter.pooled(patterns.like_regex(pattern, escape).fullmatch)
    except ValueError as error:
        raise ExpressionError(str(error)) from None
    return emitter.apply([value], f"{match}({{}}) is not None".format, "boolean")
