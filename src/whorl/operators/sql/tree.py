"""SQL statements as trees, in which every function keeps Spark's name for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError


class SparkText(Spark):  # type: ignore[misc]
    class Tokenizer(Spark.Tokenizer):  # type: ignore[misc]
        # `window` is a function here; as a word of its own it would not take `.start` behind it.
        KEYWORDS = {word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if word != "WINDOW"}

    class Parser(Spark.Parser):  # type: ignore[misc]
        FUNCTIONS: dict[str, Any] = {}
        NO_PAREN_FUNCTIONS: dict[Any, Any] = {}


AGGREGATES = {
    "any", "any_value", "approx_count_distinct", "approx_percentile", "approx_top_k", "avg", "bit_and", "bit_or", "bit_xor",
    "bool_and", "bool_or", "collect_list", "collect_set", "corr", "count", "count_if", "count_min_sketch", "covar_pop",
    "covar_samp", "every", "first", "first_value", "grouping", "grouping_id", "histogram_numeric", "kurtosis", "last",
    "last_value", "listagg", "max", "max_by", "mean", "measure", "median", "min", "min_by", "mode", "percentile",
    "percentile_approx", "percentile_cont", "percentile_disc", "skewness", "some", "std", "stddev", "stddev_pop",
    "stddev_samp", "sum", "try_avg", "try_sum", "var_pop", "var_samp", "variance",
}  # fmt: skip
_MORE_AGGREGATES = re.compile(r"\w+_agg(_\w+)?$|regr_\w+$|(hll|kll|theta|tuple)_\w+_agg\w*$")
GENERATORS = {
    "explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack", "json_tuple",
    "variant_explode", "variant_explode_outer",
}  # fmt: skip
WINDOWS = {"window", "session_window"}


@lru_cache(256)
def parsed(statement: str) -> Any:
    """The tree, to be read only; None where only Spark can read it."""
    try:
        trees = sqlglot.parse(statement, dialect=SparkText)
    except (SqlglotError, RecursionError):
        return None
    tree = trees[0] if len(trees) == 1 else None
    return tree if isinstance(tree, exp.Query | exp.Create) else None


def function_names(tree: Any) -> Iterator[str]:
    for node in tree.find_all(exp.Anonymous):
        yield str(node.this).lower()


def aggregates(tree: Any) -> bool:
    """Whether rows are brought together; an aggregate function over a window of rows (OVER) brings none together."""
    if tree.find(exp.Group, exp.Distinct):
        return True
    return any(is_aggregate(node) and not isinstance(node.parent, exp.Window) for node in tree.find_all(exp.Func))


def is_aggregate(node: Any) -> bool:
    if isinstance(node, exp.Anonymous):
        name = str(node.this).lower()
        return name in AGGREGATES or _MORE_AGGREGATES.match(name) is not None
    return isinstance(node, exp.AggFunc)


def windowed(tree: Any) -> bool:
    """Whether rows are brought together by windows of time."""
    grouped = [select for select in tree.find_all(exp.Select) if select.args.get("group")]
    return any(name in WINDOWS for select in grouped for name in function_names(select))


def looks_at_one_row(expression: str) -> bool:
    """Whether an expression makes a value of one row; one that only Spark can read is taken to."""
    tree = parsed(f"SELECT {expression}\n")
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1:
        return tree is None
    value = tree.expressions[0]
    several = value.find(exp.Window, exp.Query) or any(map(is_aggregate, value.find_all(exp.Func)))
    return not several and not any(name in GENERATORS for name in function_names(value))
