"""What a submitted pipeline is, found out in a process of its own: its code is imported there, never in the server.

python -m whorl.server.inspection FOLDER FILE < {"name": …, "settings": […], "profile": …}      prints `Inspected` as JSON
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from whorl.config.loader import Loaded, load
from whorl.errors import Finding, WorldError
from whorl.flow.check import examine
from whorl.plan.plan import Plan
from whorl.plan.planner import make_plan
from whorl.plan.structured import as_json
from whorl.server.bundles import Submission
from whorl.server.records import Inspected, Part
from whorl.server.schemas import FindingSaid, SettingSaid

_WITHIN = 120.0
_turns = threading.BoundedSemaphore(max(2, os.cpu_count() or 1))


def inspect(upload: Submission, name: str | None, settings: tuple[str, ...], profile: str | None = None) -> Inspected:
    asked = {"name": name, "settings": settings, "profile": profile}
    return Inspected.model_validate_json(in_process(__name__, upload, asked))


def in_process(module: str, upload: Submission, asked: dict[str, Any]) -> str:
    """What a module prints at last, called with the files in a folder of their own and what is asked on its standard input."""
    with tempfile.TemporaryDirectory(prefix="whorl-look-") as folder, _turns:
        for path, content in upload.files.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        command = [sys.executable, "-m", module, folder, upload.file]
        try:
            done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, timeout=_WITHIN)
        except subprocess.TimeoutExpired:
            hint = "code at the top of its modules runs when they are imported: it must end"
            raise WorldError(f"'{upload.file}' was not read within {_WITHIN:g} s", hint=hint, code="check") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise WorldError(
            f"'{upload.file}' could not be looked at: {last}", hint="try 'whorl check' on it", code="check"
        )
    return done.stdout.rpartition("\n\n")[2]


def look(folder: Path, file: str, name: str | None, settings: tuple[str, ...], profile: str | None) -> Inspected:
    os.chdir(folder)
    loaded = load(file, profile=profile, overrides=settings, name=name)
    graph, findings = examine(loaded)
    text = (folder / file).read_text("utf-8", "replace")
    if findings:
        return Inspected(pipeline=loaded.spec.name, findings=[_said(finding) for finding in findings], text=text)
    plan = make_plan(graph, loaded.settings)
    return Inspected(
        pipeline=plan.pipeline,
        plan=json.loads(as_json(plan)),
        parts=[*_parts(plan)],
        origins=[SettingSaid(name=name, value=value, where=where) for name, value, where in loaded.origins],
        settings=_plain(loaded),
        text=text,
    )


def _plain(loaded: Loaded) -> dict[str, Any]:
    return json.loads(json.dumps(loaded.settings.model_dump(mode="json")))  # type: ignore[no-any-return]


def _parts(plan: Plan) -> list[Part]:
    tasks = plan.settings.tasks or os.cpu_count() or 1
    return [
        Part(
            id=component.id,
            host=component.host.value,
            operators=[placed.node.id for placed in component.operators],
            slots=1 if component.is_query else tasks + component.standbys(plan.settings, tasks),
        )
        for component in plan.components
    ]


def _said(finding: Finding) -> FindingSaid:
    at = finding.at
    place = {"file": at.file, "line": at.line, "column": at.column} if at else {}
    return FindingSaid(code=finding.code, message=finding.message, hint=finding.hint, **place)


def main() -> None:
    folder, file = sys.argv[1:]
    asked = json.load(sys.stdin)
    found = look(Path(folder), file, asked["name"], tuple(asked["settings"]), asked["profile"])
    print("\n\n" + found.model_dump_json())


if __name__ == "__main__":
    main()
