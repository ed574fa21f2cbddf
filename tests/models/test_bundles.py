"""Bundles: which lines pay one thing together, over which GPUs, how much time each place has."""

from __future__ import annotations

from tests.models.harness import expect, failed_checks, filled, run_model

LINE = {"resource_id": "i-1", "pays_gpu": "true", "gpu_count": "8", "month": "2026-11-01"}


# --- int_bundle -----------------------------------------------------------------------------------


def test_lines_whose_periods_overlap_are_one_bundle_and_neighbours_are_two() -> None:
    expect(
        "int_bundle",
        {
            "stg_bill_line": filled(
                """
                line_id    | start_ns | end_ns | billed_gpu_ns
                commitment | 10:00    | 11:00  | 5h
                on demand  | 10:00    | 11:00  | 3h
                chained    | 10:59:59 | 11:30  | 1h
                next       | 11:30    | 12:00  | 4h
                """,
                **LINE,
            )
        },
        """
        bundle_id | start_ns | end_ns | gpu_count | billed_gpu_ns
        1         | 10:00    | 11:30  | 8         | 9h
        2         | 11:30    | 12:00  | 8         | 4h
        """,
    )


def test_a_long_line_holds_a_bundle_together_over_shorter_ones() -> None:
    expect(
        "int_bundle",
        {
            "stg_bill_line": filled(
                """
                line_id | start_ns | end_ns
                month   | 00:00    | 20:00
                morning | 01:00    | 02:00
                evening | 18:00    | 19:00
                """,
                billed_gpu_ns="1h",
                **LINE,
            )
        },
        "bundle_id | start_ns | end_ns | billed_gpu_ns\n1 | 00:00 | 20:00 | 3h\n",
    )


def test_each_resource_has_bundles_of_its_own_and_lines_without_gpus_have_none() -> None:
    expect(
        "int_bundle",
        {
            "stg_bill_line": """
            line_id | resource_id | start_ns | end_ns | pays_gpu | gpu_count | billed_gpu_ns
            a       | i-1         | 10:00    | 11:00  | true     | 8         | 8h
            b       | i-2         | 10:00    | 11:00  | true     | 1         | 1h
            disk    | i-1         | 10:00    | 11:00  | false    |           | 0
            tax     | i-3         | 10:00    | 11:00  | false    |           | 0
            """
        },
        """
        bundle_id | resource_id | gpu_count | billed_gpu_ns
        1         | i-1         | 8         | 8h
        2         | i-2         | 1         | 1h
        """,
    )


def test_gpus_side_by_side_are_the_most_that_a_line_names_and_a_part_counts_whole() -> None:
    expect(
        "int_bundle",
        {
            "stg_bill_line": """
            line_id | resource_id | start_ns | end_ns | pays_gpu | gpu_count | billed_gpu_ns
            a       | i-1         | 10:00    | 11:00  | true     | 8         | 5h
            b       | i-1         | 10:00    | 11:00  | true     | 4         | 3h
            c       | i-2         | 10:00    | 11:00  | true     | 0.5       | 30min
            d       | i-3         | 10:00    | 11:00  | true     | 1.000001  | 1h
            """
        },
        "resource_id | gpu_count\ni-1 | 8\ni-2 | 1\ni-3 | 2\n",
    )


# --- int_bundle_line ------------------------------------------------------------------------------

BUNDLES = """
bundle_id | resource_id | start_ns | end_ns
1         | i-1         | 10:00    | 11:00
2         | i-1         | 12:00    | 13:00
3         | i-2         | 10:00    | 11:00
"""


def test_a_companion_is_paid_over_every_bundle_that_it_overlaps() -> None:
    expect(
        "int_bundle_line",
        {
            "int_bundle": BUNDLES,
            "stg_bill_line": filled(
                """
                line_id | start_ns | end_ns | pays_gpu | billed_gpu_ns | charge_category
                gpu     | 10:00    | 11:00  | true     | 8h            | Usage
                disk    | 00:00    | 20:00  | false    | 0             | Usage
                credit  | 10:59    | 12:01  | false    | 0             | Credit
                fix     | 12:30    | 12:31  | false    | 0             | Adjustment
                touches | 11:00    | 12:00  | false    | 0             | Usage
                """,
                resource_id="i-1",
                is_unused="false",
            ),
        },
        """
        bundle_id | line_id | billed_gpu_ns
        1         | gpu     | 8h
        1         | disk    | 0
        2         | disk    | 0
        1         | credit  | 0
        2         | credit  | 0
        2         | fix     | 0
        """,
    )


def test_tax_purchases_and_unused_commitments_are_no_companions() -> None:
    expect(
        "int_bundle_line",
        {
            "int_bundle": BUNDLES,
            "stg_bill_line": filled(
                """
                line_id  | charge_category | is_unused | resource_id
                tax      | Tax             | false     | i-1
                purchase | Purchase        | false     | i-1
                unused   | Usage           | true      | i-1
                alone    | Usage           | false     |
                """,
                start_ns="10:00",
                end_ns="11:00",
                pays_gpu="false",
                billed_gpu_ns="0",
            ),
        },
        "bundle_id | line_id\n",
    )


# --- int_bundle_gpu -------------------------------------------------------------------------------


def test_a_gpu_belongs_to_a_bundle_while_the_inventory_has_it_there() -> None:
    expect(
        "int_bundle_gpu",
        {
            "int_bundle": BUNDLES,
            "stg_gpu_inventory": filled(
                """
                gpu_uuid | gpu_index | resource_id | start_ns | end_ns
                whole    | 0         | i-1         | 00:00    | 20:00
                ends     | 1         | i-1         | 00:00    | 10:30
                comes    | 1         | i-1         | 10:30    | 20:00
                before   | 2         | i-1         | 00:00    | 10:00
                after    | 2         | i-1         | 11:00    | 12:00
                other    | 0         | i-9         | 00:00    | 20:00
                nobody   | 0         |             | 00:00    | 20:00
                """,
                cluster="c1",
                node="n1",
            ),
        },
        """
        bundle_id | gpu_uuid | place | start_ns | end_ns
        1         | whole    | n1:0  | 10:00    | 11:00
        2         | whole    | n1:0  | 12:00    | 13:00
        1         | ends     | n1:1  | 10:00    | 10:30
        1         | comes    | n1:1  | 10:30    | 11:00
        2         | comes    | n1:1  | 12:00    | 13:00
        """,
    )


def test_a_gpu_without_an_index_is_a_place_of_its_own() -> None:
    """Two GPUs whose index is not known are two places: they must not share one quota."""
    expect(
        "int_bundle_gpu",
        {
            "int_bundle": "bundle_id | resource_id | start_ns | end_ns\n1 | i-1 | 10:00 | 11:00\n",
            "stg_gpu_inventory": filled(
                """
                gpu_uuid | node | gpu_index
                GPU-a    | n1   |
                GPU-b    | n1   |
                GPU-c    |      | 0
                GPU-d    | n1   | 0
                """,
                resource_id="i-1",
                start_ns="00:00",
                end_ns="20:00",
            ),
        },
        "gpu_uuid | place\nGPU-a | GPU-a\nGPU-b | GPU-b\nGPU-c | GPU-c\nGPU-d | n1:0\n",
    )


def test_a_stay_without_length_is_no_stay() -> None:
    stay = "gpu_uuid | resource_id | start_ns | end_ns\nGPU-a | i-1 | 10:30 | {}\n"
    for end, rows in (("10:30", 0), ("10:31", 1)):
        tables = {"int_bundle": BUNDLES, "stg_gpu_inventory": stay.format(end)}
        assert len(run_model("int_bundle_gpu", tables)) == rows
        assert failed_checks("int_bundle_gpu", tables) == []


# --- int_place_quota ------------------------------------------------------------------------------


def test_billed_time_is_parted_equally_and_the_odd_nanoseconds_go_to_the_most_held() -> None:
    expect(
        "int_place_quota",
        {
            "int_bundle": "bundle_id | gpu_count | billed_gpu_ns\n1 | 3 | 101\n",
            "int_bundle_gpu": """
            bundle_id | gpu_uuid | place | start_ns | end_ns
            1         | a        | n:0   | 10:00    | 11:00
            1         | b        | n:1   | 10:00    | 11:00
            1         | c        | n:2   | 10:00    | 11:00
            """,
            "int_elementary": """
            bundle_id | gpu_uuid | start_ns | end_ns | hold_id
            1         | a        | 10:00    | 11:00  | 0
            1         | b        | 10:00    | 10:10  | 1
            1         | c        | 10:00    | 10:20  | 2
            """,
        },
        "place | quota_ns\nn:2 | 34\nn:1 | 34\nn:0 | 33\n",
    )


def test_places_beyond_the_billed_gpus_get_nothing_and_missing_places_leave_time_over() -> None:
    gpus = """
        bundle_id | gpu_uuid | place | start_ns | end_ns
        1         | a        | n:10  | 10:00    | 11:00
        1         | b        | n:2   | 10:00    | 11:00
        1         | c        | n:9   | 10:00    | 11:00
    """
    bundle = "bundle_id | gpu_count | billed_gpu_ns\n1 | {} | 100\n"
    expect(
        "int_place_quota",
        {"int_bundle": bundle.format(2), "int_bundle_gpu": gpus},
        "place | quota_ns\nn:2 | 50\nn:9 | 50\nn:10 | 0\n",
    )
    rows = run_model("int_place_quota", {"int_bundle": bundle.format(8), "int_bundle_gpu": gpus})
    # 100 over 8 GPUs: the first four places have one more; five GPUs' share has no place.
    assert [row["quota_ns"] for row in rows] == [13, 13, 13]


def test_held_time_of_all_gpus_that_sat_in_a_place_counts() -> None:
    expect(
        "int_place_quota",
        {
            "int_bundle": "bundle_id | gpu_count | billed_gpu_ns\n1 | 1 | 100\n",
            "int_bundle_gpu": """
            bundle_id | gpu_uuid | place | start_ns | end_ns
            1         | old      | n:1   | 10:00    | 10:30
            1         | new      | n:1   | 10:30    | 11:00
            1         | other    | n:0   | 10:00    | 11:00
            """,
            "int_elementary": """
            bundle_id | gpu_uuid | start_ns | end_ns | hold_id
            1         | old      | 10:00    | 10:30  | 1
            1         | new      | 10:30    | 10:40  | 2
            1         | other    | 10:00    | 10:35  | 3
            """,
        },
        "place | quota_ns\nn:1 | 100\nn:0 | 0\n",
    )
