"""An order to a pipeline that does not run, carried out in a process of its own: the server has no Spark.

python -m whorl.manager.aside < {"pipeline": …, "settings": {…}, "order": "savepoint" | "rescale" | "foresee", …}      prints JSON
"""

from __future__ import annotations

import json
import sys
import uuid
from typing import Any

from whorl.config.settings import Settings
from whorl.errors import WhorlError
from whorl.jobs.address import clients_of
from whorl.jobs.aside import foreseen, tell
from whorl.jobs.ask import Pipeline
from whorl.kafka.topics import Cluster
from whorl.tasks.control import Rescale, Savepoint


def carry_out(asked: dict[str, Any]) -> dict[str, Any]:
    settings = Settings.model_validate(asked["settings"])
    pipeline = Pipeline(Cluster(clients_of(settings)), asked["pipeline"], settings)
    if asked["order"] == "savepoint":
        return tell(pipeline, Savepoint(uuid.uuid4().hex, asked["name"]))
    order = Rescale(uuid.uuid4().hex, asked["tasks"], asked["partitions"])
    if asked["order"] == "foresee":
        return {"components": foreseen(pipeline, order), "dry_run": True}
    return tell(pipeline, order)


def main() -> None:
    try:
        answer = {"done": carry_out(json.load(sys.stdin))}
    except WhorlError as error:
        answer = {"error": {"message": error.message, "hint": error.hint, "code": error.code}}
    print("\n\n" + json.dumps(answer))


if __name__ == "__main__":
    main()
