"""A task from a restore to a stop or an abort: steps 4 and 5 of `whorl.tasks.task`, over and over.

4 process   poll a bulk; each record whole or not at all; look at the clock between records
5 commit    positions and the group's offsets into the transaction, commit; a commit without an answer is repeated
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from whorl.errors import WorldError
from whorl.kafka.clients import Clients
from whorl.operators.chain import StepFailed
from whorl.operators.keyed_step import TimerMessage
from whorl.pace import Pace
from whorl.state.partition import LP_KEY, LpState
from whorl.state.timers import Kind
from whorl.tasks.assignment import GENERATED, Assignment, generated_topic, is_generated
from whorl.tasks.changelog import by_lp, encode_positions
from whorl.tasks.failures import Failures, as_error
from whorl.tasks.gone import WITHOUT, gone_error, lost
from whorl.tasks.lanes import inlet_of
from whorl.tasks.latency import Latency
from whorl.tasks.layout import Place
from whorl.tasks.outlet import Outlet
from whorl.tasks.readings import TABLES, Reading
from whorl.tasks.signals import OPENING, Figures, Orders, timer_position
from whorl.tasks.silence import Silence
from whorl.tasks.states import States
from whorl.tasks.work import Work

_IDLE_WAIT = 0.1
_LAG_EVERY = 0.5
_MIRROR_EVERY = 3600.0
"""Also of partitions where nothing comes: Kafka forgets a group's offsets that nobody committed for a week."""
_NEVER = float("inf")
_FEW = 100
"""Records of one poll, below which the loop is not busy reading."""
_FULL = 0.5
"""The share of a bulk from which on a task is behind: there is more where that came from."""
_COMMITS_APART, _LONGEST = 5.0, 10.0
"""While behind, commits begin so many times as long apart as the last one took, so that they take a fifth of the time; and at most so many
seconds."""
_REST = 0.002
"""From the end of one commit to the next at the least: the coordinator still ends the last transaction, and has the client wait ten times as long for
the next one if it comes too early."""
_TOPIC_GONE = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC)
_OFFSET_GONE = (KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET)
_GAP = -1
"""In place of an end: the next record is gone."""


@dataclass
class Held:
    """Records of a paused partition, and when to go on with them."""

    until: float
    messages: list[Any]


@dataclass(frozen=True)
class Given:
    """What a run has of its task."""

    assignment: Assignment
    number: int
    clients: Clients
    orders: Orders
    figures: Figures
    clock: Callable[[], float]
    wall: Callable[[], float]
    begin_reading: Callable[[str, Mapping[Any, int]], Reading]


class Run:
    """From a restore to a stop or an abort: everything in memory that an abort drops."""

    def __init__(
        self, task: Given, outlet: Outlet, work: Work, states: States | None, positions: dict[Place, int]
    ) -> None:
        self._assignment, self._settings = task.assignment, task.assignment.settings
        self._orders, self._figures = task.orders, task.figures
        self._clock, self._wall = task.clock, task.wall
        self._outlet, self._transactions = outlet, outlet.transactions
        self._work, self._states = work, states
        for state in states or ():
            work.enter(state)  # so that the bounds of operators are known before anything expires
        self._positions = positions
        self._moved = set(positions)  # all: offsets of the group that expired are mirrored again
        self._held: dict[Place, Held] = {}
        self._begun, self._last_commit, self._lag_at = 0.0, -_NEVER, 0.0
        """When the transaction and when the last commit began."""
        self._break_at = _NEVER
        """When what was read is committed in the midst of a bulk, since the bulk takes too long."""
        self._mirror_at = self._clock() + _MIRROR_EVERY
        self._uncommitted = 0
        self._is_behind, self._commit_took = False, 0.0
        self._latency = Latency(task.figures.latency)
        self._pace = Pace(self._settings.commit_interval, self._settings.min_rate)
        self._failures = Failures(task.assignment, self._work.policies, task.figures)
        component = task.assignment.component
        generated = {generated_topic(i): i.source for i in component.inputs if i.source and is_generated(i)}
        self._input_of = {topic: i.id for i in component.inputs for topic in task.assignment.topics[i.id]}
        self._inlet = inlet_of(task.assignment, task.clients, positions, generated, task.clock)
        lps = task.assignment.layout.lps_of(task.number)
        patience = {(lp, i.id): i.watermark.idle for lp in lps for i in component.inputs if i.watermark}
        self._silence = Silence(patience, task.clock)
        self._tables = {topic for input in component.tables for topic in task.assignment.topics[input.id]}
        self._unread = {place for place in positions if place[0] in self._tables}
        """Of tables: what must be read to its end before any stream is."""
        starts = {place: positions[place] for place in self._unread}
        if starts:
            task.begin_reading(TABLES, starts)
        self._open()

    def loop(self) -> None:
        self._wait_for_tables()
        self._begin()
        while not self._orders.stopping:
            self._take_up_held()
            places, ends = self._sorted(self._polled())
            began, before = self._clock(), self._figures.read
            self._fire_by_clock()
            for place in self._tables_first(places):
                self._process(place, places[place])
            for place, end in ends.items():
                self._past_gap(place) if end == _GAP else self._reached(place, end)
            self._outlet.poll()
            self._keep_pace(self._figures.read - before, self._clock() - began)
            self._commit_if_due()
            self._look_at_lag()
        self.commit()

    def _polled(self) -> list[Any]:
        """Time in which hardly anything comes is time that was waited."""
        began = self._clock()
        messages = self._inlet.read(self._most(), self._wait())
        if len(messages) < _FEW:
            self._figures.waited += self._clock() - began
        return messages

    def _most(self) -> int:
        """Records of the next bulk."""
        return min(self._settings.bulk_records, self._pace.most or self._settings.bulk_records)

    def _keep_pace(self, records: int, seconds: float) -> None:
        if self._settings.backpressure:
            self._pace = self._pace.after(records, seconds)
            self._figures.rate_limit = self._pace.rate or 0.0

    def _commit_if_due(self) -> None:
        if self._clock() >= self._mirror_at:
            self._mirror_anew()
        if self._clock() >= self._commit_at:
            self.commit()

    def _mirror_anew(self) -> None:
        self._mirror_at = self._clock() + _MIRROR_EVERY
        self._moved.update(self._positions)
        self._begin()

    def _send(self) -> None:
        """What was emitted leaves."""
        self._outlet.produce(self._work.take())

    def _wait_for_tables(self) -> None:
        self._figures.step = "bootstrapping" if self._unread else "running"
        for place in self._streams if self._unread else ():
            self._inlet.pause(place)

    def _tables_first(self, places: Collection[Place]) -> Iterable[Place]:
        return sorted(places, key=lambda place: place[0] not in self._tables) if self._tables else places

    def _table_read(self, place: Place) -> None:
        """Its end was reached, for the first time; with the last one, streams begin to flow."""
        self._unread.discard(place)
        if not self._unread:
            self._figures.readings[TABLES].end(self._positions)
            self._figures.step = "running"
            for stream in self._streams:
                self._inlet.resume(stream)

    @property
    def _streams(self) -> list[Place]:
        return [place for place in self._positions if place[0] not in self._tables]

    def _open(self) -> None:
        def begin(id: str) -> None:
            self._figures.step = f"{OPENING}{id}"

        try:
            self._work.open(begin)
        except StepFailed as failed:
            raise as_error(failed) from None

    def close(self) -> None:
        self._inlet.close()
        with suppress(StepFailed):  # what could go wrong for the records has gone right already
            self._work.close()

    def _wait(self) -> float:
        due = min([self._commit_at, *(held.until for held in self._held.values())])
        return min(max(due - self._clock(), 0.0), _IDLE_WAIT)

    # -- 4 timers ---------------------------------------------------------------------------------------------------------------------

    def _fire_by_clock(self) -> None:
        """Processing time is the same for all that is processed together."""
        if self._states is None:
            return
        now = round(self._wall() * 1000)
        for state in self._states:
            state.clocks.tick(now)
            due = state.timers.next("processing")
            if due is not None and due <= state.clocks.clock:
                self._begin()
                self._fire(state, "processing", state.clocks.clock)
        self._let_rest()

    def _fire(self, state: LpState, kind: Kind, up_to: int) -> None:
        self._work.enter(state)
        fire = self._work.whole(self._work.fire)
        for timer in state.timers.due(kind, up_to):
            self._figures.current, self._figures.many = TimerMessage(timer.key, timer.time), False
            try:
                if timer_position(timer) in self._orders.skip:
                    raise StepFailed(timer.operator, self._no_answer())
                fire(timer)
            except StepFailed as failed:
                letter = self._failures.of_timer(TimerMessage.of(timer), failed)
                self._work.journal += [letter] if letter else []
        self._figures.current = None
        self._send()

    def _fire_overdue(self, place: Place) -> None:
        """Those that a record has set for a time that is past: they need not wait until event time moves on."""
        assert self._states is not None
        state = self._states[self._assignment.layout.lp_of(place[1])]
        if state.timers.overdue("event", state.clocks.watermark):
            self._fire(state, "event", state.clocks.watermark)

    def _let_rest(self) -> None:
        """An input that was silent for long holds no watermark back."""
        assert self._states is not None
        for lp, input in self._silence.broken_off():
            if self._states[lp].clocks.rest(input):
                self._begin()
                self._fire(self._states[lp], "event", self._states[lp].clocks.watermark)

    def _move_event_time(self, place: Place, message: Any) -> None:
        """Before the record: timers that its time makes due come first, so that results do not depend on where bulks end."""
        assert self._states is not None
        time, input = self._work.event_times[place[0]](message), self._input_of[place[0]]
        lp = self._assignment.layout.lp_of(place[1])
        state = self._states[lp]
        self._silence.heard(lp, input)
        if time is not None and state.clocks.move(input, time):
            self._fire(state, "event", state.clocks.watermark)

    def _look_at_lag(self) -> None:
        if self._clock() >= self._lag_at:
            behind = self._inlet.behind(self._positions)
            self._figures.lag, self._figures.behind = sum(behind.values()), behind
            self._lag_at = self._clock() + _LAG_EVERY
            if self._states is not None:
                self._figures.state_keys, self._figures.state_bytes = self._states.size
                self._figures.watermark = self._states.watermark
            if self._unread:
                tables = {place: at for place, at in self._positions.items() if place[0] in self._tables}
                self._figures.readings[TABLES].move(tables, sum(self._inlet.behind(tables).values()))

    # -- 4 process --------------------------------------------------------------------------------------------------------------------

    def _sorted(self, messages: list[Any]) -> tuple[dict[Place, list[Any]], dict[Place, int]]:
        """Records by place in the order they came, and the ends that were reached."""
        self._is_behind = len(messages) >= self._most() * _FULL
        places: dict[Place, list[Any]] = {}
        ends: dict[Place, int] = {}
        for message in messages:
            place = (message.topic(), message.partition())
            if message.error() is not None:
                ends[place] = message.offset() if self._is_end(message.error(), place) else _GAP
            elif place in places:
                places[place].append(message)
            else:
                places[place] = [message]
        return places, ends

    def _is_end(self, error: KafkaError, place: Place) -> bool:
        """Or else a gap; anything else in a bulk is an error."""
        if error.code() == KafkaError._PARTITION_EOF:
            return True
        if error.code() in _TOPIC_GONE:
            raise gone_error(self._assignment.component, place[0])
        if error.code() in _OFFSET_GONE and place in self._positions:
            return False
        raise KafkaException(error)

    def _past_gap(self, place: Place) -> None:
        """Retention overtook the job: the next record of a partition is gone."""
        held = self._held.get(place)
        at, first = held.messages[-1].offset() + 1 if held else self._positions[place], self._inlet.first(place)
        if first <= at:
            hint = "it was made anew: start over with 'whorl run --fresh'"
            raise WorldError(f"{place[0]}/{place[1]} ends before offset {at}", code="offsets-gone", hint=hint)
        if not self._assignment.leaps(place[0]):
            raise WorldError(lost(place, at, first), code="offsets-gone", hint=WITHOUT)
        self._figures.note_gap(lost(place, at, first), first - at)
        self._inlet.seek(place, first)
        if not held:
            self._begin()
            self._move(place, first)

    def _reached(self, place: Place, end: int) -> None:
        """The end lies behind transaction markers, where no record will ever be."""
        if place not in self._held and end > self._positions[place]:
            self._begin()
            self._move(place, end)
        if place in self._unread:
            self._table_read(place)

    def _process(self, place: Place, messages: list[Any]) -> None:
        if place in self._held:
            self._held[place].messages += messages
            return
        self._begin()
        if self._states is not None:
            self._work.enter(self._states[self._assignment.layout.lp_of(place[1])])
        if not self._as_bulk(place, messages):
            self._one_by_one(place, messages)
        self._figures.current = None
        self._send()
        if self._uncommitted >= self._settings.commit_records:
            self.commit()

    def _one_by_one(self, place: Place, messages: list[Any]) -> None:
        figures, clock, attempt = self._figures, self._clock, self._attempt(place[0])
        figures.many = False
        timed, event_time = place[0] in self._work.event_times, bool(self._work.event_times)
        noted = 0
        for index, message in enumerate(messages):
            if timed:
                self._move_event_time(place, message)
            figures.current = message
            try:
                attempt(message)
            except StepFailed as failed:
                self._move(place, message.offset())
                if self._failed(place, messages[index:], failed):
                    self._count(index)
                    self._latency.note(messages[noted:index])
                    break
            if event_time:
                self._fire_overdue(place)
            if clock() >= self._break_at:
                self._move(place, message.offset() + 1)
                self._latency.note(messages[noted : index + 1])
                noted = index + 1
                self.commit()
                self._begin()
        else:
            self._move(place, messages[-1].offset() + 1)
            self._count(len(messages))
            self._latency.note(messages[noted:])

    def _attempt(self, topic: str) -> Callable[[Any], None]:
        """How one record is tried: whole, or nothing of it."""
        handle, work, skip = self._work.handles[topic], self._work, self._orders.skip
        if not work.has_bulk and not work.together and not skip:
            return work.whole(handle)

        def attempt(message: Any) -> None:
            position = (message.topic(), message.partition(), message.offset())
            if skip.get(position):
                raise StepFailed(skip[position], self._no_answer())
            handle(message)
            work.flush()

        return work.whole(attempt)

    def _no_answer(self) -> TimeoutError:
        return TimeoutError(f"no answer within {self._settings.timeout:g} s")

    def _as_bulk(self, place: Place, messages: list[Any]) -> bool:
        """All at once, where that is how the component works; False, and nothing done, where one fails: then each is tried alone."""
        together = self._work.together.get(place[0])
        if together is None or self._holds_skipped(place, messages):
            return False
        self._figures.current, self._figures.many = messages[0], len(messages) > 1
        try:
            self._work.whole(together)(messages)
        except StepFailed:
            return False
        self._move(place, messages[-1].offset() + 1)
        self._count(len(messages))
        self._latency.note(messages)
        return True

    def _holds_skipped(self, place: Place, messages: list[Any]) -> bool:
        first, last = messages[0].offset(), messages[-1].offset()
        return any((topic, p) == place and first <= offset <= last for topic, p, offset in list(self._orders.skip))

    def _failed(self, place: Place, messages: list[Any], failed: StepFailed) -> bool:
        """Whether the partition is held from this record on."""
        verdict = self._failures.judge(messages[0], failed)
        if verdict.letter is not None:
            self._work.journal.append(verdict.letter)
        if verdict.hold is None:
            return False
        self._inlet.pause(place)
        self._held[place] = Held(self._clock() + verdict.hold, messages)
        return True

    def _take_up_held(self) -> None:
        now = self._clock()
        for place in [place for place, held in self._held.items() if held.until <= now]:
            messages = self._held.pop(place).messages
            self._process(place, messages)
            if place not in self._held:
                self._inlet.resume(place)

    def _count(self, records: int) -> None:
        self._figures.read += records
        if self._unread:
            self._figures.readings[TABLES].records += records
        self._uncommitted += records

    def _move(self, place: Place, position: int) -> None:
        self._positions[place] = position
        self._moved.add(place)

    # -- 5 commit ---------------------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if not self._transactions.open:
            self._transactions.begin()
            self._begun = self._clock()
            self._break_at = self._begun + self._patience()

    @property
    def _commit_at(self) -> float:
        """Asked anew each time: whoever has come to the end of a backlog need not wait any longer."""
        if not self._transactions.open:
            return _NEVER
        return max(self._begun, self._last_commit + max(self._patience(), self._commit_took + _REST))

    def _patience(self) -> float:
        """From the beginning of one commit to that of the next, so that a record after a silence need not wait. Whoever waits for the end
        of a backlog is better served by few large ones."""
        asked = self._settings.commit_interval
        return max(asked, min(self._commit_took * _COMMITS_APART, _LONGEST)) if self._is_behind else asked

    def commit(self) -> None:
        """Outputs, positions, group, all or nothing."""
        if not self._transactions.open:
            return
        started = self._clock()
        self._send()
        self._outlet.flush()
        self._write_positions()
        self._mirror_offsets()
        self._transactions.commit()
        if self._states is not None:
            self._states.store()
            if self._work.keeps_for_a_time:
                self._states.sweep()
        self._note_commit(started)

    def _write_positions(self) -> None:
        """And the state that stands for them."""
        layout, topic = self._assignment.layout, self._assignment.changelog
        lps = {layout.lp_of(partition) for _, partition in self._moved}
        if self._states is not None:
            lps |= self._states.changed()
        for lp, positions in by_lp(layout, self._positions).items():
            if lp in lps and self._states is not None:
                self._states.write(lp, positions, self._transactions)
            elif lp in lps:
                self._transactions.produce(topic, encode_positions(positions), LP_KEY, lp)

    def _mirror_offsets(self) -> None:
        moved = [
            TopicPartition(*place, self._positions[place])
            for place in self._moved
            if not place[0].startswith(GENERATED)
        ]
        if moved:
            self._transactions.send_offsets(moved, self._inlet.group)

    def _note_commit(self, started: float) -> None:
        figures = self._figures
        if self._states is not None:
            # Before the positions: who sees those sees what they have set.
            figures.timers = self._states.waiting_for_time
        figures.committed = dict(self._positions)
        figures.written += self._work.taken()
        figures.commits += 1
        self._latency.committed(self._wall() * 1000)
        self._last_commit, self._commit_took = started, self._clock() - started
        figures.commit_seconds += self._commit_took
        self._moved.clear()
        self._break_at = _NEVER
        self._uncommitted = 0
