"""`plumbline report`: what is shown adds up, from the invoice down to the bucket."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest

from pipelines.report import KERNELS, dollar_places
from pipelines.terminal import CLASSES
from tests.pipelines.command import CONFIG, call, cluster, done, failed
from tests.pipelines.published import Published
from tests.pipelines.test_command_run import DECEMBER
from tests.pipelines.tiny_trace import traced

Table = list[dict[str, str]]


def tables(text: str) -> dict[str, Table]:
    """The printed tables by the first word of their title: rows by column head.

    Cells are cut where the line of heads has its columns, so empty ones stay empty.
    """
    found: dict[str, Table] = {}
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if line and set(line) == {"─"}:
            heads = [m.span() for m in re.finditer(r"\S+(?: \S+)*", lines[i - 1])]
            rows = []
            for row in lines[i + 1 :]:
                if not row:
                    break
                if row.strip():
                    rows.append(_cells(row, lines[i - 1], heads))
            # the rows after the blank line of a total
            rest = lines[i + 1 + len(rows) + 1 : i + 1 + len(rows) + 2]
            rows.extend(_cells(r, lines[i - 1], heads) for r in rest if r.startswith("all"))
            found[lines[i - 2].split()[0].rstrip(":")] = rows
    return found


def _cells(row: str, head: str, spans: list[tuple[int, int]]) -> dict[str, str]:
    """A cell is what overlaps its head, out to where blanks begin on both sides."""
    cells = {}
    for start, end in spans:
        left, right = start, end
        while left > 0 and row[left - 1 : left].strip() and row[left - 2 : left].strip():
            left -= 1
        while right < len(row) and row[right - 1 : right + 1].strip():
            right += 1
        cells[head[start:end]] = row[left:right].strip()
    return cells


def number(text: str) -> Decimal:
    return Decimal(text.replace(",", "") or 0)


@pytest.fixture(scope="module")
def printed(demo: Path) -> str:
    return done("report", config=demo)


@pytest.fixture(scope="module")
def shown(printed: str) -> dict[str, Table]:
    return tables(printed)


def test_every_invoice_reconciles(shown: dict[str, Table]) -> None:
    rows = shown["Reconciliation"]
    assert [row["charge"] for row in rows] == ["Usage", "Purchase", "Tax", "Credit", ""]
    assert {row["difference"] for row in rows} == {"0"}
    assert {row["wrong lines"] for row in rows} == {"0"}
    for row in rows:
        assert row["billed USD"] == row["allocated USD"]
        assert row["billed GPU-h"] == row["parted GPU-h"]
    assert number(rows[-1]["lines"]) == 9


def test_teams_add_up_to_the_invoice_that_is_shown(shown: dict[str, Table]) -> None:
    *teams, total = shown["Showback"]
    assert len(teams) == 6
    for head in total:
        if head != "team":
            assert sum(number(row[head]) for row in teams) == number(total[head])
    for row in (*teams, total):
        parts = ("direct USD", "shared USD", "tax USD", "credit USD")
        assert sum(number(row[part]) for part in parts) == number(row["billed USD"])
    assert total["billed USD"] == shown["Reconciliation"][-1]["billed USD"]


def test_classes_and_buckets_add_up_to_their_team(shown: dict[str, Table]) -> None:
    *classes, total = shown["Effective"]
    teams = {row["team"]: row for row in shown["Showback"]}
    buckets: dict[tuple[str, str], list[dict[str, str]]] = {}
    team = name = ""
    for row in shown["Where"]:
        team = row["team"] or team
        name = row["class"] or name
        buckets.setdefault((team, name), []).append(row)
    for row in classes:
        own = teams[row["team"]]
        assert sum(number(row.get(head, "")) for head in CLASSES) == number(own["effective USD"])
        parts = [part for (t, _), rows in buckets.items() if t == row["team"] for part in rows]
        assert sum(number(part["GPU-h"]) for part in parts) == number(own["GPU-h"])
        for head in set(CLASSES) & row.keys():
            cells = [number(p["effective USD"]) for p in buckets.get((row["team"], head), [])]
            assert sum(cells) == number(row[head])
    for head in set(CLASSES) & total.keys():
        assert sum(number(row[head]) for row in classes) == number(total[head])


def test_each_bucket_is_less_than_a_unit_from_its_exact_value(
    shown: dict[str, Table], recorded: tuple[Published, object, object]
) -> None:
    exact = {
        (row["team"], row["bucket"], row["cause"]): row["effective_usd"]
        for row in recorded[0].rows(
            "select team, bucket, cause, sum(effective_usd) as effective_usd "
            "from waste_team_month group by all"
        )
    }
    team, seen = "", 0
    for row in shown["Where"]:
        team = row["team"] or team
        cell = number(row["effective USD"])
        # one unit per level: team, class, bucket
        assert abs(cell - exact[team, row["bucket"], row["cause"]]) < 3 * Decimal("0.0001")
        seen += 1
    assert seen == len(exact)


def test_the_ladder_shows_the_straggler_and_the_one_that_waits(shown: dict[str, Table]) -> None:
    rows = shown["What"]
    at = next(i for i, row in enumerate(rows) if row["job"] == "h200/2002")
    whole, waits, straggles = rows[at : at + 3]
    assert whole["name"] == "straggler"
    assert (waits["rank"], straggles["rank"]) == ("0", "1")
    assert abs(float(waits["GPU-Util"]) - 95.6) < 1
    assert abs(float(straggles["GPU-Util"]) - 22.6) < 1
    spin = next(row for row in rows if row["job"] == "h200/1006")
    assert abs(float(spin["GPU-Util"]) - 98.1) < 1
    assert abs(float(spin["SM"]) - 0.74) < 0.1
    assert abs(float(rows[0]["MFU"]) - 57.5) < 1


def test_the_dearest_kernels_and_the_rank_that_others_waited_for(
    printed: str, shown: dict[str, Table], recorded: tuple[Published, object, object]
) -> None:
    kernels = [row for row in shown["The"] if row["jobs"]]  # without second lines of long names
    assert 0 < len(kernels) <= KERNELS
    dollars = [number(row["billed USD"]) for row in kernels]
    assert dollars == sorted(dollars, reverse=True)
    assert all(number(row["loaded USD"]) >= number(row["billed USD"]) for row in kernels)
    (exact,) = recorded[0].rows(
        """
        select sum(case when kernel_family <> '(not traced)' then gpu_ns end) / sum(gpu_ns) as part
        from kernel_cost where bucket is not null
        """
    )
    assert f"traces divide {float(exact['part']) * 100:.1f} % of the time" in printed
    late = shown["Stragglers"]
    first = late[0]
    assert (first["job"], first["rank"], first["node"]) == ("h200/2002", "1", "gpu-node-1")
    assert (first["GPU"], first["traces fit"]) == ("GPU-d7611478", "yes")
    assert {row["traces fit"] for row in late if row["job"] != "h200/2002"} == {"no"}
    assert all(number(row["others waited GPU-s"]) > 0 for row in late)


def test_without_traces_neither_kernels_nor_stragglers_are_shown(tmp_path: Path) -> None:
    config = cluster(tmp_path)
    done("run", config=config)
    text = done("report", config=config)
    assert "dearest kernels" not in text
    assert "Stragglers" not in text


def test_kernels_of_a_few_traced_jobs_say_how_much_they_speak_for(tmp_path: Path) -> None:
    config = traced(tmp_path, ranks=(0,))
    done("run", config=config)
    text = done("report", config=config)
    assert "The dearest kernels: traces divide 100.0 % of the time" in text
    assert "Stragglers" not in text  # nobody can be said to wait for a rank without a trace


def test_a_scope_can_be_chosen(demo: Path) -> None:
    text = done("report", "--scope", "first_to_last_step", config=demo)
    row = tables(text)["What"][0]
    assert "from the first step to the last" in text
    assert abs(float(row["MFU"]) - 57.1) < 0.5
    assert "all that the job held" in done("report", "--scope", "allocated", config=demo)
    assert "Invalid value" in failed("report", "--scope", "steps", code=2, config=demo)


def test_lost_work_and_idle_notebooks(shown: dict[str, Table]) -> None:
    (lost,) = shown["Interruptions"]
    assert (lost["job"], lost["att"], lost["restored step"]) == ("h200/1010", "0", "40")
    assert abs(float(lost["lost GPU-s"]) - 1.133) < 0.01
    assert {row["job"] for row in shown["Idle"]} == {"h200/1009", "h200/2005"}
    assert all(row["GPU"].startswith("GPU-") and len(row["GPU"]) == 12 for row in shown["Idle"])


def test_bars_are_as_long_as_the_teams_part(printed: str, shown: dict[str, Table]) -> None:
    lines = printed.split("Billed GPU-hours per team, by class\n")[1].split("\n\n")[0].splitlines()
    *bars, legend = lines
    assert all(name in legend for name in CLASSES)
    marks = "".join(mark for _, mark, _ in CLASSES.values())
    lengths = [len(re.findall(f"[{re.escape(marks)}]", bar.split("  ", 1)[1])) for bar in bars]
    hours = [number(row["GPU-h"]) for row in shown["Showback"][:-1]]
    assert max(lengths) == 44
    for length, own in zip(lengths, hours, strict=True):
        assert abs(length - 44 * own / max(hours)) < 1


def test_only_the_top_rows_and_how_to_see_all(demo: Path) -> None:
    text = done("report", "--top", 1, config=demo)
    assert "1 of 16. All: plumbline report --top 16" in text
    assert "1 of 3. All: plumbline report --top 3, or the table idle_sessions" in text
    assert [row["job"] for row in tables(text)["What"]] == ["h200/2001", "", ""]  # and its ranks


def test_plain_lines_have_no_blanks_at_their_end(printed: str) -> None:
    assert all(line == line.rstrip() for line in printed.splitlines())
    assert "\x1b" not in printed


def test_before_the_first_run(tmp_path: Path) -> None:
    config = cluster(tmp_path)
    assert "no month is published there. Run `plumbline run`" in failed(
        "report", code=1, config=config
    )


def test_the_latest_month_unless_another_is_asked_for(tmp_path: Path) -> None:
    config = cluster(tmp_path, lines=[{}, DECEMBER])
    done("run", config=config)
    text = done("report", config=config)
    assert "December 2026" in text
    assert text.endswith("Also published: 2026-11 (--month).\n")
    text = done("report", "--month", "2026-11", config=config)
    assert "November 2026" in text
    assert "Also published" not in text
    assert "2026-09 is not published" in failed(
        "report", "--month", "2026-09", code=1, config=config
    )


def test_a_large_bill_is_shown_in_cents_that_add_up(tmp_path: Path) -> None:
    third = [
        {"JobIDRaw": str(n), "JobID": str(n), "Account": f"a{n}", "Start": str(1794304800 + s),
         "End": str(1794304800 + s + 1200)}
        for n, s in ((1, 0), (2, 1200), (3, 2400))
    ]  # fmt: skip
    config = cluster(
        tmp_path, lines=[{"BilledCost": "1000", "EffectiveCost": "1000", "ListCost": "1000"}],
        jobs=third, teams=[{"key": f"a{n}", "team": f"team {n}"} for n in (1, 2, 3)],
    )  # fmt: skip
    done("run", config=config)
    shown = tables(done("report", config=config))
    assert [row["billed USD"] for row in shown["Showback"]] == [
        "333.34", "333.33", "333.33", "1,000.00",
    ]  # fmt: skip
    assert [row["GPU-h"] for row in shown["Showback"]] == ["0.6667", "0.6667", "0.6666", "2.0000"]


@pytest.mark.parametrize(
    ("usd", "places"), [("0", 4), ("99.99", 4), ("-99.99", 4), ("100", 2), ("-100", 2)]
)
def test_small_bills_are_shown_finer(usd: str, places: int) -> None:
    assert dollar_places(Decimal(usd)) == places


def test_a_bill_without_any_gpu(tmp_path: Path) -> None:
    line = {"ResourceId": "", "SkuPriceDetails": "", "ConsumedUnit": "GB"}
    config = cluster(tmp_path, lines=[line], jobs=[], gpus=[], teams=[])
    done("run", config=config)
    text = done("report", config=config)
    assert tables(text)["Showback"][0]["team"] == "platform"
    assert "No ladder: nothing was read" in text
    assert "No attempt ended early." in text
    assert "No idle session." in text
    assert "Billed GPU-hours per team" not in text


def test_a_bill_with_unread_lines_is_not_called_whole(tmp_path: Path, printed: str) -> None:
    assert "Reconciliation: every line of the bill is allocated" in printed
    assert "could not be read" not in printed
    config = cluster(tmp_path, lines=[{}, {"BilledCost": "many"}])
    done("run", config=config)
    text = done("report", config=config).splitlines()
    at = text.index("Reconciliation: every line that was read is allocated to the last digit")
    assert text[at + 1] == (
        '1 record of the bill could not be read (plumbline sql "select * from reject where source '
        "= 'focus_csv'\"): what follows is not the whole invoice."
    )
    assert text[at + 2].startswith("issuer")


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    config = cluster(
        tmp_path,
        lines=[{"InvoiceId": "[link=http://x]I[/link]", "InvoiceIssuerName": "\u202eevil"}],
        jobs=[{"JobName": "=cmd()[bold]\x1b]0;owned\x07"}],
        teams=[{"team": "[red]boss[/red]\x1b[2J"}],
        config=CONFIG,
    )
    done("run", config=config)
    result = call("report", config=config)
    assert result.exit_code == 0
    assert "[link=http://x]I[/link]" in result.stdout
    assert "\\u202eevil" in result.stdout
    assert "[red]boss[/red]\\u001b[2J" in result.stdout
    assert not set("\x1b\x07\u202e") & set(result.output)
