"""What goes to a terminal: safe texts, plain progress, numbers as people read them."""

from __future__ import annotations

import io
import unicodedata
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from pipelines import terminal
from pipelines.terminal import CLASSES, bar, percent, progress, safe, seconds, table


@given(st.text(st.characters()))
def test_no_text_moves_hides_or_turns_anything(text: str) -> None:
    found = safe(text)
    assert all(unicodedata.category(c) not in {"Cc", "Cs", "Zl", "Zp"} for c in found)
    assert not set(found) & set("\u202e\u2066\u200f")
    assert "\n" not in found
    assert safe(found) == found
    assert safe(text, lines=True).count("\n") == text.count("\n")


@given(st.text(st.characters(categories=("L", "N", "P", "S", "Zs"))))
def test_what_people_write_stays(text: str) -> None:
    assert safe(text) == text


@pytest.mark.parametrize("name", ["[red]x[/red]", "[/]", ":smile:", "a\\[b]", "http://x [link]"])
def test_a_cell_is_never_markup(name: str) -> None:
    out = io.StringIO()
    Console(file=out, width=80).print(table(f"t {name}", ("name", ">n"), [(name, 1), (None, 2)]))
    assert out.getvalue().count(name) == 2
    assert "-" in out.getvalue().splitlines()[-1]


@given(st.dictionaries(st.sampled_from(list(CLASSES)), st.integers(0, 50)), st.booleans())
def test_a_bar_has_a_cell_for_each(cells: dict[str, int], ascii_only: bool) -> None:
    text = bar(cells, ascii_only=ascii_only).plain
    assert len(text) == sum(cells.values())
    assert text.isascii() or not ascii_only
    for name, (_, mark, plain) in CLASSES.items():
        assert text.count(plain if ascii_only else mark) == cells.get(name, 0)


def test_marks_can_be_told_apart_without_colours() -> None:
    assert len({mark for _, mark, _ in CLASSES.values()}) == len(CLASSES)
    assert len({plain for *_, plain in CLASSES.values()}) == len(CLASSES)


def test_plain_progress_says_a_month_once(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as say:
        say("read a\x1b[1m.csv")
        for number in range(1, 40):
            say(f"2026-11: model {number} of 39, name")
        say("2026-12: model 1 of 39, name")
    assert capsys.readouterr().err.splitlines() == [
        "read a\\u001b[1m.csv", "build 2026-11", "build 2026-12",
    ]  # fmt: skip


def test_live_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(
        terminal, "console",
        lambda *, stderr: Console(file=out, force_terminal=True, width=80, markup=False),
    )  # fmt: skip
    with progress() as say:
        say("read [red]a[/red].csv")
    assert "\x1b" in out.getvalue()


def test_an_output_of_ascii_only_is_known() -> None:
    assert terminal.is_ascii(Console(file=io.TextIOWrapper(io.BytesIO(), encoding="ascii")))
    assert not terminal.is_ascii(Console(file=io.TextIOWrapper(io.BytesIO(), encoding="utf-8")))


@pytest.mark.parametrize("columns", ["0", "20", "400"])
def test_plain_output_has_one_width(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal.console().width == terminal.PLAIN_WIDTH


@pytest.mark.parametrize("width", [1, 20, 60, 200])
def test_a_narrow_terminal_loses_no_digit(width: int) -> None:
    out = io.StringIO()
    target = Console(file=out, force_terminal=True, width=width, color_system=None)
    part = table(
        "a long title of a table", ("team", ">one", ">two"), [("t", "123,456.7890", "9.12")]
    )
    terminal.write(target, [part])
    assert "123,456.7890" in out.getvalue()
    assert "…" not in out.getvalue()
    assert target.width == width


def test_numbers() -> None:
    assert [percent(v) for v in (None, 0.0, 0.0074, 0.01, 0.5, 1.0)] == [
        "-", "0.00", "0.74", "1.0", "50.0", "100.0",
    ]  # fmt: skip
    assert [seconds(v) for v in (None, 0, 1_132_599_772, 3_600_000_000_000, 10**15)] == [
        "-", "0.000", "1.133", "3,600.000", "1,000,000",
    ]  # fmt: skip
    assert terminal.usd(Decimal("-1234.50")) == "-1,234.50"
    assert terminal.usd(None) == "-"
    assert terminal.instant(datetime(2026, 11, 30, 21, 5, 7, tzinfo=UTC)) == "2026-11-30 21:05:07"
    assert terminal.minute(None) == terminal.instant(None) == "-"
    assert terminal.gpu("GPU-27149535-6073") == "GPU-27149535"
    assert terminal.gpu(None) is None


def test_numbers_of_traces() -> None:
    assert [terminal.milliseconds(v) for v in (None, 0, 1_234_567_891, 499)] == [
        "-", "0.000", "1,234.568", "0.000",
    ]  # fmt: skip
    assert [terminal.ratio(v) for v in (None, 1.0, 1234.567)] == ["-", "1.00", "1,234.57"]
    assert terminal.moment(1796074321_190807_304) == "2026-11-30 21:32:01.190807"
    assert terminal.moment(1796074321_999999_999) == "2026-11-30 21:32:01.999999"


def test_uuids_inside_a_text_are_cut() -> None:
    uuid = "GPU-d7611478-ee26-342e-b23d-e059171b7686"
    assert terminal.short_gpus(f"rank 1 {uuid} gpu-node-1") == "rank 1 GPU-d7611478 gpu-node-1"
    assert terminal.short_gpus("c1/GPU-nothing/0") == "c1/GPU-nothing/0"
    assert terminal.short_gpus(None) is None
