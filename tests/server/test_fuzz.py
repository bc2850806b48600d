"""Requests made from the API's own schema, right ones and wrong ones: none may fail the server, and all answers keep to the schema."""

from __future__ import annotations

import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.server.fake import FakeServer, submission

from whorl.server.api import make_api


@schemathesis.serializer("application/zip")
def _as_it_is(context: object, value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


_server = FakeServer()
for _name in ("totals", "more"):
    _server.submit(submission(_name))
_schema = schemathesis.openapi.from_asgi("/openapi.json", make_api(_server, hosts=()))
_CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@_schema.parametrize()
@settings(
    max_examples=5,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
def test_no_request_fails_the_server(case: Case) -> None:
    if "wait" in (case.query or {}):
        case.query["wait"] = 0
    for name in ("id", "operator"):
        if case.path_parameters and name in case.path_parameters and len(case.path_parameters[name]) % 2:
            case.path_parameters[name] = {"id": "totals", "operator": "total"}[name]
    case.call_and_validate(checks=_CHECKS)
