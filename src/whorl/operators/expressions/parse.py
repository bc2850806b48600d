"""SQL text to a syntax tree, as Spark would parse it.

sqlglot would turn known functions into nodes of its own with other dialects' meaning; here every function stays a name with
arguments, so that what Spark calls it is what is compiled.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError

from whorl.operators.expressions.errors import ExpressionError


class _Subset(Spark):  # type: ignore[misc]
    class Parser(Spark.Parser):  # type: ignore[misc]
        FUNCTIONS: dict[str, Any] = {}
        NO_PAREN_FUNCTIONS: dict[Any, Any] = {}
        FUNCTION_PARSERS = {name: Spark.Parser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST")}


_ANSI_COLOR = re.compile(r"\x1b\[\d*m")


@lru_cache(1024)
def parse(sql: str) -> Any:
    """The tree of one expression, to be read only."""
    try:
        tree = sqlglot.parse_one(sql, dialect=_Subset)
    except ParseError as error:
        raise ExpressionError(_reason(sql, error)) from None
    except RecursionError:
        raise ExpressionError(
            "the expression is nested too deep", code="unsupported", hint="split it over two operators"
        ) from None
    except SqlglotError as error:
        raise ExpressionError(
            f"'{sql}' does not parse: {_first_line(error)}", hint="see that quotes are closed"
        ) from None
    if isinstance(tree, exp.Query | exp.Alias | exp.Block | exp.Tuple | exp.Star | exp.Command | exp.DDL):
        raise ExpressionError(f"'{sql}' is not an expression", hint="write one value, such as amount * 2")
    return tree


def _reason(sql: str, error: ParseError) -> str:
    found = error.errors[0] if error.errors else {}
    if not found.get("line"):
        return f"'{sql}' is empty" if not sql.strip() else f"'{sql}' does not parse: {_first_line(error)}"
    return f"'{sql}' does not parse at line {found['line']}, column {found['col']}: {_plain(found)}"


def _plain(found: dict[str, Any]) -> str:
    if "Required keyword" in found["description"]:
        return f"something is missing after '{found['highlight']}'"
    near = f" near '{found['highlight']}'" if found.get("highlight") else ""
    return f"{found['description'].rstrip('.').lower()}{near}"


def _first_line(error: BaseException) -> str:
    return _ANSI_COLOR.sub("", str(error)).split("\n")[0]
