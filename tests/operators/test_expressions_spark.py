"""The law of the subset: what compiles gives what Spark gives, on every row, or both raise.

Many expressions over many rows are one Spark job.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.errors import (
    ArithmeticException,
    ArrayIndexOutOfBoundsException,
    DateTimeException,
    NumberFormatException,
    SparkRuntimeException,
)
from pyspark.sql import DataFrame, SparkSession

from whorl.operators.expressions import ExpressionError, compile_expression
from whorl.schema import Schema

pytestmark = pytest.mark.spark

SCHEMA = Schema.of(
    {
        "i": "int", "j": "int", "l": "long", "f": "float", "d": "double", "e": "double", "s": "string", "u": "string",
        "b": "boolean", "c": "boolean", "t": "timestamp", "v": "timestamp", "dt": "date", "du": "date", "m": "decimal(10,2)",
        "n": "decimal(20,6)", "a": "array<int>", "w": "array<string>", "mp": "map<string,int>", "st": "struct<x:int,y:string>",
        "num": "string", "iso": "string",
    }
)  # fmt: skip
DDL = ", ".join(f"`{name}` {kind}" for name, kind in SCHEMA)


def moment(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


INTS = [0, 1, -1, 2, 5, -7, 10, 100, 2**31 - 1, -(2**31)]
LONGS = [*INTS, 2**40, -(2**40) - 3, 2**63 - 1, -(2**63)]
DOUBLES = [0.0, -0.0, 1.0, -1.5, 2.5, 0.1, 3.7, -2.25, 1e10, 1e-5, 123456.789, 1e300, math.nan, math.inf, -math.inf]
TEXTS = [
    "",
    "a",
    "abc",
    "ABC",
    " pad ",
    "x,y,,z",
    "a%b_c",
    "ünïcödé",
    "𝄞x",
    "5",
    "-12",
    "3.5",
    "true",
    "line\nbreak",
    "aXbXc",
]
NUMBERS = [
    "5",
    " -12 ",
    "+7",
    "3.5",
    "1e3",
    "",
    "abc",
    "99999999999",
    "NaN",
    "inf",
    ".5",
    "5.",
    "1_0",
    "0x1",
    "1d",
    "true",
    "n",
]
WHENS = [
    "2024-01-31", "2024-1-5", "2024", "2024-02", "2024-02-30", "2024-01-31 12:34:56", "2024-01-31T12:34:56.789Z",
    "2024-01-31 12:34", "2024-01-31T01:02:03+02:00", "2024-01-31 1:2:3.1234567", "x", "", "2024-01-31 25:00:00",
    "2024-01-31T", "2024-01-31 12", "2024-01-31 01:02:03 UTC", "2024-01-31 01:02:03 Europe/Berlin", "24-01-01",
    "2024-01-31 01:02:03.", "2024-01-31 01:02:03+0200", "2024-01-31 01:02:03+2", "2024-01-31abc", "2024-01-31 abc",
]  # fmt: skip
MOMENTS = [
    moment(2024, 2, 29, 23, 59, 59, 999999),
    moment(1969, 12, 31, 23, 59, 59, 500000),
    moment(1970, 1, 1),
    moment(2024, 1, 1, 5, 6, 7),
]
DAYS = [date(2024, 2, 29), date(1970, 1, 1), date(1969, 12, 31), date(2024, 12, 30), date(1900, 3, 1)]
POOLS: dict[str, list[Any]] = {
    "int": INTS, "long": LONGS, "float": [0.0, 1.5, -2.25, 0.5, 1e10, math.nan, math.inf], "double": DOUBLES, "string": TEXTS,
    "boolean": [True, False], "timestamp": MOMENTS, "date": DAYS,
    "decimal(10,2)": [Decimal("0.00"), Decimal("1.25"), Decimal("-3.50"), Decimal("99999999.99"), Decimal("10.00")],
    "decimal(20,6)": [Decimal("0.000001"), Decimal("12345678901234.654321"), Decimal("-2.500000"), Decimal("7.000000")],
    "array<int>": [[], [1, 2, 3], [None, 5], [7, None, 1]], "array<string>": [[], ["a", None, "b"], ["x"]],
    "map<string,int>": [{}, {"k": 1}, {"k": None, "z": 3}], "struct<x:int,y:string>": [{"x": 1, "y": "q"}, {"x": None, "y": None}],
}  # fmt: skip


def pool(name: str, kind: str) -> list[Any]:
    return {"num": NUMBERS, "iso": WHENS}.get(name) or POOLS[kind]


ROW = st.fixed_dictionaries({name: st.sampled_from([*pool(name, kind), None]) for name, kind in SCHEMA})


def every_value() -> list[dict[str, Any]]:
    """Rows that hold each value of each pool at least once, and nulls."""
    longest = max(len(pool(name, kind)) for name, kind in SCHEMA) + 1
    columns = {name: [*pool(name, kind), None] for name, kind in SCHEMA}
    return [
        {name: values[(index * 7 + at) % len(values)] for at, (name, values) in enumerate(columns.items())}
        for index in range(longest * 2)
    ]


# Compiling so many expressions to Java would take most of the time, parts that several share would be computed unasked, and
# 2 * (l * l) * 0 taken as 2 * 0 * l * l does not overflow.
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.subexpressionElimination.enabled": "false",
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ReorderAssociativeOperator",
}


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[SparkSession]:
    before = {name: spark.conf.get(name, None) for name in INTERPRETED}
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


RAISED = "raised"


def ours(function: Any, row: dict[str, Any]) -> Any:
    try:
        return function(row)
    except (ValueError, ArithmeticError, LookupError):
        return RAISED


def plain(value: Any) -> Any:
    """Spark's answer in the form that rows have."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if hasattr(value, "asDict"):
        return {name: plain(each) for name, each in value.asDict().items()}
    if isinstance(value, bytearray):
        return bytes(value)
    return [plain(each) for each in value] if isinstance(value, list) else value


def equal(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (left != left and right != right) or math.isclose(left, right, rel_tol=1e-13)
    return type(left) is type(right) and left == right


def spark_type(kind: str) -> str:
    return kind.replace("bigint", "long").replace("void", "unknown")


def local(frame: DataFrame) -> DataFrame:
    """The same rows as a local relation, which Spark's optimizer computes on the spot: no job for each question."""
    session = frame.sparkSession
    return DataFrame(session._jsparkSession.createDataFrame(frame._jdf.collectAsList(), frame._jdf.schema()), session)


def assert_same(spark: SparkSession, sqls: list[str], rows: list[dict[str, Any]]) -> None:
    """Where ours gives a value, Spark gives the same (one job for all); where ours raises, so does Spark (a row each)."""
    compiled = [compile_expression(sql, SCHEMA) for sql in sqls]
    found = [[ours(each.function, row) for each in compiled] for row in rows]
    data = [
        (at, [value is not RAISED for value in found[at]], *(row[name] for name in SCHEMA.names))
        for at, row in enumerate(rows)
    ]
    frame = local(spark.createDataFrame(data, f"at int, fine array<boolean>, {DDL}"))
    picked = frame.selectExpr(*(f"case when fine[{at}] then ({sql}) end as x{at}" for at, sql in enumerate(sqls)))
    differences = [
        f"{each.sql}: type {each.type}, in Spark {field.dataType.simpleString()}"
        for each, field in zip(compiled, picked.schema, strict=True)
        if each.type != spark_type(field.dataType.simpleString())
    ]
    for row, values, answers in zip(rows, found, picked.collect(), strict=True):
        for each, value, answer in zip(compiled, values, answers, strict=True):
            if value is not RAISED and not equal(value, plain(answer)):
                used = {name: row[name] for name in each.columns}
                differences.append(f"{each.sql} on {used}: {value!r}, in Spark {plain(answer)!r}")
    differences += raised_by_us_alone(frame, sqls, found)
    assert not differences, "\n" + "\n".join(differences)


def raised_by_us_alone(frame: DataFrame, sqls: list[str], found: list[list[Any]]) -> list[str]:
    """One row of each expression that raises."""
    differences = []
    for column, sql in enumerate(sqls):
        at = next((at for at, values in enumerate(found) if values[column] is RAISED), None)
        if at is None:
            continue
        try:
            answer = frame.where(f"at = {at}").selectExpr(sql).collect()[0][0]
            differences.append(f"{sql}: ours raises on row {at}, Spark gives {answer!r}")
        except (
            ArithmeticException,
            DateTimeException,
            NumberFormatException,
            ArrayIndexOutOfBoundsException,
            SparkRuntimeException,
        ):
            continue
        except (ValueError, OverflowError):
            continue  # a date before the year 1 or after 9999, which Python does not hold
    return differences


ONE_BY_ONE = """
i + j; i - j; i * j; i / j; i % j; i div j; l + i; l * l; l - 1; l % 10; l % -3; l div i; -i; -l; -d; i + 1.5; l * 1.5; i / 1.5; i % 1.5
d + e; d * e; d - i; d / e; d % e; f + f; f * 2; f * d; f / f; f + i; f * 1.5; d * 1.5; num + 1; num * 2.5; num + d; -num; 1 + num
m + n; m - n; m * n; m / n; m % n; m + i; m * 2; m / 3; m div 2; n * n; m + d; n / m; m * 1.5; -m; m % 1.5; n + 0.0000001; l / m; l + m
dt + 1; 1 + dt; dt - 1; dt + i; 2147483647 + i; 9223372036854775807 + i; -9223372036854775808 - i; 3000000000 + i; 1e3 + i; 1.5D * i; 2L * i
i = j; i <> j; i < l; i <= 5; d > 1; d >= e; d < e; d <= e; d = e; d != e; d > i; l > d; l = d; m > 1.25; m = i; m < d; s = u; s < u; s >= 'a'
num > 3; num = d; num = 5; b = c; b > c; t < v; dt = t; dt < '2024-01-01'; t >= '2024-01-01'; s <=> u; d <=> e; i <=> null; b <=> c; b = 'true'
b and c; b or c; not b; b and i > 0; b or i / 0 > 1; i > 0 and l > 0 and d > 0; i > 0 or l > 0 or d > 0; null and b; null or b; not null
i is null; i is not null; b is true; b is not false; i is distinct from j; i is not distinct from j; i + 1 is null; !b; not i = j
i in (1, 2, 5); i not in (1, null); s in ('a', 'abc'); d in (1.0, 2.5); i in (1, j); num in (5, 7); m in (1.25, 10); d in (cast('NaN' as double), 1)
i between 1 and 10; d between i and 100; s between 'a' and 'b'; i not between j and l; i + 1 between 0 and 5; t between '2024-01-01' and v
s like 'a%'; s like '%b%'; s like '%c'; s like 'abc'; s like '_b_'; s like 'a\\%b\\_c'; s ilike 'AB%'; s not like 'a%'; s like u; s like 'a!%b%' escape '!'
s like '%'; s like ''; s like '%%a%'; s rlike 'b'; s rlike '^a.c$'; s rlike '[0-9]+'; s rlike '(?i)ABC'; s not rlike 'x|y'; s rlike '\\\\d+'; s rlike '\\\\w+$'
case when i > 0 then 'p' when i < 0 then 'n' else 'z' end; case when b then i end; case i when 1 then 'one' when 5 then 'five' end; case when b then 1 else 2.5 end
case when b then i else l end; case when b then null else d end; case i + 1 when 2 then 1 else 0 end; case num when 5 then 'y' else 'n' end; case when b then dt else t end
if(b, i, j); if(b, 1, 2.5); if(i > 0, s, u); coalesce(i, j, 0); coalesce(i, l); coalesce(s, u, 'none'); coalesce(m, i); coalesce(null, d); coalesce(f, i); coalesce(dt, t)
nvl(i, 0); ifnull(s, 'x'); nullif(i, j); nullif(s, 'a'); nullif(i, '5'); nullif(i + 1, 2); greatest(i, j); greatest(d, e, 0); least(i, l); least(d, e); greatest(dt, du)
cast(num as int); cast(num as long); cast(num as double); cast(num as float); cast(num as boolean); cast(num as decimal(5,1)); cast(iso as date); cast(iso as timestamp)
try_cast(num as int); try_cast(num as double); try_cast(num as decimal(5,1)); try_cast(iso as date); try_cast(iso as timestamp); try_cast(l as int); try_cast(d as int)
cast(i as string); cast(l as string); cast(d as string); cast(f as string); cast(b as string); cast(t as string); cast(dt as string); cast(m as string); cast(n as string)
cast(l as int); cast(d as int); cast(d as long); cast(m as int); cast(n as long); cast(d as decimal(10,2)); cast(i as decimal(3,0)); cast(m as decimal(5,1)); cast(i as boolean)
cast(b as int); cast(d as boolean); cast(m as double); cast(m as float); cast(d as float); cast(l as double); cast(b as double); cast(b as decimal(3,1)); cast(s as binary); cast(cast(s as binary) as string)
cast(t as date); cast(dt as timestamp); cast(t as long); cast(t as double); cast(i as timestamp); cast(m as timestamp); cast(t as int); i::string; cast(null as int)
abs(i); abs(l); abs(d); abs(m); abs(num); ceil(d); ceil(m); ceil(i); floor(d); floor(n); floor(l); floor(f); round(d); round(d, 2); round(d, -1); round(m); round(m, 1); round(n, 3)
round(m, -1); round(i, -1); round(l, -2); round(f, 1); round(2.5); round(m, 5); sqrt(i); sqrt(d); pow(i, 2); pow(d, e); power(2, i); exp(i); exp(d); ln(i); ln(d); log10(i); log(i); log(2, i); log(d, e)
sign(i); sign(d); signum(m); mod(i, j); negative(i); length(s); length(i); length(cast(s as binary)); char_length(u); upper(s); lower(s); ucase(u); trim(s); ltrim(s); rtrim(s); upper(i)
substring(s, 2); substring(s, 1, 2); substring(s, -2); substring(s, -5, 3); substring(s, 0, 1); substring(s, i, 2); substr(s, 2, i); substring(s, 2, -1); concat(s, u); concat(i, b, m); concat(s); concat()
concat(d, t, dt); s || u; s || i || b; concat_ws(',', s, u); concat_ws('-', w, s); concat_ws(s, 'a', 'b'); concat_ws(',', i, null, d); replace(s, 'a', 'b'); replace(s, ''); replace(s, 'b'); replace(s, u, 'x')
split(s, ','); split(s, ''); split(s, '[,X]'); split(s, ',', 2); split(s, 'X', -1); split(s, '(a)|b'); contains(s, u); contains(s, 'b'); startswith(s, 'a'); endswith(s, u); startswith(i, 1)
lpad(s, 5, 'xy'); lpad(s, 2); rpad(s, 6, u); rpad(s, i % 5, '*'); lpad(s, 4, ''); reverse(s); reverse(a); reverse(i); regexp_replace(s, '[aX]', '-'); regexp_replace(s, '(b)', '<$1>'); regexp_replace(s, 'b+', '_')
regexp_extract(s, '([a-z])([A-Z])?', 1); regexp_extract(s, '([a-z])([A-Z])?', 2); regexp_extract(s, '([0-9]+)'); regexp_extract(s, 'b', 0); instr(s, 'b'); instr(s, ''); locate('b', s); locate('c', s, 2); locate('', s, 0); locate(u, s, i)
md5(s); sha2(s, 256); sha2(s, 512); sha2(s, 224); sha2(s, 0); sha2(s, 7); size(a); size(mp); element_at(a, 1); element_at(a, -1); element_at(a, i); element_at(mp, 'k'); element_at(mp, s)
a[0]; a[i]; a[1] + 1; w[0]; mp['k']; mp['nope']; mp[s]; st.x; st.y; st['x']; st.x + i; array(i, j); array(i, l); array(1, 2.5); array(s, null); array_contains(a, 1); array_contains(a, i); array_contains(w, s)
array_contains(array(1, 2), i); array_contains(a, l); struct(i, s); struct(i + 1, s as q); named_struct('p', i, 'q', st.y); named_struct('p', struct(i)); struct(i, st.x as z).z; split(s, ',')[0]
year(t); month(dt); day(t); year(dt); hour(t); minute(t); second(t); hour(dt); year(iso); hour(iso); dayofmonth(du); date_trunc('year', t); date_trunc('quarter', t); date_trunc('month', t); date_trunc('week', t)
date_trunc('day', t); date_trunc('HOUR', t); date_trunc('minute', t); date_trunc('second', t); date_trunc('millisecond', t); date_trunc('nonsense', t); date_trunc('week', dt); date_trunc('day', iso)
to_timestamp(iso); to_timestamp(dt); to_timestamp(i); to_timestamp(m); to_date(iso); to_date(t); unix_timestamp(t); unix_timestamp(dt); date_add(dt, 1); date_add(dt, j % 1000); date_add(t, 1); date_sub(dt, 30); date_add(iso, 1)
datediff(dt, du); datediff(t, dt); datediff(iso, dt); isnull(i); isnotnull(s); date '2024-01-01' > dt; timestamp '2024-01-01 00:00:00' > t; `i` + `j`; I + J; null; 'text'; 1.5; -1.5; true; 12345678901234567890; 'a\\'b'; "q"
""".replace("\n", ";")
EXAMPLES = [sql.strip() for sql in ONE_BY_ONE.split(";") if sql.strip()]


def test_every_construct_as_in_spark(interpreted: SparkSession) -> None:
    assert_same(interpreted, EXAMPLES, every_value())


TEMPLATES: dict[str, list[str]] = {
    "int": [
        "i", "j", "3", "-2", "({int} + {int})", "({int} - {int})", "({int} * {int})", "({int} % {int})", "abs({int})", "length({text})",
        "coalesce({int}, {int})", "if({bool}, {int}, {int})", "case when {bool} then {int} else {int} end", "nullif({int}, {int})",
        "instr({text}, {text})", "year({day})", "datediff({day}, {day})", "size(a)", "st.x", "mp['k']", "greatest({int}, {int})", "cast({bool} as int)",
    ],
    "long": ["l", "({long} + {int})", "({long} * {long})", "({int} div {int})", "floor({real})", "({long} % {long})", "coalesce({long}, {int})", "unix_timestamp({time})"],
    "real": [
        "d", "e", "2.5D", "({real} + {real})", "({real} * {real})", "({real} - {num})", "({num} / {real})", "({int} / {int})", "({real} % {real})",
        "round({real}, 1)", "sqrt({num})", "coalesce({real}, {num})", "least({real}, {real})", "case when {bool} then {real} end",
    ],
    "dec": ["m", "n", "1.5", "0.25", "({dec} + {dec})", "({dec} * {int})", "({dec} - {dec})", "({dec} / {dec})", "round({dec}, 1)", "coalesce({dec}, {int})", "abs({dec})"],
    "num": ["{int}", "{long}", "{real}", "{dec}"],
    "text": [
        "s", "u", "'abc'", "''", "upper({text})", "lower({text})", "trim({text})", "({text} || {text})", "concat({text}, {int})",
        "substring({text}, {int}, {int})", "replace({text}, {text}, {text})", "coalesce({text}, {text})", "cast({int} as string)", "cast({bool} as string)",
        "cast({dec} as string)", "cast({day} as string)", "cast({time} as string)", "lpad({text}, 6, {text})", "reverse({text})", "if({bool}, {text}, {text})",
        "concat_ws({text}, {text}, {int})", "st.y", "regexp_replace({text}, '[a-c]', '#')", "split({text}, 'X')[0]", "md5({text})",
    ],
    "bool": [
        "b", "c", "true", "({num} > {num})", "({num} = {num})", "({num} <= {num})", "({num} <=> {num})", "({bool} and {bool})", "({bool} or {bool})", "(not {bool})",
        "({num} is null)", "({text} = {text})", "({text} < {text})", "({int} in ({int}, 5, null))", "({num} between {num} and {num})", "({text} like 'a%')",
        "({text} rlike '[a-c]')", "contains({text}, {text})", "({time} < {time})", "({day} >= {day})", "array_contains(a, {int})", "({text} in ('a', {text}))",
    ],
    "day": ["dt", "du", "date '2024-03-10'", "date_add({day}, 40)", "date_sub({day}, 7)", "cast({time} as date)", "coalesce({day}, {day})"],
    "time": ["t", "v", "date_trunc('hour', {time})", "date_trunc('week', {time})", "cast({day} as timestamp)", "if({bool}, {time}, {time})"],
}  # fmt: skip


@st.composite
def expressions(draw: st.DrawFn, kind: str, depth: int = 4) -> str:
    choices = TEMPLATES[kind] if depth > 0 else [each for each in TEMPLATES[kind] if "{" not in each] or TEMPLATES[kind]
    template = draw(st.sampled_from(choices))
    while "{" in template:
        start, end = template.index("{"), template.index("}")
        template = template[:start] + draw(expressions(template[start + 1 : end], depth - 1)) + template[end + 1 :]
    return template


ANY = st.sampled_from(sorted(TEMPLATES)).flatmap(expressions)


@settings(
    max_examples=4, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(sqls=st.lists(ANY, min_size=40, max_size=40), rows=st.lists(ROW, min_size=15, max_size=15))
def test_nested_expressions_as_in_spark(interpreted: SparkSession, sqls: list[str], rows: list[dict[str, Any]]) -> None:
    compiled = [sql for sql in dict.fromkeys(sqls) if _compiles(sql)]
    assert len(compiled) > len(set(sqls)) * 0.9
    assert_same(interpreted, compiled, rows)


def _compiles(sql: str) -> bool:
    try:
        compile_expression(sql, SCHEMA)
    except ExpressionError:
        return False
    return True
