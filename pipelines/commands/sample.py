"""`plumbline sample`."""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.cli import Settings, common


@click.command("sample")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", default="counters",
    show_default=True, help="Folder of the files: DIR/NODE/GPU-UUID-HOUR.csv.",
)  # fmt: skip
@click.option(
    "--period", "period_s", type=click.FloatRange(min=0.1), metavar="SECONDS", default=1.0,
    show_default=True, help="Time between two samples of a GPU.",
)  # fmt: skip
@click.option(
    "--node", metavar="NAME", help="The node's name at the scheduler. Default: the host's."
)
@common
@click.pass_obj
def command(settings: Settings, out: Path, period_s: float, node: str | None) -> None:
    """Sample the GPUs of this host, for hosts without DCGM; runs until it is stopped.

    Utilisation, power, energy, clock, memory, temperature and processes of each GPU over NVML, and
    on Hopper and newer SM, tensor and memory activity (GPM). Kind nvml_csv reads the files, with
    pattern = ["counters/{node}/{gpu_uuid}*.csv"]. Needs no configuration.

    \b
    Example:
      plumbline sample --out /var/spool/plumbline/counters
    """
    import signal

    from ingest.counters.sampler import sample

    # A service is stopped by SIGTERM: files are closed as with Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sample(out, period_s=period_s, node=node)
