"""What of the JVM's and Spark's words reaches the terminal."""

from __future__ import annotations

from whorl.spark.noise import told

TRACE = b"Traceback (most recent call last):\n"
DAEMON = [TRACE, b'  File "x/pyspark.zip/pyspark/daemon.py", line 262, in manager\n', b"BrokenPipeError: [Errno 32]\n"]
USERS = [TRACE, b'  File "mine.py", line 1, in process\n', b"    1 / 0\n", b"ZeroDivisionError: division by zero\n"]


def test_only_noise_is_left_out() -> None:
    said = [b"hello\n", b"WARNING: Using incubator modules: x\n", *DAEMON, *USERS, TRACE, *DAEMON, b"bye\n", TRACE]
    assert list(told(said)) == [b"hello\n", *USERS, b"bye\n"]
