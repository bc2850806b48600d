"""The operators that come with Whorl."""

from whorl.operators.builtin.add import Add
from whorl.operators.builtin.aggregate import Aggregate
from whorl.operators.builtin.average import Average
from whorl.operators.builtin.branch import Branch
from whorl.operators.builtin.count import Count
from whorl.operators.builtin.explode import Explode, FlatMap
from whorl.operators.builtin.expression import Cast, Filter, KeyBy, Map, Select
from whorl.operators.builtin.extremes import Max, Min
from whorl.operators.builtin.flatten import Flatten
from whorl.operators.builtin.graphs import ConnectedComponents, LabelPropagation, PageRank, Reachability, ShortestPaths
from whorl.operators.builtin.join import Join
from whorl.operators.builtin.latest import Latest
from whorl.operators.builtin.limit import Limit
from whorl.operators.builtin.mask import Mask
from whorl.operators.builtin.python import Python
from whorl.operators.builtin.reduce import Reduce
from whorl.operators.builtin.sample import Sample
from whorl.operators.builtin.sessions import Sessionize
from whorl.operators.builtin.simple import Drop, Fill, Forward, Rename, Union
from whorl.operators.builtin.sort import SortRows
from whorl.operators.builtin.sql import Sql
from whorl.operators.builtin.sums import Sum
from whorl.operators.builtin.unique import Deduplicate, Distinct
from whorl.operators.builtin.validate import Validate
from whorl.operators.operator import OperatorType

BUILTIN: tuple[type[OperatorType], ...] = (
    Forward, Add, Filter, Map, Select, Drop, Rename, Cast, Fill, Flatten, Explode, FlatMap, Mask, Sample, KeyBy, Branch, Union, Validate, Python,
    Sql, Aggregate, SortRows, Distinct, Deduplicate, Join, Count, Sum, Min, Max, Reduce,
    Average, Latest, Limit, Sessionize,
    ConnectedComponents, ShortestPaths, Reachability, PageRank, LabelPropagation,
)  # fmt: skip

__all__ = ["BUILTIN"]
