from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

from whorl.errors import Unavailable
from whorl.manager.agent import Agent
from whorl.server.bundles import Submission
from whorl.server.orders import Beat, Ended, Hello, Orders, Run, Welcome
from whorl.server.schemas import Failure, Report

RUN = Run(job="j", attempt=3, file="p.yaml")


class FakeServer:
    """Answers in turn; `away` for as many heartbeats as it is told to."""

    def __init__(self, *answers: Orders, away: int = 0) -> None:
        self.answers, self.away = list(answers), away
        self.beats: list[Beat] = []
        self.hellos: list[Hello] = []
        self.left = False

    def join(self, hello: Hello) -> Welcome:
        self.hellos.append(hello)
        return Welcome(heartbeat=0.05, id=hello.id)

    def beat(self, id: str, beat: Beat) -> Orders:
        if self.away and beat.job:
            self.away -= 1
            raise Unavailable("away")
        self.beats.append(beat)
        if beat.ended is not None:
            return Orders(taken=True)
        return self.answers.pop(0) if self.answers else Orders()

    def bundle(self, job: str) -> bytes:
        return Submission("p.yaml", {"p.yaml": b"name: p"}).pack()

    def leave(self, id: str) -> None:
        self.left = True


class Work:
    def __init__(self, until: Any = lambda agent: True) -> None:
        self.until, self.files, self.dropped = until, [], threading.Event()

    def perform(self, order: Run, folder: Path, agent: Agent) -> Ended:
        self.files = [path.name for path in folder.iterdir()]
        for number in range(3):
            agent.say("INFO", f"line {number}")
            agent.note(Report(at=0.0, failures=[Failure(at=0.0, component="c", error=str(number))]))
        deadline = time.monotonic() + 30
        while not self.until(agent) and not self.dropped.is_set() and time.monotonic() < deadline:
            time.sleep(0.01)
        return Ended(how="stopped")

    def drop(self) -> None:
        self.dropped.set()


def agent_of(server: FakeServer) -> Agent:
    return Agent(server, "tm", 8, True, ["taskmanager"])  # type: ignore[arg-type]


def told(server: FakeServer, of: str) -> list[str]:
    if of == "lines":
        return [line.message for beat in server.beats for line in beat.lines]
    return [failure.error for beat in server.beats if beat.report for failure in beat.report.failures]


def test_it_runs_what_it_is_given_and_tells_all_of_it_once() -> None:
    server = FakeServer(Orders(), Orders(run=RUN))
    agent, work = agent_of(server), Work(lambda agent: told(server, "failures") == ["0", "1", "2"])
    order = agent.await_order()
    assert order == RUN
    agent.serve(order, work)
    assert work.files == ["p.yaml"]
    assert told(server, "lines") == ["line 0", "line 1", "line 2"]
    assert told(server, "failures") == ["0", "1", "2"]
    assert [beat.ended.how for beat in server.beats if beat.ended] == ["stopped"]
    assert {(beat.job, beat.attempt) for beat in server.beats if beat.ended} == {("j", 3)}


def test_while_the_server_is_away_nothing_is_forgotten() -> None:
    server = FakeServer(away=5)
    agent_of(server).serve(RUN, Work(lambda agent: server.away == 0))
    assert told(server, "lines") == ["line 0", "line 1", "line 2"]
    assert told(server, "failures") == ["0", "1", "2"]


def test_a_server_that_does_not_know_it_hears_what_it_runs() -> None:
    server = FakeServer(Orders(known=False))
    agent_of(server).serve(RUN, Work(lambda agent: bool(server.hellos)))
    assert [hello.run for hello in server.hellos] == [RUN]


def test_it_stops_when_told() -> None:
    server = FakeServer(Orders(end="stop"))
    agent = agent_of(server)
    agent.serve(RUN, Work(lambda agent: agent.wants_to_stop))
    assert agent.wants_to_stop


def test_what_is_somebody_elses_by_now_is_dropped_and_the_process_starts_anew() -> None:
    server, work = FakeServer(Orders(end="drop")), Work(lambda agent: False)
    agent, anew = agent_of(server), threading.Event()
    agent.start_anew = anew.set  # type: ignore[method-assign]
    agent.serve(RUN, work)
    assert work.dropped.is_set()
    assert anew.is_set()
    assert "dropped" in [beat.ended.how for beat in server.beats if beat.ended]


def test_one_that_is_told_to_leave_says_goodbye() -> None:
    server = FakeServer(Orders(leave=True))
    assert agent_of(server).await_order() is None
    assert server.left


def test_the_newest_word_on_who_has_what_is_kept_of_this_start_alone() -> None:
    older = RUN.model_copy(update={"attempt": 2, "elsewhere": {"b": "tm-9.1"}})
    newer = RUN.model_copy(update={"elsewhere": {"b": "tm-2.4"}})
    server = FakeServer(Orders(run=older), Orders(run=newer))
    agent = agent_of(server)
    agent.serve(RUN, Work(lambda agent: agent.elsewhere() != {}))
    assert agent.elsewhere() == {"b": "tm-2.4"}


def test_work_that_does_not_move_is_told_once_it_has_begun_to() -> None:
    server = FakeServer()
    agent = agent_of(server)

    def until(agent: Agent) -> bool:
        seen = [beat.stalled for beat in server.beats]
        if len(seen) == 2:
            agent.moves()
        if len(seen) > 5 and seen[-1] > 0.1:
            agent.rests()
        return len(seen) > 6 and seen[-1] == 0.0

    agent.serve(RUN, Work(until))
    stalled = [beat.stalled for beat in server.beats]
    assert stalled[:2] == [0.0, 0.0]
    assert max(stalled) > 0.1
    assert stalled[-1] == 0.0
