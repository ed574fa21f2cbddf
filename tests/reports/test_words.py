"""The words of a page are the glossary's, and every table is asked for something that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipelines.published import contracts
from reports import colours, listing, specs, words
from tests.reports.marts import NOVEMBER
from warehouse.models import Graph
from warehouse.shipped import graph


@pytest.fixture(scope="module")
def glossary(root: Path) -> dict[str, str]:
    """The last cell of each line of the glossary's tables, by its first, without links."""
    text = (root / "docs" / "glossary.md").read_text(encoding="utf-8")
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    found: dict[str, str] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) > 1:
            found.setdefault(cells[0].strip("`"), cells[-1])
    return found


@pytest.fixture(scope="module")
def models() -> Graph:
    return graph()


def test_classes_grades_and_rungs_are_the_glossary_s(glossary: dict[str, str]) -> None:
    for name, meaning in {**words.CLASSES, **words.GRADES, **dict(words.RUNGS.values())}.items():
        assert (name, meaning) == (name, glossary[name])


def test_parts_are_the_models_own_words(models: Graph) -> None:
    of_step = {c.name: c.meaning for c in models.models["step_breakdown"].columns}
    for part, meaning in words.STEP_PARTS.items():
        assert of_step[f"{part}_ns"] == meaning
    purpose = " ".join(models.models["compute_split"].purpose.split())
    for part in words.COMPUTE_PARTS:
        assert part in purpose


def test_everything_that_is_drawn_has_a_colour() -> None:
    drawn = {*words.CLASSES, *words.STEP_PARTS, *words.COMPUTE_PARTS, *words.RUNGS}
    assert drawn <= set(colours.COLOURS)
    for scheme in (0, 1):
        for group in (words.CLASSES, words.STEP_PARTS, words.COMPUTE_PARTS):
            assert len({colours.COLOURS[name][scheme] for name in group}) == len(group)


def test_each_table_has_a_question_and_each_question_a_table() -> None:
    assert {path.stem for path in listing.QUESTIONS.glob("*.sql")} == set(specs.SPECS)
    assert set(specs.FILES) | {"step_times", "unread"} == set(specs.SPECS)


@pytest.mark.parametrize("name", sorted(specs.SPECS))
def test_a_question_gives_the_columns_that_are_shown(name: str) -> None:
    query = listing.filled(name, {"month": NOVEMBER, "previous": None})
    spec = specs.SPECS[name]
    assert {col.key for col in spec.columns} <= set(query.named_selects)
    assert spec.mart in contracts()
    if spec.first_of_team is not None:
        assert "team" in query.named_selects
    for col in spec.columns:
        if col.summed:
            assert col.key.endswith(("_usd", "_ns", "_count"))
