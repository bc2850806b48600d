"""What operators keep by key, and tables."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from whorl.server.routes.common import PROBLEMS, VIEWER, Id, Service
from whorl.server.schemas import StateEntry, TableName, TablePage

router = APIRouter(tags=["state"], dependencies=VIEWER, responses=PROBLEMS)
Operator = Annotated[str, Path(min_length=1, max_length=200, description="its id in the pipeline")]
Key = Annotated[str, Path(min_length=1, max_length=10_000, description="text, or JSON as `whorl state get` takes it")]
Topic = Annotated[str, Path(min_length=1, max_length=249)]
Limit = Annotated[int, Query(ge=1, le=10_000)]
Offset = Annotated[int, Query(ge=0, le=2**62, description="rows to leave out at the beginning")]
Sort = Annotated[
    str, Query(max_length=200, description="a column, `-column` for the largest first; default: as keys came")
]


@router.get("/jobs/{id}/state/{operator}")
def entries(id: Id, operator: Operator, service: Service, limit: Limit = 100) -> list[StateEntry]:
    """The first entries that there are, in no particular order."""
    return service.state(id, operator, None, limit)


@router.get("/jobs/{id}/state/{operator}/{key:path}")
def entry(id: Id, operator: Operator, key: Key, service: Service) -> list[StateEntry]:
    """All that an operator keeps for a key."""
    return service.state(id, operator, key, 1000)


@router.get("/tables")
def tables(service: Service) -> list[TableName]:
    """The topics in which jobs keep the newest row of each key: those of sinks with a key, and of `publish`."""
    return service.tables()


@router.get("/tables/{topic}")
def table_page(topic: Topic, service: Service, limit: Limit = 100, offset: Offset = 0, sort: Sort = "") -> TablePage:
    """The newest values of the keys of a topic, as committed. The server keeps them current, so it may be asked again and again."""
    return service.table_page(topic, limit, offset, sort)


@router.get("/tables/{topic}/{key:path}")
def table(topic: Topic, key: Key, service: Service) -> StateEntry:
    """The newest value of a key in a compacted topic, such as one that `publish` fills."""
    return service.table(topic, key)
