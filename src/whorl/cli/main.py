"""`whorl`: one table of verbs, each in a module of its own that is imported when it is called.

So `whorl --help` and `whorl check` never pay for pyspark. Exit codes: 0 fine, 1 the pipeline is wrong, 2 usage, 3 the world failed.
"""

from __future__ import annotations

import gc
import sys
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import version
from types import ModuleType

import typer

from whorl.errors import WhorlError

VERBS = {
    "new": "Make a project that runs.",
    "check": "Report everything that is wrong with pipeline files.",
    "plan": "Show what a pipeline becomes: components, topics, Spark jobs.",
    "run": "Run a pipeline in the foreground.",
    "dev": "Start a broker, run a pipeline, and run it anew whenever its files change.",
    "test": "Run the cases beside a pipeline; needs no broker and no Spark.",
    "serve": "Run the job server: jobs under supervision, with REST and a web UI.",
    "taskmanager": "Run jobs for a job server.",
    "broker": "Start, stop and see the embedded Kafka broker.",
    "topics": "List, describe, create and delete topics.",
    "produce": "Write records to a topic.",
    "consume": "Read records of a topic.",
    "offsets": "Show how far a pipeline has read; move, export and import its positions.",
    "dead": "List and replay records that failed.",
    "submit": "Give a pipeline to the job server.",
    "jobs": "List the jobs of the job server.",
    "job": "Show a job: its components, savepoints and failures.",
    "cancel": "End a job at once.",
    "logs": "Show what a job has said.",
    "top": "Show the components of all jobs live, those that need a look first.",
    "delete": "Forget a job that does not run.",
    "savepoint": "Save a pipeline's state and positions, whether it runs or not.",
    "savepoints": "List and delete savepoints.",
    "resume": "Run a pipeline from a savepoint.",
    "rescale": "Change how many tasks or logical partitions a pipeline has.",
    "stop": "Stop a pipeline that runs, with a savepoint.",
    "state": "Show what operators keep by key, whether the pipeline runs or not.",
    "feedback": "Say what could be better in how a pipeline runs, and which setting changes it.",
    "clean": "Delete what former lives of pipelines have left behind.",
    "schema": "Infer the columns of a topic or path; list those that are published.",
    "doctor": "Look at Java, jars, broker and memory, and say what to mend.",
}


USAGE = "Recursive, stateful stream processing on Spark: pipelines as YAML, exactly-once Kafka."


def main(arguments: list[str] | None = None) -> None:
    verb, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if verb in ("-h", "--help", "help"):
        print(help_text())
    elif verb == "--version":
        print(f"whorl {version('whorl')}")
    elif verb in VERBS:
        call(verb, rest)
    else:
        near = get_close_matches(verb, VERBS, 1)
        meant = f", did you mean '{near[0]}'?" if near else ""
        print(f"whorl: there is no verb '{verb}'{meant} ('whorl --help' lists them)", file=sys.stderr)
        sys.exit(2)


def call(verb: str, arguments: list[str]) -> None:
    """Runs a verb; ends the process unless all is fine."""
    try:
        command = typer.main.get_command(_imported(verb).app)
        command(args=arguments, prog_name=f"whorl {verb}")
    except WhorlError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)


def _imported(verb: str) -> ModuleType:
    """What an import makes stays: to look for garbage in it would only take time, now and later."""
    gc.disable()
    try:
        return import_module(f"whorl.cli.{verb}")
    finally:
        gc.freeze()
        gc.enable()


def help_text() -> str:
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {verb:<{width}}  {summary}" for verb, summary in VERBS.items())
    return f"whorl VERB [OPTIONS]\n\n{USAGE}\n\n{verbs}\n\n'whorl VERB --help' says more; 'whorl --version' tells which this is."
