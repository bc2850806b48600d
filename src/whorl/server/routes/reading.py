"""The body of a submission, by its Content-Type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from whorl.errors import UsageError
from whorl.server.bodies import SubmitOrder
from whorl.server.bundles import MOST_BYTES, MOST_FILES, Submission
from whorl.server.uploads import submission, unpacked

_TEXT = {"type": "string"}
BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/json": {"schema": {"$ref": "#/components/schemas/SubmitOrder"}},
        "application/zip": {"schema": {"type": "string", "format": "binary"}},
        "application/yaml": {"schema": _TEXT},
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "properties": {
                    "file": {"type": "array", "items": {"type": "string", "format": "binary"}},
                    "name": _TEXT,
                    "profile": _TEXT,
                },
                "required": ["file"],
            }
        },
    },
}


@dataclass(frozen=True)
class Upload:
    submission: Submission
    name: str | None = None
    settings: tuple[str, ...] = ()
    profile: str | None = None


async def read(request: Request, file: str | None) -> Upload:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return await _form(request, file)
    body = await request.body()
    if kind in ("application/json", ""):
        return _json(body, file)
    if kind in ("application/zip", "application/x-zip-compressed"):
        return Upload(submission(unpacked(body), file))
    if kind in ("application/yaml", "application/x-yaml", "text/yaml", "text/plain"):
        return Upload(submission({file or "pipeline.yaml": body}, file))
    hint = "send application/json, application/zip, application/yaml or multipart/form-data"
    raise UsageError(f"a pipeline cannot be read from {kind[:100]}", hint=hint, code="media")


def _json(body: bytes, file: str | None) -> Upload:
    try:
        order = SubmitOrder.model_validate_json(body)
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, each['loc'])) or 'body'}: {each['msg']}" for each in error.errors()[:5]]
        hint = 'write {"file": "pipeline.yaml", "files": {"pipeline.yaml": "..."}}'
        raise UsageError("; ".join(wrong), hint=hint, code="request") from None
    files = {path: text.encode(errors="surrogatepass") for path, text in order.files.items()}
    return Upload(submission(files, file or order.file), order.name, tuple(order.settings), order.profile)


async def _form(request: Request, file: str | None) -> Upload:
    """Parts with a file name are files, zips among them are unpacked; `name`, `set` and `profile` are as in the query."""
    async with request.form(max_files=MOST_FILES, max_fields=200, max_part_size=1 << 20) as form:
        files = await _files(form)
        name, profile = _text(form, "name"), _text(form, "profile")
        sets = tuple(value for value in form.getlist("set") if isinstance(value, str))
    return Upload(submission(files, file), name, sets, profile)


def _text(form: FormData, field: str) -> str | None:
    return next((value for value in form.getlist(field) if isinstance(value, str)), None)


async def _files(form: FormData) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for part in (value for _, value in form.multi_items() if isinstance(value, UploadFile)):
        data, path = await part.read(MOST_BYTES + 1), part.filename or ""
        members = unpacked(data) if path.endswith(".zip") and data[:2] == b"PK" else {path: data}
        if twice := files.keys() & members.keys():
            raise UsageError(f"'{min(twice)}' is given twice", hint="give each file once", code="submission")
        files.update(members)
    return files
