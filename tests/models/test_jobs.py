"""Attempts and the GPUs they held: numbering, overlapping exports, teams, what is not known."""

from __future__ import annotations

import pytest

from tests.models.harness import Rows, expect, failed_checks, filled

JOB = {"cluster": "c1", "job_id": "1", "account": "nlp", "nodes": "[n1]", "gpu_count": "2"}
READ = {"source": "scheduler", "is_cut": "false"}


# --- int_attempt ----------------------------------------------------------------------------------


def test_requeues_are_attempts_in_order_of_submit() -> None:
    expect(
        "int_attempt",
        {
            "stg_job_attempt": filled(
                """
                job_id | submit_ns | start_ns | end_ns | state     | source_file
                1      | 12:00     | 12:30    | 13:00  | COMPLETED | b
                1      | 09:00     | 10:00    | 11:00  | NODE_FAIL | a
                1      | 11:00     |          |        | REQUEUED  | a
                2      | 09:30     | 10:00    | 10:00  | FAILED    | a
                """,
                cluster="c1",
            )
        },
        """
        job_id | attempt | submit_ns | start_ns | end_ns | state     | is_running
        1      | 0       | 09:00     | 10:00    | 11:00  | NODE_FAIL | false
        1      | 1       | 11:00     |          |        | REQUEUED  | false
        1      | 2       | 12:00     | 12:30    | 13:00  | COMPLETED | false
        2      | 0       | 09:30     | 10:00    | 10:00  | FAILED    | false
        """,
    )


def test_of_overlapping_exports_the_one_that_knows_the_end_wins_then_the_later_end() -> None:
    expect(
        "int_attempt",
        {
            "stg_job_attempt": filled(
                """
                job_id | start_ns | end_ns | state     | source_file | source_row
                1      | 10:00    |        | RUNNING   | a           | 1
                1      | 10:00    | 11:00  | COMPLETED | b           | 1
                2      | 10:00    | 11:00  | RESIZING  | a           | 2
                2      | 10:00    | 12:00  | COMPLETED | b           | 2
                3      | 10:00    | 11:00  | FAILED    | b           | 3
                3      | 10:00    | 11:00  | FAILED    | a           | 9
                3      | 10:00    | 11:00  | COMPLETED | a           | 8
                """,
                cluster="c1", submit_ns="09:00",
            )
        },
        """
        job_id | attempt | end_ns | state     | source_file
        1      | 0       | 11:00  | COMPLETED | b
        2      | 0       | 12:00  | COMPLETED | b
        3      | 0       | 11:00  | COMPLETED | a
        """,
    )  # fmt: skip


def test_clusters_number_their_jobs_alone() -> None:
    expect(
        "int_attempt",
        {
            "stg_job_attempt": filled(
                "cluster | submit_ns\nc1 | 09:00\nc2 | 08:00\n", job_id="1", start_ns="10:00",
                end_ns="11:00",
            )
        },
        "cluster | attempt\nc1 | 0\nc2 | 0\n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("coverage", "until"),
    [
        ("", "10:00"),
        ("c1 | 08:00 | 12:00\n", "12:00"),
        ("c1 | 08:00 | 12:00\nc1 | 12:00 | 13:00\n", "13:00"),
        ("c2 | 08:00 | 14:00\n", "10:00"),
        (" | 08:00 | 12:00\n", "12:00"),
        ("c1 | 08:00 | 11:00\n | 08:00 | 12:00\n", "12:00"),
        ("c1 | 08:00 | 12:00\n | 08:00 | 11:00\n", "12:00"),
        ("c1 | 08:00 | 09:00\n", "10:00"),
    ],
)
def test_a_running_attempt_lasts_as_far_as_the_scheduler_was_read(
    coverage: str, until: str
) -> None:
    expect(
        "int_attempt",
        {
            "stg_job_attempt": filled(
                "submit_ns | start_ns | state\n09:00 | 10:00 | RUNNING\n", cluster="c1", job_id="1"
            ),
            "stg_source_coverage": filled(f"cluster | start_ns | end_ns\n{coverage}", **READ),
        },
        f"start_ns | end_ns | is_running\n10:00 | {until} | true\n",
    )


def test_a_cut_does_not_say_that_the_scheduler_was_read() -> None:
    expect(
        "int_attempt",
        {
            "stg_job_attempt": filled("start_ns\n10:00\n", cluster="c1", job_id="1"),
            "stg_source_coverage": """
            source    | cluster | start_ns | end_ns | is_cut
            scheduler | c1      | 08:00    | 12:00  | true
            telemetry | c1      | 08:00    | 12:00  | false
            """,
        },
        "end_ns\n10:00\n",
    )


def test_the_team_is_what_the_map_says_of_the_account_at_the_start() -> None:
    expect(
        "int_attempt",
        {
            "stg_job_attempt": filled(
                """
                job_id | account | submit_ns | start_ns
                before | nlp     | 08:00     | 09:59:59
                at     | nlp     | 08:00     | 10:00
                later  | nlp     | 08:00     | 12:00
                queued | nlp     | 11:00     |
                other  | vision  | 08:00     | 10:00
                none   |         | 08:00     | 10:00
                """,
                cluster="c1", end_ns="13:00",
            ),
            "stg_team_map": """
            kind     | key    | team     | start_ns | end_ns
            account  | nlp    | language | 10:00    | 12:00
            account  | nlp    | speech   | 11:00    | 11:30
            account  | nlp    | search   | 12:00    |
            bill_tag | vision | wrong    | 00:00    |
            """,
        },
        """
        job_id | team
        before | unmapped
        at     | language
        later  | search
        queued | speech
        other  | unmapped
        none   | unmapped
        """,
    )  # fmt: skip


def test_any_suspended_time_marks_the_attempt() -> None:
    expect(
        "int_attempt",
        {
            "stg_job_attempt": filled(
                "job_id | suspended_us | is_interactive\n1 | 1 | false\n2 | 0 | true\n",
                cluster="c1", start_ns="10:00", end_ns="11:00",
            )
        },
        "job_id | is_suspended | is_interactive\n1 | true | false\n2 | false | true\n",
    )  # fmt: skip


def test_an_attempt_never_ends_before_it_starts() -> None:
    row = filled("job_id | start_ns | end_ns\n1 | 10:00 | 09:00\n", cluster="c1")
    expect("int_attempt", {"stg_job_attempt": row}, "start_ns | end_ns\n10:00 | 10:00\n")
    assert failed_checks("int_attempt", {"stg_job_attempt": row}) == []


# --- int_attempt_gpu ------------------------------------------------------------------------------

FOUR = """
    gpu_uuid | cluster | node | gpu_index | start_ns | end_ns
    a        | c1      | n1   | 0         | 00:00    | 20:00
    b        | c1      | n1   | 1         | 00:00    | 20:00
    c        | c1      | n2   | 0         | 00:00    | 20:00
    d        | c1      | n2   | 1         | 00:00    | 20:00
"""
RAN = {"cluster": "c1", "job_id": "1", "attempt": "0", "start_ns": "10:00", "end_ns": "11:00"}


def test_an_attempt_held_the_indices_that_the_scheduler_showed() -> None:
    expect(
        "int_attempt_gpu",
        {
            "int_attempt": filled("gpu_count | nodes\n2 | [n1, n2]\n", **RAN),
            "stg_gpu_inventory": FOUR,
            "stg_job_gpu": """
            cluster | job_id | start_ns | node | gpu_index
            c1      | 1      | 10:00    | n1   | 1
            c1      | 1      | 10:00    | n2   | 0
            c1      | 1      | 09:00    | n1   | 0
            c2      | 1      | 10:00    | n1   | 0
            """,
        },
        """
        gpu_uuid | node | start_ns | end_ns
        b        | n1   | 10:00    | 11:00
        c        | n2   | 10:00    | 11:00
        """,
    )


@pytest.mark.parametrize(("count", "held"), [(4, "abcd"), (3, ""), (1, ""), (5, ""), (0, "")])
def test_without_indices_a_node_counts_whole_only_where_the_count_is_met(
    count: int, held: str
) -> None:
    expect(
        "int_attempt_gpu",
        {
            "int_attempt": filled(f"gpu_count | nodes\n{count} | [n1, n2]\n", **RAN),
            "stg_gpu_inventory": FOUR,
        },
        "gpu_uuid\n" + "".join(f"{gpu}\n" for gpu in held),
    )


@pytest.mark.parametrize(("count", "held"), [(3, "acd"), (4, "a"), (1, "a"), (2, "a")])
def test_a_node_with_indices_adds_to_nodes_that_count_whole(count: int, held: str) -> None:
    expect(
        "int_attempt_gpu",
        {
            "int_attempt": filled(f"gpu_count | nodes\n{count} | [n1, n2]\n", **RAN),
            "stg_gpu_inventory": FOUR,
            "stg_job_gpu": """
            cluster | job_id | start_ns | node | gpu_index
            c1      | 1      | 10:00    | n1   | 0
            """,
        },
        "gpu_uuid\n" + "".join(f"{gpu}\n" for gpu in held),
    )


def test_a_gpu_that_is_replaced_is_held_as_long_as_it_is_there() -> None:
    expect(
        "int_attempt_gpu",
        {
            "int_attempt": filled("gpu_count | nodes\n1 | [n1]\n", **RAN),
            "stg_gpu_inventory": filled(
                """
                gpu_uuid | start_ns | end_ns
                old      | 00:00    | 10:20
                new      | 10:20    | 20:00
                gone     | 00:00    | 10:00
                late     | 11:00    | 12:00
                """,
                cluster="c1", node="n1", gpu_index="0",
            ),
        },
        """
        gpu_uuid | start_ns | end_ns
        old      | 10:00    | 10:20
        new      | 10:20    | 11:00
        """,
    )  # fmt: skip


def test_another_clusters_node_of_the_same_name_is_another_node() -> None:
    expect(
        "int_attempt_gpu",
        {
            "int_attempt": filled("gpu_count | nodes\n1 | [n1]\n", **RAN),
            "stg_gpu_inventory": """
            gpu_uuid | cluster | node | gpu_index | start_ns | end_ns
            a        | c2      | n1   | 0         | 00:00    | 20:00
            b        |         | n1   | 0         | 00:00    | 20:00
            """,
        },
        "gpu_uuid\n",
    )


def test_an_attempt_without_length_holds_nothing() -> None:
    expect(
        "int_attempt_gpu",
        {
            "int_attempt": filled(
                "gpu_count | nodes | start_ns | end_ns\n2 | [n1] | 10:00 | 10:00\n2 | [n1] | |\n",
                cluster="c1", job_id="1", attempt="0",
            ),
            "stg_gpu_inventory": FOUR,
        },
        "gpu_uuid\n",
    )  # fmt: skip


def test_a_stay_without_length_fails_the_check_of_holds() -> None:
    tables: dict[str, Rows] = {
        "int_attempt": filled("gpu_count | nodes\n1 | [n1]\n", **RAN),
        "stg_gpu_inventory": filled("start_ns | end_ns\n10:30 | 10:30\n", **{
            "gpu_uuid": "a", "cluster": "c1", "node": "n1", "gpu_index": "0",
        }),
    }  # fmt: skip
    assert failed_checks("int_attempt_gpu", tables) == ["hold_in_order"]


# --- int_blind_node -------------------------------------------------------------------------------


def test_an_attempt_of_which_fewer_gpus_are_known_blinds_its_nodes() -> None:
    expect(
        "int_blind_node",
        {
            "int_attempt": filled(
                """
                job_id  | gpu_count | nodes
                known   | 2         | [n1, n2]
                short   | 3         | [n1, n2]
                nothing | 1         | [n3]
                nowhere | 1         | []
                no gpu  | 0         | [n1]
                """,
                cluster="c1", attempt="0", start_ns="10:00", end_ns="11:00",
            ),
            "int_attempt_gpu": filled(
                """
                job_id | gpu_uuid | node | gpu_index
                known  | a        | n1   | 0
                known  | b        | n2   | 0
                short  | c        | n1   | 0
                short  | old      | n1   | 1
                short  | new      | n1   | 1
                """,
                cluster="c1", attempt="0",
            ),
        },
        # A GPU that replaced another in its place is no third one.
        """
        job_id  | node | start_ns | end_ns
        short   | n1   | 10:00    | 11:00
        short   | n2   | 10:00    | 11:00
        nothing | n3   | 10:00    | 11:00
        nowhere |      | 10:00    | 11:00
        """,
    )  # fmt: skip


def test_an_attempt_without_length_blinds_nothing() -> None:
    expect(
        "int_blind_node",
        {
            "int_attempt": filled(
                "job_id | start_ns | end_ns\n1 | 10:00 | 10:00\n2 | |\n",
                cluster="c1", attempt="0", gpu_count="1", nodes="[n1]",
            )
        },
        "node\n",
    )  # fmt: skip


# --- int_hold -------------------------------------------------------------------------------------


def test_ranks_follow_nodes_in_their_natural_order_then_the_index() -> None:
    expect(
        "int_hold",
        {
            "int_attempt": filled("gpu_count | team | nodes\n4 | language | [n2, n10]\n", **RAN),
            "int_attempt_gpu": filled(
                """
                gpu_uuid | node | gpu_index
                w        | n10  | 1
                x        | n10  | 0
                y        | n2   | 10
                z        | n2   | 9
                """,
                **RAN,
            ),
        },
        """
        gpu_uuid | rank | rank_count | gpu_count | team     | start_ns | end_ns
        z        | 0    | 4          | 4         | language | 10:00    | 11:00
        y        | 1    | 4          | 4         | language | 10:00    | 11:00
        x        | 2    | 4          | 4         | language | 10:00    | 11:00
        w        | 3    | 4          | 4         | language | 10:00    | 11:00
        """,
    )


def test_attempts_that_follow_on_one_gpu_in_the_same_second_are_two_holds() -> None:
    tables: dict[str, Rows] = {
        "int_attempt": filled(
            "job_id | team\n1 | a\n2 | b\n", cluster="c1", attempt="0", gpu_count="1"
        ),
        "int_attempt_gpu": filled(
            """
            job_id | start_ns | end_ns
            1      | 10:00    | 10:30:07
            2      | 10:30:07 | 11:00
            """,
            cluster="c1", attempt="0", gpu_uuid="g", node="n1", gpu_index="0",
        ),
    }  # fmt: skip
    expect(
        "int_hold",
        tables,
        """
        hold_id | job_id | team | rank | start_ns | end_ns
        1       | 1      | a    | 0    | 10:00    | 10:30:07
        2       | 2      | b    | 0    | 10:30:07 | 11:00
        """,
    )


def test_a_node_that_the_inventory_does_not_know_is_one_that_it_calls_otherwise() -> None:
    """Short name against full name: nothing is proven about GPUs whose node no job names."""
    expect(
        "int_blind_node",
        {
            "int_attempt": """
            cluster|job_id|attempt|start_ns|end_ns|gpu_count|nodes
            c1|7|0|10:00|11:00|1|[n1]
            c1|8|0|10:00|11:00|1|[n2]
            """,
            "stg_gpu_inventory": """
            gpu_uuid|cluster|node|gpu_index|start_ns|end_ns
            a|c1|n1.dc1|0|00:00|23:00
            b|c1|n2|0|00:00|23:00
            c|c1|n2|1|00:00|23:00
            """,
        },
        "job_id | node | is_elsewhere\n7 | n1 | true\n8 | n2 | false\n",
    )
