"""The folder in which Spark keeps a query's progress and state, and the manifest that says whose it is.

A checkpoint belongs to one component of one pipeline in one of its lives (`uid`). What it may not contradict is the ledger: that
knows what was written, and a checkpoint that is older, or gone, would write it again. Any file system that Spark has will do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

import orjson
from pyspark.sql import SparkSession

from whorl.errors import WorldError
from whorl.kafka.topics import by_topic
from whorl.plan import naming
from whorl.query.pins import backend_of
from whorl.spark.folder import Folder

VERSION = 1
MANIFEST = "whorl.json"
_INITIAL = "initial"
_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_BY_FILE_SYSTEM = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
Positions = Mapping[str, Mapping[str, int]]
"""Topic to partition to offset, as Spark writes it."""


@dataclass(frozen=True)
class Manifest:
    pipeline: str
    component: str
    uid: str
    fingerprint: str
    """Of the component's definition: what decides which rows a batch gives."""
    inputs: tuple[str, ...]
    starts: Mapping[str, Positions] = field(default_factory=dict)
    """Input to where it is read from; fixed before anything upstream runs, since the first batch may come much later."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of Spark: those that decide what is in which partition. They stay what they were at the first start."""
    base: int = 0
    """Batch b has the number base + b in the ledger."""
    run: int = 0
    """The last start that used it."""

    def encode(self) -> bytes:
        return orjson.dumps({"version": VERSION, **asdict(self)}, option=orjson.OPT_INDENT_2)

    @classmethod
    def decode(cls, data: bytes) -> Manifest:
        fields = orjson.loads(data)
        if fields.pop("version") > VERSION:
            raise WorldError("the checkpoint was written by a newer Whorl", hint="use that one")
        return cls(**{**fields, "inputs": tuple(fields["inputs"])})


@dataclass(frozen=True)
class Progress:
    """How far a checkpoint is."""

    offered: int = -1
    """The last batch whose offsets are logged."""
    committed: int = -1
    """The last batch that Spark took as done."""

    @property
    def in_doubt(self) -> int | None:
        return self.offered if self.offered > self.committed else None


class Files(Protocol):
    """A folder of any file system."""

    def read(self, name: str) -> bytes | None: ...
    def write(self, name: str, data: bytes) -> None: ...
    def remove(self, name: str) -> None: ...
    def names(self, folder: str = ".") -> list[str]: ...


class Logs:
    """What a checkpoint says of itself, and how it is told to read on elsewhere. Takes no Spark where the folder takes none."""

    def __init__(self, folder: Files) -> None:
        self.folder = folder

    @property
    def keeps_state(self) -> bool:
        return bool(self.folder.names("state"))

    def manifest(self) -> Manifest | None:
        data = self.folder.read(MANIFEST)
        return None if data is None else Manifest.decode(data)

    def write(self, manifest: Manifest) -> None:
        self.folder.write(MANIFEST, manifest.encode())

    def progress(self) -> Progress:
        return Progress(_last_batch(self.folder.names("offsets")), _last_batch(self.folder.names("commits")))

    def positions(self, batch: int, topics: Mapping[str, Collection[str]]) -> dict[str, dict[str, dict[str, int]]]:
        """Where a batch ends, by input; `topics`: those that each input reads. Spark's order of them is that of its plan."""
        data = self.folder.read(f"offsets/{batch}")
        lines = [orjson.loads(line) for line in data.decode().splitlines()[2:] if line not in ("", "-")] if data else []
        logged = [offsets for offsets in lines if offsets and _are_positions(offsets)]
        return {id: offsets for id, names in topics.items() for offsets in logged if set(offsets) <= set(names)}

    def read_up_to(self, topics: Collection[str] | None = None) -> dict[tuple[str, int], int]:
        """How far these topics, or all, are read by batches that are done."""
        manifest, data = self.manifest(), self.folder.read(f"offsets/{self.progress().committed}")
        logged = [orjson.loads(line) for line in data.decode().splitlines()[2:] if line.startswith("{")] if data else []
        starts = manifest.starts.values() if manifest else ()
        return {
            (topic, int(partition)): at
            for positions in (*starts, *filter(_are_positions, logged))
            for topic, of in positions.items()
            if topics is None or topic in topics
            for partition, at in of.items()
        }

    def watermark(self) -> int:
        """Event time of the last batch that is done, in ms since 1970; 0: none."""
        data = self.folder.read(f"offsets/{self.progress().committed}")
        return int(orjson.loads(data.splitlines()[1])["batchWatermarkMs"]) if data else 0

    def move(self, to: Mapping[tuple[str, int], int]) -> None:
        """The next batch reads on from there."""
        nested, manifest, name = by_topic(to), self.manifest(), f"offsets/{self.progress().committed}"
        if not nested or manifest is None:
            return
        starts = {id: {**old, **{t: nested[t] for t in old if t in nested}} for id, old in manifest.starts.items()}
        self.write(replace(manifest, starts=starts))
        if (data := self.folder.read(name)) is not None:
            self.folder.write(name, "\n".join(_moved(line, nested) for line in data.decode().split("\n")).encode())

    def withdraw(self, batch: int) -> None:
        """The last one, which is not done: the next start makes a new batch of what is there then."""
        self.folder.remove(f"offsets/{batch}")


class Checkpoint(Logs):
    """As Spark has it."""

    folder: Folder

    def __init__(self, session: SparkSession, path: str) -> None:
        self._session = session
        super().__init__(Folder(session, path, "checkpoints"))

    @classmethod
    def of(cls, session: SparkSession, root: str, pipeline: str, uid: str, component: str) -> Checkpoint:
        """That of a component, where checkpoints are kept."""
        return cls(session, cls.path_of(root, pipeline, uid, component))

    @classmethod
    def path_of(cls, root: str, pipeline: str, uid: str, component: str) -> str:
        return f"{cls.root(root, pipeline, uid)}/{naming.slug(component)}"

    @staticmethod
    def root(checkpoints: str, pipeline: str, uid: str) -> str:
        """The folder of all checkpoints of a pipeline in one of its lives."""
        return f"{checkpoints.rstrip('/')}/{naming.slug(pipeline)}-{uid}"

    @property
    def settings(self) -> dict[str, str]:
        """How Spark is to write its logs here. Its own choice starts programs of the operating system for every file in a local folder, some
        80 ms in each batch; this one looks and renames, as that one does there."""
        return {_MANAGER: _BY_FILE_SYSTEM} if self.folder.is_local else {}

    @property
    def path(self) -> str:
        return self.folder.path

    @property
    def initial_path(self) -> str:
        """Where lies what the query begins with, if it goes on from tasks."""
        return f"{self.path}/{_INITIAL}"

    @property
    def has_initial(self) -> bool:
        return _INITIAL in self.folder.names()

    def in_folder(self, path: str) -> int:
        """The last batch that Spark's file sink has noted in a folder; -1: none."""
        return _last_batch(Folder(self._session, path, "path").names("_spark_metadata"))


def _last_batch(names: Iterable[str]) -> int:
    """The highest number among the files of one of Spark's logs."""
    numbers = (name.removesuffix(".compact") for name in names)
    return max((int(number) for number in numbers if number.isdecimal()), default=-1)


def _moved(line: str, to: Positions) -> str:
    """A line of Spark's log of offsets."""
    offsets = orjson.loads(line) if line.startswith("{") else None
    if not offsets or not _are_positions(offsets) or not set(offsets) & set(to):
        return line
    return orjson.dumps({topic: to.get(topic, of) for topic, of in offsets.items()}).decode()


def _are_positions(offsets: Any) -> bool:
    return isinstance(offsets, dict) and all(isinstance(of, dict) for of in offsets.values())


def compare(manifest: Manifest, wanted: Manifest, progress: Progress, written: Collection[int], path: str) -> Manifest:
    """3. The manifest to go on with; raises where going on could double or lose something in silence. `written`: the seqs that
    the ledger has."""
    mine = (wanted.pipeline, wanted.component, wanted.uid)
    if (manifest.pipeline, manifest.component, manifest.uid) != mine:
        raise WorldError(
            f"the checkpoint '{path}' belongs to component '{manifest.component}' of pipeline '{manifest.pipeline}'",
            hint="set 'checkpoints' to another folder",
            code="checkpoint",
        )
    same_inputs(manifest, wanted)
    if is_older(manifest, progress, written):
        behind = max(written) - manifest.base - progress.offered
        raise WorldError(
            f"the checkpoint '{path}' is older than what was written: {behind} batches are missing in it",
            hint="restore the newest copy; or 'whorl run --accept-repeat' (not for files): goes on from it and writes again what came after; or '--fresh'",
            code="checkpoint-older",
        )
    half_done = progress.in_doubt is not None and manifest.base + progress.in_doubt in written
    if half_done and manifest.fingerprint != wanted.fingerprint:
        raise WorldError(
            f"'{manifest.component}' was changed while batch {progress.in_doubt} was half done",
            hint="run the former version once with --until-caught-up, then this one; or '--fresh'",
            code="checkpoint-changed",
        )
    return replace(manifest, fingerprint=wanted.fingerprint)


def is_older(manifest: Manifest, progress: Progress, written: Collection[int]) -> bool:
    """Whether something was written of a batch that the checkpoint does not know."""
    return max(written, default=-1) > manifest.base + progress.offered


def same_inputs(manifest: Manifest, wanted: Manifest) -> None:
    if manifest.inputs != wanted.inputs:
        before, now = ", ".join(manifest.inputs), ", ".join(wanted.inputs)
        raise WorldError(
            f"'{manifest.component}' read {before} when its checkpoint was made, and now {now}",
            hint="put the inputs back, or start over with --fresh",
            code="checkpoint-changed",
        )


def same_backend(manifest: Manifest, wanted: Manifest) -> None:
    before, now = backend_of(manifest.settings), backend_of(wanted.settings)
    if before != now:
        raise WorldError(
            f"the state of '{manifest.component}' is in a {before} checkpoint, and 'state.query_backend' is {now}",
            hint=f"set it to {before}, or start over with --fresh",
            code="checkpoint-changed",
        )


def used(path: str) -> WorldError:
    return WorldError(
        f"the folder '{path}' was written by another query or an earlier life of this one, and Spark would leave out the first batches",
        hint="move the folder away, or give the sink another 'path'",
        code="folder-used",
    )


def gone(component: str, path: str) -> WorldError:
    return WorldError(
        f"the checkpoint of '{component}' is gone: nothing is in '{path}', but it has run before",
        hint="restore it; or start over with --fresh, which reads its sources anew and writes again what they give",
        code="checkpoint-gone",
    )
