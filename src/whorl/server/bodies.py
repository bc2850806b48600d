"""What requests may say in their body. Each field may be left out, and so may the body."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

SavepointName = Annotated[
    str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="of the savepoint")
]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


class Order(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StopOrder(Order):
    savepoint: bool = Field(default=True, description="take one when all has stopped")
    name: SavepointName | None = None
    timeout: Seconds | None = Field(default=None, description="the longest it may take; else the setting stop_timeout")


class ResumeOrder(Order):
    savepoint: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        default=None, description="PIPELINE/NAME or a folder; else the newest of the job"
    )


class SavepointOrder(Order):
    name: SavepointName | None = None


class RescaleOrder(Order):
    tasks: int | None = Field(default=None, ge=1, le=10_000, description="of each component")
    partitions: int | None = Field(default=None, ge=1, le=100_000, description="logical partitions")
    dry_run: bool = Field(default=False, description="say what would be done, and do nothing")


class SubmitOrder(Order):
    """A pipeline and its files as text, so that curl alone can submit."""

    file: str = Field(
        default="pipeline.yaml", min_length=1, max_length=500, description="the pipeline file, of `files`"
    )
    files: dict[str, str] = Field(description="text by relative path: the pipeline, Python modules, whorl.yaml")
    name: str | None = Field(default=None, max_length=200, description="of the job; else the pipeline's")
    settings: list[str] = Field(default_factory=list, max_length=200, description="name=value, as --set takes them")
    profile: str | None = Field(default=None, max_length=200, description="of the whorl.yaml among the files")


class Login(Order):
    token: str = Field(min_length=1, max_length=1000)


class Session(Order):
    """Who asks, as the server knows it."""

    role: str = Field(description="viewer, operator or admin")
    csrf: str = Field(default="", description="to be sent as X-CSRF-Token with all that changes something")
    open: bool = Field(default=False, description="no tokens are set: whoever reaches this port may do all")
