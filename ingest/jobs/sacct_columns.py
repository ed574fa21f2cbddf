"""The columns of sacct: what their values look like, which hold free text, which are landed."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ingest.jobs.layout import Check, Grammar
from ingest.jobs.slurm_text import is_time

_EXPORT = (
    "TZ=UTC SLURM_TIME_FORMAT=%s sacct --allusers --duplicates --parsable2"
    " --starttime=FROM --endtime=TO --format=JobIDRaw,JobID,Cluster,User,Account,Partition,QOS,"
    "State,ExitCode,Submit,Start,End,ElapsedRaw,Suspended,AllocTRES,NodeList,JobName"
)
_NAME = r"[^\s=|]*"
_ID_RAW = re.compile(r"\d+(\.\w+)?")
_ID = re.compile(r"(\d+)([_+](\d+|\[[^\]]*\]))?(\+\d+)?(\.\w+)?")
_STATE = re.compile(r"[A-Z][A-Z_]*\+?( by \S+)?")
_ELAPSED = re.compile(r"((\d+-)?(\d+:)?\d+:\d\d(\.\d+)?)|INVALID|UNLIMITED|Partition_Limit|")
_TRES = re.compile(r"([\w/:.\-]+[=:][^,=\s()]*(\([^()]*\))?(,|$))*")


def _matches(pattern: str | re.Pattern[str]) -> Check:
    return re.compile(pattern).fullmatch


def _consistent(cells: Mapping[str, str]) -> bool:
    raw, shown = cells.get("JobIDRaw"), cells.get("JobID")
    # Only arrays and heterogeneous jobs are shown under another number than their own.
    return raw is None or shown is None or not shown.isdecimal() or raw == shown


_NUMBER, _ELAPSED_OK, _TRES_OK = _matches(r"\d*"), _matches(_ELAPSED), _matches(_TRES)
GRAMMAR = Grammar(
    command="sacct --parsable2",
    export=_EXPORT,
    required=(
        ("JobIDRaw", "JobID"), ("State",), ("Submit",), ("Start",), ("End",), ("AllocTRES",),
        ("NodeList",),
    ),
    checks={
        "JobIDRaw": _matches(_ID_RAW), "JobID": _matches(_ID), "State": _matches(_STATE),
        "Submit": is_time, "Start": is_time, "End": is_time, "AllocTRES": _TRES_OK,
        "ElapsedRaw": _NUMBER, "Suspended": _ELAPSED_OK,
        "ExitCode": _matches(r"(\d+:\d+)?"),
        "NodeList": _matches(r"[\w.\-\[\],]*|None assigned|\(null\)"),
    },
    anchors={
        **dict.fromkeys(
            ("User", "Account", "Partition", "QOS", "Cluster", "McsLabel", "Reservation"),
            _matches(_NAME),
        ),
        "Layout": _matches(r"[A-Za-z]*"),
        **dict.fromkeys(("ReqTRES",), _TRES_OK),
        **dict.fromkeys(("Elapsed", "Planned", "Reserved", "Timelimit"), _ELAPSED_OK),
        **dict.fromkeys(
            ("UID", "GID", "Priority", "DBIndex", "TimelimitRaw", "AssocID", "QOSRAW", "Restarts"),
            _NUMBER,
        ),
        # Never blank, so that a shift by one column shows between columns that mostly are.
        **dict.fromkeys(
            ("NNodes", "NCPUS", "AllocCPUS", "AllocNodes", "ReqCPUS", "ReqNodes", "CPUTimeRAW"),
            _matches(r"\d+"),
        ),
        "NodeList": _matches(r"(?=.*[A-Za-z])[\w.\-\[\],]+|None assigned|\(null\)|"),
        "DerivedExitCode": _matches(r"(\d+:\d+)?"),
        "Eligible": lambda text: text == "" or is_time(text),
    },
    free=frozenset({
        "JobName", "Comment", "AdminComment", "SystemComment", "SubmitLine", "WorkDir", "Extra",
        "Container", "StdErr", "StdIn", "StdOut", "WCKey", "Constraints", "Licenses",
    }),
    landed=frozenset({
        "JobIDRaw", "JobID", "Cluster", "User", "Account", "Partition", "QOS", "State", "ExitCode",
        "Submit", "Start", "End", "ElapsedRaw", "Suspended", "AllocTRES", "NodeList", "JobName",
    }),
    starts=("JobIDRaw", "JobID"),
    consistent=_consistent,
)  # fmt: skip
