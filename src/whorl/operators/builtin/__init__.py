"""The operators that come with Whorl."""

from whorl.operators.builtin.expression import Branch, Cast, Filter, FlatMap, KeyBy, Map, Select
from whorl.operators.builtin.python import Python
from whorl.operators.builtin.simple import Add, Drop, Fill, Forward, Rename, Union
from whorl.operators.operator import OperatorType

BUILTIN: tuple[type[OperatorType], ...] = (
    Forward, Add, Filter, Map, Select, Drop, Rename, Cast, Fill, FlatMap, KeyBy, Branch, Union, Python,
)  # fmt: skip

__all__ = ["BUILTIN"]
