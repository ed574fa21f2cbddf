"""Jobs of a random month: attempts, steps, saves, failures, and what their GPUs do meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from tests.oracle.world import ACCOUNTS, CLUSTER, MIB, Busy, Machine, Row, World, time_of


@dataclass(frozen=True)
class Place:
    """One GPU of an attempt: rank is its place among all of them."""

    rank: int
    machine: Machine
    index: int

    @property
    def uuid(self) -> str:
        """The GPU."""
        return self.machine.uuids[self.index]


def play_job(world: World, job_id: str) -> None:
    """Play one job on GPUs that are free, with up to three attempts."""
    rng = world.rng
    machines = [rng.choice(world.machines)]
    others = [m for m in world.machines if m.node != machines[0].node]
    if others and world.chance(0.2):
        machines.append(rng.choice(others))
    places: list[Place] = []
    for machine in machines:
        held = rng.sample(range(len(machine.uuids)), rng.randint(1, len(machine.uuids)))
        places += [Place(len(places) + i, machine, index) for i, index in enumerate(sorted(held))]
    kind = rng.choice(("train", "train", "train", "blackbox", "notebook", "untouched"))
    account, logs = rng.choice(ACCOUNTS), world.chance(0.9)
    saves = kind == "train" and world.chance(0.7)
    step, submit = 0, 0
    kept: int | None = None
    for attempt in range(rng.choice((1, 1, 1, 2, 3))):
        start = max(p.machine.free[p.index] for p in places)
        start += rng.choice((0, 3, rng.randrange(1, 60), rng.randrange(1, 1500)))
        start = max(start, *(p.machine.start for p in places))
        last = min(p.machine.end for p in places)
        if start + 60 >= last:
            return
        end = min(last, start + rng.randrange(60, 4500))
        failed = attempt < 2 and world.chance(0.4)
        running = not failed and end == world.end and world.chance(0.5)
        for place in places:
            place.machine.free[place.index] = end
        submit = submit or start - rng.randrange(0, 900)
        _attempt_rows(
            world, job_id, places, (start, end), submit=submit, account=account, failed=failed,
            running=running, is_interactive=kind == "notebook",
        )  # fmt: skip
        if kind == "train":
            step, kept = _train(
                world, job_id, attempt, places, (start, end), step, kept, logs=logs, saves=saves
            )
        else:
            _other(world, kind, places, (start, end))
        if not failed:
            return
        submit = end


def _attempt_rows(
    world: World, job_id: str, places: list[Place], span: tuple[int, int], *, submit: int,
    account: str, failed: bool, running: bool, is_interactive: bool,
) -> None:  # fmt: skip
    rng = world.rng
    lost = ("FAILED", "FAILED", "NODE_FAIL", "PREEMPTED", "REQUEUED")
    done = ("COMPLETED", "COMPLETED", "COMPLETED", "CANCELLED", "TIMEOUT", "FAILED")
    state = "RUNNING" if running else rng.choice(lost if failed else done)
    nodes = list(dict.fromkeys(p.machine.node for p in places))
    row: Row = {
        "cluster": CLUSTER, "job_id": job_id, "job_label": job_id, "submit": time_of(submit),
        "start": time_of(span[0]), "end": None if running else time_of(span[1]), "state": state,
        "exit_code": int(state == "FAILED"), "user_name": "u", "account": account,
        "partition": "p", "job_name": "random", "gpu_count": len(places),
        "gpu_types": f"h200={len(places)}", "nodes": nodes,
        "suspended_us": rng.choice((0, 0, 0, rng.randrange(min(600, span[1] - span[0])))) * 10**6,
        "is_interactive": is_interactive,
    }  # fmt: skip
    if not running and world.chance(0.1):
        # An export of an earlier hour shows the same incarnation while it ran.
        world.put("job_attempt", "sacct-earlier.psv", **(row | {"end": None, "state": "RUNNING"}))
    world.put("job_attempt", "sacct.psv", **row)
    for place in places:
        world.put(
            "job_gpu", "scontrol.txt", cluster=CLUSTER, job_id=job_id, start=time_of(span[0]),
            node=place.machine.node, gpu_index=place.index, gpu_type="h200",
        )  # fmt: skip


def _train(
    world: World, job_id: str, attempt: int, places: list[Place], span: tuple[int, int],
    first_step: int, kept: int | None, *, logs: bool, saves: bool,
) -> tuple[int, int | None]:  # fmt: skip
    """Play a training attempt that begins at a step, with the checkpoint of step `kept` if any.

    Returns the same two for a later attempt: it runs the saved step again, or begins after it.
    """
    rng = world.rng
    startup = rng.choice((rng.randrange(5, 120), rng.randrange(5, 1500)))
    length, every = rng.randrange(15, 120), rng.randrange(2, 7)
    tail = rng.choice((0, 5, rng.randrange(1, 1200)))
    at = float(span[0] + startup)
    if world.chance(0.6):
        for place in places:
            world.busy[place.uuid].append(Busy(span[0], at, 0.05, rng.choice((0, 400 * MIB))))
    if kept is not None and at < span[1] and world.chance(0.7):
        began = max(span[0], at - rng.randrange(1, 60))
        _checkpoint(world, job_id, attempt, "restore", kept, began, at)
    resume, step = first_step, first_step
    while at + length <= span[1] - tail:
        saving = saves and step % every == 0 and step > 0
        pause = rng.randrange(1, 40) if saving else 0
        end = at + length + pause
        if end > span[1] - tail:
            break
        for place in places:
            late = 0.0 if place.rank == 0 else rng.uniform(0, 0.2)
            start_ns, end_ns = int((at + late) * 10**9), int((end - late) * 10**9)
            if logs:
                _step_row(world, job_id, attempt, place, len(places), step, start_ns, end_ns)
            world.busy[place.uuid].append(
                Busy(at, at + length, rng.uniform(0.3, 1), rng.randrange(MIB * 200),
                     rng.randrange(MIB * 900) if len(places) > 1 else 0)
            )  # fmt: skip
        if saving:
            _checkpoint(world, job_id, attempt, "save", step, at + length, end)
            resume, kept = step + rng.choice((0, 1)), step
        at = end + rng.choice((0.0, 0.01, 0.5, 0.0, 0.01, float(rng.randrange(1, 600))))
        step += 1
    if logs and step > first_step:
        for place in places:
            world.cover(
                "steps", _log(job_id, attempt, place.rank), span[0] + startup, at,
                cluster=CLUSTER, job_id=job_id, attempt=attempt,
            )  # fmt: skip
    return resume, kept


def _log(job_id: str, attempt: int, rank: int) -> str:
    return f"steps/{job_id}_{attempt}_{rank}.jsonl"


def _step_row(
    world: World, job_id: str, attempt: int, place: Place, ranks: int, step: int, start_ns: int,
    end_ns: int,
) -> None:  # fmt: skip
    world.put(
        "train_step", _log(job_id, attempt, place.rank), cluster=CLUSTER, job_id=job_id,
        attempt=attempt, rank=place.rank if ranks > 1 else None, step=step, start_ns=start_ns,
        end_ns=end_ns, tokens=1024, model_flops=Decimal(10**15), loss=1.0,
    )  # fmt: skip


def _checkpoint(
    world: World, job_id: str, attempt: int, event: str, step: int, start: float, end: float
) -> None:
    world.put(
        "checkpoint", "checkpoints.jsonl", cluster=CLUSTER, job_id=job_id, attempt=attempt,
        event=event, step=step, start_ns=int(start * 10**9), end_ns=int(end * 10**9),
        blocking=world.chance(0.9),
    )  # fmt: skip


def _other(world: World, kind: str, places: list[Place], span: tuple[int, int]) -> None:
    """A job that logs nothing: busy and quiet by turns, mostly quiet, or never busy."""
    rng = world.rng
    longest = {"blackbox": (1500, 500), "notebook": (90, 2000), "untouched": (0, 0)}[kind]
    for place in places:
        at = float(span[0] + rng.randrange(0, 700))
        while at < span[1] and longest[0]:
            end = min(span[1], at + rng.randrange(1, longest[0]))
            world.busy[place.uuid].append(
                Busy(at, end, rng.uniform(0.02, 1), rng.choice((0, rng.randrange(MIB * 300))))
            )
            at = end + rng.randrange(1, longest[1])
