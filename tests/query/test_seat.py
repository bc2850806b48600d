from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from spark_on_paper import COMPONENT, LEDGER, UID, InTurn, Paper

from whorl.errors import Superseded
from whorl.query.ledger import Ledger
from whorl.query.seat import Chairs, Seat, SeatOrder, Seats
from whorl.testing.memory import MemoryClients

ORDER = SeatOrder(LEDGER, UID, COMPONENT, run=1, timeout=300.0)


@pytest.fixture(autouse=True)
def one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whorl.query.ledger.ThreadPoolExecutor", InTurn)


@pytest.fixture
def clients() -> MemoryClients:
    clients = MemoryClients(Paper().broker)
    take(clients)
    return clients


def take(clients: MemoryClients) -> None:
    Ledger(clients, LEDGER, UID, COMPONENT).take()


def test_a_process_keeps_its_seat_for_a_run(clients):
    seats = Seats(lambda uid: "one")
    first = seats.seat(clients, ORDER)
    assert seats.seat(clients, ORDER) is first
    take(clients)
    second = seats.seat(clients, replace(ORDER, run=2))
    assert second is not first and seats.seat(clients, replace(ORDER, run=2)) is second


def test_components_have_seats_of_their_own(clients):
    clients.broker.create_topic("other", 3)
    Ledger(clients, "other", UID, "second").take()
    seats = Seats(lambda uid: "one")
    first = seats.seat(clients, ORDER)
    assert seats.seat(clients, replace(ORDER, ledger="other", component="second")) is not first
    assert seats.seat(clients, ORDER) is first


def test_a_seat_that_was_left_is_not_used_again(clients):
    seats = Seats(lambda uid: "one")
    first = seats.seat(clients, ORDER)
    seats.leave(ORDER)
    seats.leave(ORDER)
    assert seats.seat(clients, ORDER) is not first


def test_nobody_sits_down_in_a_run_that_is_over(clients):
    take(clients)
    seats = Seats(lambda uid: "one")
    for _ in range(2):
        with pytest.raises(Superseded, match="another driver runs 'totals' now"):
            seats.seat(clients, ORDER)


def test_a_seat_is_noted_before_the_run_is_read(clients):
    Seat(clients, ORDER, "one")
    points = clients.faults.points
    noted = len(points) - points[::-1].index("producer.commit_transaction/answer")
    assert "consumer.assign" in points[noted:]
    assert points.index("producer.init_transactions/answer") < noted


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_process_keeps_its_chair(temporary):
    chairs = Chairs()
    assert chairs.name("u1") == chairs.name("u1") != chairs.name("u2")
    assert len(list((temporary / f"whorl-{os.getuid()}-u1").iterdir())) == 1


def test_two_processes_never_have_the_same_chair_and_a_dead_ones_is_used_again(temporary):
    code = (
        "import sys, tempfile; tempfile.tempdir = sys.argv[1]\n"
        "from whorl.query.seat import Chairs\n"
        "chairs = Chairs(); print(chairs.name('u1'), flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(temporary)]
    other = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    taken = other.stdout.readline().strip()
    mine = Chairs()
    assert len(taken) == len(mine.name("u1")) == 12
    assert mine.name("u1") != taken
    other.kill()
    other.communicate()
    assert Chairs().name("u1") == taken, "the name outlives its process"


def test_a_forked_process_does_not_share_its_parents_chair(temporary):
    chairs = Chairs()
    mine = chairs.name("u1")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, chairs.name("u1").encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100).decode() not in ("", mine)
    os.close(read)
    os.close(write)
