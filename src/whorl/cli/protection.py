"""How the job server is kept from strangers: tokens, the names it answers to, TLS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from whorl.errors import UsageError
from whorl.server.access import TOKENS, Access, access_of, is_loopback, refuse_strangers

TokensOption = Annotated[
    Path | None,
    typer.Option(
        "--tokens", metavar="FILE", help=f"Lines ROLE:TOKEN; {TOKENS} says them too, by comma.", show_default=False
    ),
]
AllowHostOption = Annotated[
    list[str] | None,
    typer.Option("--allow-host", metavar="NAME", help="A further name of this server; may be repeated."),
]
CertOption = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", help="Serve by TLS, with this certificate.")
]
KeyOption = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="The certificate's private key.")]
_EVERYWHERE = ("0.0.0.0", "::")


@dataclass(frozen=True)
class Protection:
    access: Access
    hosts: Sequence[str]
    """That a request may name beside loopback; all, where there are none."""
    cert: Path | None
    key: Path | None

    def url(self, host: str, port: int) -> str:
        name = "127.0.0.1" if host in _EVERYWHERE else host
        return f"{'https' if self.cert else 'http'}://{f'[{name}]' if ':' in name else name}:{port}"

    @property
    def uvicorn(self) -> dict[str, Any]:
        """Open connections of those who wait for news must not hold up its end."""
        tls = {"ssl_certfile": str(self.cert), "ssl_keyfile": str(self.key)} if self.cert else {}
        return {"server_header": False, "timeout_graceful_shutdown": 3, **tls}

    @property
    def environment(self) -> dict[str, str]:
        """Of task managers that it starts: jobs' code runs in them, and learns no token of a user."""
        return {} if self.access.open else {"WHORL_TOKEN": self.access.manager_token, TOKENS: ""}

    @property
    def extra(self) -> tuple[str, ...]:
        return ("--ca", str(self.cert.absolute())) if self.cert else ()


def protection(
    host: str, tokens: Path | None, names: list[str] | None, cert: Path | None, key: Path | None
) -> Protection:
    access = access_of(tokens)
    refuse_strangers(access, host)
    if bool(cert) != bool(key):
        raise UsageError("--tls-cert and --tls-key go together", hint="give both", code="tls")
    for file in filter(None, (cert, key)):
        if not file.is_file():
            raise UsageError(f"there is no file '{file}'", hint="name a PEM file", code="tls")
    own = ["localhost"] if is_loopback(host) else []
    return Protection(access, [*own, *(name.lower() for name in names or ())], cert, key)
