"""The curl lines of docs/server-api.md, one after the other against the REST side; what it runs on is made up, as jobs take minutes."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.server.fake import FakeServer
from tests.server.serving import served

from whorl.server.api import make_api

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "server-api.md").read_text()
LINES = [line for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S) for line in block.splitlines() if line]
REFUSED = {"http://127.0.0.1:8765/jobs/nobody": 404}


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not there")
def test_every_curl_line_of_the_page_works(tmp_path: Path) -> None:
    for file in (ROOT / "examples" / "cards").iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    assert sum(line.startswith("curl") for line in LINES) > 20
    with served(make_api(FakeServer())) as url:
        for line in LINES:
            command = line.replace("http://127.0.0.1:8765", url)
            if line.startswith("curl"):
                command = command.replace("curl -s", "curl -s -w '%{http_code}' -o answer", 1)
            done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, (line, done.stderr)
            if line.startswith("curl"):
                wanted = next((status for part, status in REFUSED.items() if part in line), None)
                answer = (tmp_path / "answer").read_text() if (tmp_path / "answer").exists() else ""
                assert int(done.stdout) == wanted if wanted else 200 <= int(done.stdout) < 300, (
                    line,
                    done.stdout,
                    answer,
                )


def test_the_error_of_the_page_is_what_the_server_says() -> None:
    shown = re.search(r'^\{"type".*"no-job".*\}$', PAGE, re.M)
    assert shown
    with served(make_api(FakeServer())) as url:
        asked = subprocess.run(["curl", "-s", f"{url}/jobs/nobody"], capture_output=True, text=True, timeout=60)
    assert asked.stdout == shown[0]
