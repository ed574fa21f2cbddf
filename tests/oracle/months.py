"""Random months: a few GPUs for a few hours, as landing rows, for properties that must always hold.

`random_month(rng)` plays a small cluster through: machines that come and go, jobs with attempts,
steps, saves and failures, idle sessions, node events, and a bill that is nearly right. It returns
the rows that ingest would have landed, by contract name, with the contracts' column names (a null
column may be left out). Nothing here knows the product's rules; only the shapes of its input.

Everything is drawn from the one `random.Random`, so a seed gives the same month for ever. `taking`
takes sources away from it. T_idle is meant to be 300 s and the startup allowance 600 s.
"""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

from hypothesis import strategies as st

from tests.oracle.bill import write_bill
from tests.oracle.jobs import play_job
from tests.oracle.profiled import TABLES as TRACE_TABLES
from tests.oracle.profiled import profile_jobs
from tests.oracle.world import (
    ACCOUNTS,
    CLUSTER,
    EPOCH,
    MIB,
    PERIOD_S,
    Machine,
    Row,
    Tables,
    World,
    time_of,
)  # fmt: skip

#: When a month's work begins: inside a day, before a midnight, before the end of a month.
BEGINNINGS = (
    datetime(2026, 11, 10, 9, 12, tzinfo=UTC),
    datetime(2026, 11, 10, 22, 40, tzinfo=UTC),
    datetime(2026, 10, 31, 22, 50, tzinfo=UTC),
)
TABLES = (
    "bill_line", "bill_snapshot", "team_map", "gpu_inventory", "source_coverage", "job_attempt",
    "job_gpu", "node_event", "gpu_sample", "train_step", "checkpoint", "policy_window", "reject",
    *TRACE_TABLES,
)  # fmt: skip
#: Bits of gpu_sample.invalid_mask: places of the columns among its measured columns.
ENGINE_BIT, PCIE_BIT = 1 << 1, 1 << 9


def months() -> st.SearchStrategy[Tables]:
    """Hypothesis: months by seed. A failing example shows the seed, which is all that is needed."""
    return st.integers(0, 2**32 - 1).map(lambda seed: random_month(Random(seed)))


def random_month(rng: Random) -> Tables:
    """Play one month and return its landing rows by contract name."""
    begin = rng.choice(BEGINNINGS)
    start = int((begin - EPOCH).total_seconds()) + rng.randrange(1200)
    world = World(rng, start, start + rng.randrange(3600, 3 * 3600))
    for table in TABLES:
        world.tables[table] = []
    _machines(world)
    for number in range(rng.randrange(2, 5 + 3 * len(world.machines))):
        play_job(world, str(100 + number))
    _node_events(world)
    _samples(world)
    _scheduler_coverage(world)
    _teams_and_policies(world)
    write_bill(world)
    # Drawn from a copy: what else a seed means, and what is taken from it, stays what it was.
    world.rng = Random()
    world.rng.setstate(rng.getstate())
    profile_jobs(world)
    return world.tables


# --- machines, events, people -------------------------------------------------------------------


def _machines(world: World) -> None:
    rng, serial = world.rng, 0
    for n in range(rng.choice((1, 1, 2, 2, 3))):
        gpus = rng.choice((1, 1, 2, 4))
        up = [(world.start, world.end)]
        if world.chance(0.2):
            # The machine is replaced under the same name.
            at = rng.randrange(world.start + 600, world.end - 600)
            up = [(world.start, at), (at + rng.randrange(0, 300), world.end)]
        for start, end in up:
            serial += 1
            uuids = tuple(f"GPU-{serial:02d}-{i}" for i in range(gpus))
            machine = Machine(f"n{n}", f"i-{serial}", uuids, start, end, [start] * gpus)
            world.machines.append(machine)
            still_up = end == world.end and world.chance(0.2)
            for index, uuid in enumerate(uuids):
                world.busy[uuid] = []
                world.put(
                    "gpu_inventory", "inventory.csv", gpu_uuid=uuid, resource_id=f"i-{serial}",
                    cluster=CLUSTER, node=machine.node, gpu_index=index, gpu_model="NVIDIA H200",
                    start=time_of(start), end=None if still_up else time_of(end),
                )  # fmt: skip


def _node_events(world: World) -> None:
    rng = world.rng
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        machine = rng.choice(world.machines)
        kind = rng.choice(("down", "down", "fatal_xid", "drain", "maintenance", "boot"))
        start = rng.randrange(machine.start, machine.end)
        end = start + rng.randrange(10, 2400)
        subs = {"down": ("provider_fault", None), "maintenance": ("own_maintenance",)}
        world.put(
            "node_event", "events.psv", cluster=CLUSTER, node=machine.node,
            gpu_uuid=rng.choice(machine.uuids) if kind == "fatal_xid" else None,
            start=time_of(start), end=None if world.chance(0.1) else time_of(end), kind=kind,
            sub=rng.choice(subs.get(kind, (None,))), state=kind.upper(), reason="random",
        )  # fmt: skip
    world.cover("node_event", "events.psv", *_asked(world), cluster=CLUSTER)


def _scheduler_coverage(world: World) -> None:
    world.cover("scheduler", "sacct.psv", *_asked(world), cluster=CLUSTER)


def _asked(world: World) -> tuple[int, int]:
    """The time for which an export was asked: mostly all, sometimes less."""
    if world.chance(0.85):
        return world.start - 3600, world.end + 7200
    half = (world.start + world.end) // 2
    return world.rng.choice(((half, world.end + 7200), (world.start - 3600, half)))


def _teams_and_policies(world: World) -> None:
    rng, middle = world.rng, time_of((world.start + world.end) // 2)
    since = time_of(world.start - 90 * 86_400)
    for account in ACCOUNTS[:3]:
        spans: list[tuple[datetime, datetime | None]] = [(since, None)]
        if world.chance(0.2):
            spans = [(since, middle), (middle, None)]
        for valid_from, valid_to in spans:
            world.put(
                "team_map", "teams.csv", kind="account", key=account,
                team=account if valid_from == since else f"{account}-new",
                cost_centre="CC", valid_from=valid_from, valid_to=valid_to,
            )  # fmt: skip
    world.put(
        "team_map", "teams.csv", kind="bill_tag", key="tagged", team="tagged", valid_from=since
    )
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        start = rng.randrange(world.start, world.end)
        world.put(
            "policy_window", "plumbline.toml",
            kind=rng.choice(("maintenance", "reserve", "exempt_idle", "dispute")), owner="ops",
            cluster=rng.choice((None, CLUSTER)), node=rng.choice((None, "n0")),
            account=rng.choice((None, rng.choice(ACCOUNTS))), start=time_of(start),
            end=time_of(start + rng.randrange(60, 5400)), note="random",
        )  # fmt: skip


# --- samples ------------------------------------------------------------------------------------


def _samples(world: World) -> None:
    rng = world.rng
    for machine in world.machines:
        for uuid in machine.uuids:
            file = f"counters/{uuid}.csv"
            has_nvlink = len(machine.uuids) > 1 or world.chance(0.7)
            at = machine.start + rng.uniform(0, PERIOD_S)
            first = at - PERIOD_S
            while at <= machine.end:
                _sample(world, uuid, file, at + rng.uniform(-0.02, 0.02), has_nvlink)
                at += PERIOD_S
            world.cover("telemetry", file, first, at - PERIOD_S, cluster=CLUSTER, node=machine.node)


def _sample(world: World, uuid: str, file: str, at: float, has_nvlink: bool) -> None:
    rng = world.rng
    engine = pcie = nvlink = 0.0
    for busy in world.busy[uuid]:
        share = max(0.0, min(at, busy.end) - max(at - PERIOD_S, busy.start)) / PERIOD_S
        engine, pcie = engine + share * busy.engine, pcie + share * busy.pcie
        nvlink += share * busy.nvlink
    engine = min(1.0, engine) if engine else rng.choice((0.0, 0.0, 0.002))
    mask = 0
    row: Row = {
        "gpu_util_ratio": min(1.0, engine * 1.02), "engine_active_ratio": engine,
        "sm_active_ratio": engine * 0.9, "sm_occupancy_ratio": engine * 0.3,
        "tensor_active_ratio": engine * 0.4, "dram_active_ratio": engine * 0.5,
        "pcie_tx_bytes_s": int(pcie) + 2 * MIB, "pcie_rx_bytes_s": int(pcie) + 3 * MIB,
        "power_watts": 120 + 500 * engine, "fb_used_bytes": 2**30,
    }  # fmt: skip
    if has_nvlink:
        row |= {"nvlink_tx_bytes_s": int(nvlink), "nvlink_rx_bytes_s": int(nvlink)}
    if world.chance(0.01):
        row["engine_active_ratio"], mask = None, mask | ENGINE_BIT
    if world.chance(0.01):
        row["pcie_tx_bytes_s"], mask = None, mask | PCIE_BIT
    world.put(
        "gpu_sample", file, gpu_uuid=uuid, ts=time_of(at), period_us=PERIOD_S * 10**6,
        invalid_mask=mask, **row,
    )  # fmt: skip
