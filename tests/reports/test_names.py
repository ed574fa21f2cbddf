"""Names made harmless, by property."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports import names


@given(st.text())
def test_plain_text_hides_and_turns_nothing(text: str) -> None:
    shown = names.plain(text)
    assert not any(names.is_unsafe(unit) for unit in shown)
    if not any(map(names.is_unsafe, text)):
        assert shown == text


@given(st.text(min_size=1), st.integers(2, 300))
def test_a_cut_name_has_its_ends(text: str, length: int) -> None:
    short = names.cut(text, length)
    assert len(short) <= length
    if len(text) <= length:
        assert short == text
    else:
        start, end = short.split("…")[0], short.rsplit("…", 1)[1]
        assert text.startswith(start)
        assert text.endswith(end)


@given(st.text())
def test_a_cell_is_no_formula(text: str) -> None:
    cell = names.cell(text)
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert cell.removeprefix("'") == names.plain(text).removeprefix("'")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "＝1+1"])
def test_formulas_become_text(text: str) -> None:
    assert names.cell(text) == f"'{names.plain(text)}"


@given(st.lists(st.text(), unique=True, max_size=20))
def test_teams_have_different_files_also_where_case_does_not_count(texts: list[str]) -> None:
    found = [names.file_name(text) for text in texts]
    assert len({name.lower() for name in found}) == len(texts)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,59}", name) for name in found)


@pytest.mark.parametrize("text", ["con", "nul", "com1", "..", "a/b", "A", "", "é", "x" * 61])
def test_awkward_team_names_get_another_file(text: str) -> None:
    assert names.file_name(text) not in (text, text.lower())


def test_ordinary_team_names_are_their_file() -> None:
    assert [names.file_name(t) for t in ("research", "ml-platform_2")] == [
        "research", "ml-platform_2",
    ]  # fmt: skip


def test_joined_letters_stay() -> None:
    text = "क्‍ष 👩‍💻 é"
    assert any(unicodedata.category(unit) == "Cf" for unit in text)
    assert names.plain(text) == text
