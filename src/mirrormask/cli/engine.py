"""Where a command does its work: the options that say so, and the engine they name."""

from __future__ import annotations

import typer

from mirrormask.core.engines import Engine, PlainEngine
from mirrormask.core.errors import MirrormaskError, at_least, one_of
from mirrormask.core.ray_engine import RayEngine

ENGINES = ("plain", "ray")

EngineName = typer.Option("plain", "--engine", help="Where it is encoded: plain, in this process, or ray, by workers.")
Address = typer.Option(
    None, "--address", help="A Ray cluster: auto, host:port or ray://host:port.", show_default="this machine"
)
Workers = typer.Option(
    None, "--workers", help="Processes of Ray that encode.", show_default="one for each GPU, else each core"
)


def engine_named(name: str, *, address: str | None = None, workers: int | None = None) -> Engine:
    """Return an engine.

    Args:
        name: one of `ENGINES`.
        address: of a Ray cluster; by default a session of its own on this machine.
        workers: processes of Ray that encode; by default one for every GPU, or every core where there is none.
    """
    if one_of("engine", name, ENGINES, of="this command") == "plain":
        for option, value in (("--address", address), ("--workers", workers)):
            if value is not None:
                raise MirrormaskError(f"{option} is for Ray. Add --engine ray, or leave it out.")
        return PlainEngine()
    return RayEngine(address, None if workers is None else at_least("workers", workers, 1, of="the ray engine"))
