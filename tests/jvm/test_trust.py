from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from whorl.jvm.java import find_java
from whorl.jvm.trust import PASSWORD, trusted_certificates, write_key_store


def test_java_reads_the_store(tmp_path: Path) -> None:
    keytool = find_java().executable.with_name("keytool")
    certificates = trusted_certificates()[:3]
    if not keytool.exists() or not certificates:
        pytest.skip("needs keytool and a listed certificate")
    store = tmp_path / "trusted.jks"
    write_key_store(certificates, store)
    command = [str(keytool), "-list", "-keystore", str(store), "-storepass", PASSWORD]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    assert said.count("trustedCertEntry") == len(certificates), said
