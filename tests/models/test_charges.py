"""Where each line's money goes, and that its parts are the line: exactly, on each basis alone."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.models.harness import Rows, expect, failed_checks, filled, run_model

PICO = Decimal("0.000000000001")


# --- int_charge_target ----------------------------------------------------------------------------

LINE = {
    "charge_category": "Usage", "is_unused": "false", "month": "2026-11-01", "billed_gpu_ns": "0",
}  # fmt: skip


def test_a_gpu_line_and_its_companion_go_to_all_rows_and_only_the_line_brings_time() -> None:
    expect(
        "int_charge_target",
        {
            "stg_bill_line": filled("line_id | resource_id\ngpu | i-1\ndisk | i-1\n", **LINE),
            "int_bundle_line": """
            bundle_id | line_id | billed_gpu_ns
            1         | gpu     | 100
            1         | disk    | 0
            2         | disk    | 0
            """,
            "int_state": """
            bundle_id | row_no | gpu_ns
            1         | 1      | 70
            1         | 2      | 30
            2         | 1      | 50
            """,
            "int_line_time": """
            bundle_id | line_id | row_no | gpu_ns
            1         | gpu     | 1      | 70
            1         | gpu     | 2      | 30
            """,
        },
        """
        line_id | target_no | bundle_id | row_no | gpu_ns | weight | bucket
        gpu     | 1         | 1         | 1      | 70     | 70     |
        gpu     | 2         | 1         | 2      | 30     | 30     |
        disk    | 1         | 1         | 1      | 0      | 70     |
        disk    | 2         | 1         | 2      | 0      | 30     |
        disk    | 3         | 2         | 1      | 0      | 50     |
        """,
    )


def test_an_unused_commitment_is_one_row_with_its_time_and_its_tags_team() -> None:
    expect(
        "int_charge_target",
        {
            "stg_bill_line": filled(
                """
                line_id | is_unused | billed_gpu_ns | bill_team
                tagged  | true      | 8h            | nlp
                plain   | true      | 8h            |
                unknown | true      | 0             |
                """,
                **LINE,
            ),
            "int_tag_team": "bill_team | month | team\nnlp | 2026-11-01 | language\n",
        },
        """
        line_id | bucket            | payer_team | gpu_ns | weight | method_id
        tagged  | commitment_unused | language   | 8h     | 1      | commitment_unused
        plain   | commitment_unused | platform   | 8h     | 1      | commitment_unused
        unknown | commitment_unused | platform   | 0      | 1      | commitment_unused
        """,
    )


def test_a_line_of_a_gpu_resource_with_unknown_count_is_not_seen_and_has_no_time() -> None:
    expect(
        "int_charge_target",
        {
            "stg_bill_line": filled(
                """
                line_id | resource_id | charge_category | bill_team
                known   | i-1         | Usage           | nlp
                plain   | i-1         | Usage           |
                credit  | i-1         | Credit          |
                tax     | i-1         | Tax             |
                other   | i-9         | Usage           |
                """,
                **{key: LINE[key] for key in ("is_unused", "month", "billed_gpu_ns")},
            ),
            "stg_gpu_inventory": "resource_id | gpu_uuid\ni-1 | a\ni-1 | b\n",
            "int_tag_team": "bill_team | month | team\nnlp | 2026-11-01 | language\n",
        },
        """
        line_id | bucket          | payer_team | gpu_ns | method_id
        known   | billed_not_seen | language   | 0      | gpu_count_unknown
        plain   | billed_not_seen | unmapped   | 0      | gpu_count_unknown
        credit  | non_gpu         | platform   | 0      | shared_to_platform
        tax     | non_gpu         | platform   | 0      | shared_to_platform
        other   | non_gpu         | platform   | 0      | shared_to_platform
        """,
    )


def test_a_line_that_pays_no_gpu_goes_to_its_tag_else_by_direct_cost_else_to_the_platform() -> None:
    expect(
        "int_charge_target",
        {
            "stg_bill_line": filled(
                """
                line_id  | month      | bill_team
                tagged   | 2026-11-01 | nlp
                unmapped | 2026-11-01 | who
                shared   | 2026-11-01 |
                earlier  | 2026-10-01 |
                """,
                charge_category="Usage", is_unused="false", billed_gpu_ns="0",
            ),
            "int_tag_team": """
            bill_team | month      | team
            nlp       | 2026-11-01 | language
            who       | 2026-11-01 | unmapped
            """,
            "int_team_weight": """
            month      | team     | weight
            2026-11-01 | language | 70
            2026-11-01 | vision   | 30
            """,
        },
        """
        line_id  | target_no | payer_team | weight | method_id
        tagged   | 1         | language   | 1      | shared_by_tag
        unmapped | 1         | unmapped   | 1      | shared_by_tag
        shared   | 1         | language   | 70     | shared_by_direct_cost
        shared   | 2         | vision     | 30     | shared_by_direct_cost
        earlier  | 1         | platform   | 1      | shared_to_platform
        """,
    )  # fmt: skip


def test_a_negative_weight_fails_the_check() -> None:
    tables: dict[str, Rows] = {
        "stg_bill_line": filled("line_id\ngpu\n", **LINE),
        "int_bundle_line": "bundle_id | line_id | billed_gpu_ns\n1 | gpu | 1\n",
        "int_state": "bundle_id | row_no | gpu_ns\n1 | 1 | -1\n",
    }
    assert failed_checks("int_charge_target", tables) == ["weight_not_negative"]


# --- int_charge_money -----------------------------------------------------------------------------


def split(usd: str, weights: list[int]) -> list[Decimal]:
    """The parts of one line of that billed cost."""
    rows = run_model(
        "int_charge_money",
        {
            "stg_bill_line": f"line_id | billed_usd | effective_usd\na | {usd} | 0\n",
            "int_charge_target": [
                {"line_id": "a", "target_no": i, "weight": w} for i, w in enumerate(weights, 1)
            ],
        },
    )
    return [row["billed_usd"] for row in rows]


def test_a_dollar_over_three_equal_rows() -> None:
    assert split("1", [1, 1, 1]) == [
        Decimal("0.333333333334"), Decimal("0.333333333333"), Decimal("0.333333333333"),
    ]  # fmt: skip


def test_a_credit_is_the_charge_with_the_other_sign() -> None:
    weights = [5, 3, 11, 0, 2]
    assert split("-0.1", weights) == [-part for part in split("0.1", weights)]


def test_the_largest_remainder_gets_the_odd_pico_dollar_and_ties_go_by_number() -> None:
    # 10 pico-dollars over 1 : 2 : 4 are 1 3/7, 2 6/7 and 5 5/7: 1 + 2 + 5, and two more.
    assert split("0.000000000010", [1, 2, 4]) == [1 * PICO, 3 * PICO, 6 * PICO]
    assert split("0.000000000001", [1, 1]) == [PICO, 0]


def test_where_all_weights_are_zero_the_first_target_takes_all() -> None:
    assert split("12.5", [0, 0, 0]) == [Decimal("12.5"), 0, 0]
    assert split("-12.5", [0]) == [Decimal("-12.5")]


def test_a_target_without_weight_gets_nothing() -> None:
    assert split("0.000000000007", [0, 3, 0, 2]) == [0, 4 * PICO, 0, 3 * PICO]


def test_each_basis_is_split_alone_and_an_absent_list_cost_stays_null() -> None:
    expect(
        "int_charge_money",
        {
            "stg_bill_line": """
            line_id | billed_usd | effective_usd | list_usd
            a       | 10         | -4            |
            b       | 0          | 0             | 0
            """,
            "int_charge_target": """
            line_id | target_no | weight
            a       | 1         | 3
            a       | 2         | 1
            b       | 1         | 1
            """,
        },
        """
        line_id | target_no | billed_usd | effective_usd | list_usd
        a       | 1         | 7.5        | -3            |
        a       | 2         | 2.5        | -1            |
        b       | 1         | 0          | 0             | 0
        """,
    )


MONEY = st.decimals(
    min_value=Decimal(-(10**9)), max_value=Decimal(10**9), places=12, allow_nan=False
)
WEIGHTS = st.lists(
    st.one_of(st.just(0), st.integers(1, 5), st.integers(1, 3_600 * 10**9 * 8 * 744)),
    min_size=1, max_size=6,
)  # fmt: skip
LINES = st.lists(st.tuples(MONEY, MONEY, st.none() | MONEY, WEIGHTS), min_size=1, max_size=12)
MOST = Decimal("1000000000.000000000000")


@settings(max_examples=20, deadline=None)
@given(LINES)
@example([(MOST, -MOST, MOST - PICO, [3_600 * 10**9 * 8 * 744] * 3), (PICO, -PICO, None, [0, 0])])
def test_parts_sum_to_the_line_keep_its_sign_and_are_nearest_to_the_exact_share(
    lines: list[tuple[Decimal, Decimal, Decimal | None, list[int]]],
) -> None:
    found = run_model(
        "int_charge_money",
        {
            "stg_bill_line": [
                {"line_id": f"l{i}", "billed_usd": b, "effective_usd": e, "list_usd": k}
                for i, (b, e, k, _) in enumerate(lines)
            ],
            "int_charge_target": [
                {"line_id": f"l{i}", "target_no": no, "weight": weight}
                for i, (*_, weights) in enumerate(lines)
                for no, weight in enumerate(weights, start=1)
            ],
        },
    )
    for i, (billed, effective, listed, weights) in enumerate(lines):
        own = sorted((r for r in found if r["line_id"] == f"l{i}"), key=lambda r: r["target_no"])
        for basis, usd in (("billed_usd", billed), ("effective_usd", effective)):
            assert_split([r[basis] for r in own], usd, weights)
        if listed is None:
            assert all(r["list_usd"] is None for r in own)
        else:
            assert_split([r["list_usd"] for r in own], listed, weights)


def assert_split(parts: list[Decimal], usd: Decimal, weights: list[int]) -> None:
    """Compare with shares in exact fractions and with an own largest-remainder split."""
    assert sum(map(Fraction, parts)) == Fraction(usd)
    assert all(part == 0 or (part < 0) == (usd < 0) for part in parts)
    if sum(weights) == 0:
        assert parts == [usd] + [Decimal(0)] * (len(parts) - 1)
        return
    units = int(abs(usd) / PICO) if usd else 0
    shares = [Fraction(units) * w / sum(weights) for w in weights]
    counts = [int(share) for share in shares]
    by_remainder = sorted(range(len(shares)), key=lambda k: (counts[k] - shares[k], k))
    for k in by_remainder[: units - sum(counts)]:
        counts[k] += 1
    for part, count, share in zip(parts, counts, shares, strict=True):
        assert Fraction(abs(part)) == Fraction(count, 10**12)
        assert abs(Fraction(abs(part)) * 10**12 - share) < 1


# --- int_team_weight ------------------------------------------------------------------------------


def test_a_team_weighs_what_its_time_costs_in_whole_micro_dollars() -> None:
    expect(
        "int_team_weight",
        {
            "int_bundle": "bundle_id | month | billed_gpu_ns\n1 | 2026-11-01 | 100\n",
            "int_bundle_line": "bundle_id | line_id\n1 | gpu\n1 | disk\n",
            "stg_bill_line": "line_id | effective_usd\ngpu | 9\ndisk | 1\nelse | 500\n",
            "int_state": """
            bundle_id | row_no | payer_team | gpu_ns
            1         | 1      | a          | 33
            1         | 2      | a          | 33
            1         | 3      | b          | 34
            """,
        },
        """
        month      | team | weight
        2026-11-01 | a    | 6600000
        2026-11-01 | b    | 3400000
        """,
    )


@pytest.mark.parametrize(("usd", "rows"), [("-5", ""), ("0", ""), ("0.0000009", ""),
                                           ("0.000001", "2026-11-01 | a | 1\n")])  # fmt: skip
def test_no_team_weighs_nothing_or_less(usd: str, rows: str) -> None:
    expect(
        "int_team_weight",
        {
            "int_bundle": "bundle_id | month | billed_gpu_ns\n1 | 2026-11-01 | 100\n",
            "int_bundle_line": "bundle_id | line_id\n1 | gpu\n",
            "stg_bill_line": f"line_id | effective_usd\ngpu | {usd}\n",
            "int_state": "bundle_id | row_no | payer_team | gpu_ns\n1 | 1 | a | 100\n",
        },
        f"month | team | weight\n{rows}",
    )


# --- int_tag_team ---------------------------------------------------------------------------------


def test_a_tag_is_the_team_that_the_map_says_at_the_months_first_charge() -> None:
    expect(
        "int_tag_team",
        {
            "stg_bill_line": """
            line_id | bill_team | month      | start_ns
            a       | nlp       | 2026-11-01 | 10:00
            b       | nlp       | 2026-11-01 | 20:00
            c       | nlp       | 2026-12-01 | 2026-12-01 00:00:00
            d       | who       | 2026-11-01 | 10:00
            e       |           | 2026-11-01 | 10:00
            """,
            "stg_team_map": """
            kind     | key | team  | start_ns | end_ns
            bill_tag | nlp | old   | 00:00    |
            bill_tag | nlp | new   | 10:00    | 2026-12-01 00:00:00
            bill_tag | nlp | next  | 10:01    | 12:00
            account  | who | wrong | 00:00    |
            """,
        },
        """
        bill_team | month      | team
        nlp       | 2026-11-01 | new
        nlp       | 2026-12-01 | old
        who       | 2026-11-01 | unmapped
        """,
    )


def test_a_map_row_ends_before_its_valid_to() -> None:
    lines = "line_id | bill_team | month | start_ns\na | nlp | 2026-11-01 | 10:00\n"
    for until, team in (("10:00", "unmapped"), ("10:00:00.000001", "language")):
        name = f"kind | key | team | start_ns | end_ns\nbill_tag | nlp | language | 00:00 | {until}"
        expect("int_tag_team", {"stg_bill_line": lines, "stg_team_map": name}, f"team\n{team}\n")


def test_a_gpu_line_without_a_resource_keeps_its_time_where_nothing_shows_it() -> None:
    expect(
        "int_charge_target",
        {
            "stg_bill_line": filled(
                "line_id | gpu_count | billed_gpu_ns\nlost | 1 | 5\n",
                charge_category="Usage", is_unused="false", pays_gpu="false", month="2026-11-01",
            )
        },
        "line_id | bucket | payer_team | gpu_ns | method_id\n"
        "lost | billed_not_seen | unmapped | 5 | resource_unknown\n",
    )  # fmt: skip


def test_a_disk_of_a_resource_that_other_lines_count_is_no_gpu() -> None:
    """The hour after a machine was stopped its disk is billed on: nothing hides there."""
    expect(
        "int_charge_target",
        {
            "stg_bill_line": filled(
                "line_id | start_ns | end_ns | pays_gpu | gpu_count | billed_gpu_ns\n"
                "gpu | 09:00 | 10:00 | true | 1 | 1h\ndisk | 10:00 | 11:00 | false | | 0\n",
                resource_id="i-1", charge_category="Usage", is_unused="false", month="2026-11-01",
            ),
            "stg_gpu_inventory": "gpu_uuid | resource_id\na | i-1\n",
            "int_state": "bundle_id | row_no | gpu_ns\n1 | 1 | 1h\n",
            "int_team_weight": "month | team | weight\n",
        },
        "line_id | bucket | method_id\ngpu | |\ndisk | non_gpu | shared_to_platform\n",
    )  # fmt: skip


def test_a_monthly_companion_weighs_once_and_not_in_each_of_its_bundles() -> None:
    expect(
        "int_team_weight",
        {
            "int_bundle_line": "bundle_id | line_id\n1 | g1\n2 | g2\n1 | disk\n2 | disk\n",
            "int_bundle": filled("bundle_id | billed_gpu_ns\n1 | 99\n2 | 1\n", month="2026-11-01"),
            "stg_bill_line": "line_id | effective_usd\ng1 | 99\ng2 | 1\ndisk | 100\n",
            "int_state": "bundle_id|row_no|payer_team|gpu_ns\n1 | 1 | a | 99\n2 | 1 | b | 1\n",
        },
        "team | weight\na | 198_000_000\nb | 2_000_000\n",
    )
