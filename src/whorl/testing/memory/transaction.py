"""The client's side of transactions: librdkafka's states, and which call is right in which.

A fatal error stays for ever; an abortable one until `abort_transaction`; a commit or abort that timed out goes on only
by calling it again, and any other call meanwhile is a conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from whorl.testing.memory.broker import MemoryBroker
from whorl.testing.memory.coordinator import Owner
from whorl.testing.memory.faults import FENCED, Failure, Faults


class State(Enum):
    INIT = "Init"
    READY_NOT_ACKED = "ReadyNotAcked"
    READY = "Ready"
    IN_TRANSACTION = "InTransaction"
    BEGIN_COMMIT = "BeginCommit"
    COMMIT_NOT_ACKED = "CommitNotAcked"
    BEGIN_ABORT = "BeginAbort"
    ABORT_NOT_ACKED = "AbortNotAcked"
    ABORTABLE_ERROR = "AbortableError"
    FATAL_ERROR = "FatalError"


class Transaction:
    def __init__(self, broker: MemoryBroker, transactional_id: str, timeout: float, faults: Faults) -> None:
        self._broker = broker
        self._id = transactional_id
        self._timeout = timeout
        self._faults = faults
        self._state = State.INIT
        self._owner: Owner | None = None
        self._error: KafkaError | None = None
        self._known_to_broker = False
        self._undelivered = 0
        self._unseen: KafkaError | None = None
        self._unfinished = ""

    @property
    def owner(self) -> Owner:
        assert self._owner is not None
        return self._owner

    def init(self) -> None:
        failure = self._enter("init_transactions", State.INIT, State.READY_NOT_ACKED)
        self._meet(failure, "init_transactions")
        if self._state is State.INIT:
            self._meet(self._reach("init_transactions/request"), "init_transactions")
            self._owner = self._broker.init_transactions(self._id, self._timeout)
            self._state = State.READY_NOT_ACKED
            self._meet(self._reach("init_transactions/answer"), "init_transactions")
        self._state = State.READY

    def begin(self) -> None:
        self._meet(self._enter("begin_transaction", State.READY))
        self._known_to_broker, self._undelivered, self._error = False, 0, None
        self._state = State.IN_TRANSACTION

    def send_offsets(self, offsets: Sequence[TopicPartition], group: str) -> None:
        failure = self._reach("send_offsets_to_transaction")
        self._no_conflict("send_offsets_to_transaction")
        valid = [tp for tp in offsets if tp.offset >= 0]
        if not valid:
            return
        self._require(State.IN_TRANSACTION)
        self._meet(failure)
        self._request(
            lambda: self._broker.add_offsets(self.owner, group, valid), "Failed to add offsets to transaction"
        )
        self._known_to_broker = True
        self._meet(self._reach("send_offsets_to_transaction/answer"))

    def commit(self, flush: Callable[[], object]) -> None:
        failure = self._enter("commit_transaction", State.IN_TRANSACTION, State.BEGIN_COMMIT, State.COMMIT_NOT_ACKED)
        if self._state is State.IN_TRANSACTION:
            self._state = State.BEGIN_COMMIT
        self._meet(failure, "commit_transaction")
        flush()
        self._require(State.BEGIN_COMMIT, State.COMMIT_NOT_ACKED)
        if self._undelivered:
            self._meet(_undelivered(self._undelivered))
        self._end(State.COMMIT_NOT_ACKED, commit=True, name="commit_transaction")

    def abort(self, purge: Callable[[], object]) -> None:
        failure = self._enter(
            "abort_transaction", State.IN_TRANSACTION, State.ABORTABLE_ERROR, State.BEGIN_ABORT, State.ABORT_NOT_ACKED
        )
        if self._state is not State.ABORT_NOT_ACKED:
            self._state = State.BEGIN_ABORT
        purge()
        self._meet(failure, "abort_transaction")
        self._end(State.ABORT_NOT_ACKED, commit=False, name="abort_transaction")

    def check_produce(self) -> None:
        if self._state is State.FATAL_ERROR:
            raise KafkaException(KafkaError(KafkaError._FATAL, "Unable to produce message: Local: Fatal error"))
        if self._state is not State.IN_TRANSACTION:
            raise KafkaException(KafkaError(KafkaError._STATE, "Unable to produce message: Local: Erroneous state"))

    def raise_unseen(self) -> None:
        """A fatal error that came with a delivery is raised once, by the first poll or flush."""
        unseen, self._unseen = self._unseen, None
        if unseen:
            raise KafkaException(unseen)

    def joined(self) -> None:
        """The coordinator knows of the transaction, so its end must be told."""
        self._known_to_broker = True

    def delivery_failed(self, code: int) -> None:
        self._undelivered += 1
        if code in (KafkaError.INVALID_PRODUCER_EPOCH, KafkaError._FENCED):
            self._set_fatal(FENCED.error())
            self._unseen = self._error
        elif code != KafkaError._PURGE_QUEUE and self._state in (State.IN_TRANSACTION, State.BEGIN_COMMIT):
            self._set_abortable(KafkaError(code, "current transaction must be aborted", txn_requires_abort=True))

    @property
    def broken(self) -> bool:
        return self._state in (State.FATAL_ERROR, State.ABORTABLE_ERROR)

    @property
    def open(self) -> bool:
        return self._state in (State.IN_TRANSACTION, State.ABORTABLE_ERROR, State.BEGIN_ABORT)

    def fence(self) -> None:
        """Make an injected fatal error true: the broker aborts what is open and takes nothing more from here."""
        if self._owner:
            self._broker.fence(self._owner)

    def _end(self, done: State, commit: bool, name: str) -> None:
        if self._state is not done and self._known_to_broker:
            self._meet(self._reach(f"{name}/request"), name)
            self._request(lambda: self._broker.end_transaction(self.owner, commit), "Failed to end transaction")
            self._state = done
            self._meet(self._reach(f"{name}/answer"), name)
        self._unfinished, self._error = "", None
        self._state = State.READY

    def _enter(self, name: str, *states: State) -> Failure | None:
        failure = self._reach(name)
        self._unseen = None
        self._no_conflict(name)
        self._require(*states)
        self._unfinished = ""
        return failure

    def _reach(self, point: str) -> Failure | None:
        return self._faults.reach(f"producer.{point}")

    def _no_conflict(self, name: str) -> None:
        if self._unfinished not in ("", name):
            reason = f"Conflicting {self._unfinished} API call is already in progress"
            raise KafkaException(KafkaError(KafkaError._CONFLICT, reason, retriable=True))

    def _require(self, *states: State) -> None:
        if self._state in states:
            return
        if self._error:
            raise KafkaException(self._error)
        raise KafkaException(KafkaError(KafkaError._STATE, f"Operation not valid in state {self._state.value}"))

    def _meet(self, failure: Failure | None, resumable: str = "") -> None:
        """Raise an injected failure, with the state that it leaves behind."""
        if failure is None:
            return
        error = failure.error()
        if failure.fatal:
            self.fence()
            self._set_fatal(error)
        elif failure.requires_abort:
            self._set_abortable(error)
        elif failure.retriable:
            self._unfinished = resumable
        raise KafkaException(error)

    def _request(self, request: Callable[[], None], doing: str) -> None:
        try:
            request()
        except KafkaException as refused:
            code = refused.args[0].code()
            fenced = code == KafkaError.INVALID_PRODUCER_EPOCH
            why = FENCED.reason if fenced else refused.args[0].str()
            self._set_fatal(KafkaError(KafkaError._FENCED if fenced else code, f"{doing}: {why}", fatal=True))
            raise KafkaException(self._error) from None

    def _set_fatal(self, error: KafkaError) -> None:
        self._state, self._error, self._unfinished = State.FATAL_ERROR, error, ""

    def _set_abortable(self, error: KafkaError) -> None:
        if self._state is not State.FATAL_ERROR:
            self._state, self._error, self._unfinished = State.ABORTABLE_ERROR, error, ""


def _undelivered(count: int) -> Failure:
    reason = f"{count} message(s) failed delivery (see individual delivery reports)"
    return Failure(KafkaError._INCONSISTENT, reason, requires_abort=True)
