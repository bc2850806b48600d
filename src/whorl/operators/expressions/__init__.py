"""SQL expressions as Python functions: a subset of Spark's SQL, with equal results.

`compile_expression` turns text into the source of one Python function and compiles it: nothing is interpreted per row, null checks
stand inline, constants are computed once. The law: for every expression that compiles, and every row, the result is the one
that Spark 4.2 gives in ANSI mode (its default) with session time zone UTC, or both raise. What cannot keep it is refused. (Two
exceptions: Spark's optimizer may drop or reorder a part that would raise, as in `x / 0 = 1 OR true`; dates end with the year 9999 here.)

The subset: literals; columns, with backticks too, `a.b`, `a[0]`, `m['k']`; + - * / % div; = == != <> < <= > >= <=>; AND OR NOT;
IS [NOT] NULL, TRUE, FALSE; IS [NOT] DISTINCT FROM; [NOT] IN, BETWEEN, LIKE, ILIKE, RLIKE; CASE; CAST, TRY_CAST and `::`; `||`; and
the functions in `FUNCTIONS`. Regular expressions are constants. Functions whose value changes on replay (current_timestamp, rand,
uuid) are refused.

Values in rows: int and long are `int`, float and double `float`, decimal `Decimal`, timestamp an aware `datetime`, date `date`,
array `list`, map and struct `dict`. A column that is missing from a row is null. Where a column's type was never declared, it is
that of the value at hand (a whole number is a long, any other a double, and so is a literal such as 1.5 beside it), and the
expression is compiled once for each combination of types that turns up.
"""

from whorl.operators.expressions.compiler import Compiled
from whorl.operators.expressions.entry import CompiledRow, compile_expression, compile_row
from whorl.operators.expressions.errors import ExpressionError
from whorl.operators.expressions.registry import FUNCTIONS, Function

__all__ = ["FUNCTIONS", "Compiled", "CompiledRow", "ExpressionError", "Function", "compile_expression", "compile_row"]
