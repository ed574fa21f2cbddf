"""What the scheduler's pages show of a table: what it is, its grain, its columns with units."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import dagster as dg

from warehouse.contracts import Contract
from warehouse.models import Model
from warehouse.sqltypes import sql_type

#: What an event says beside its name.
Metadata = dict[str, int | str | dg.MarkdownMetadataValue | dg.PathMetadataValue]


def of_contract(contract: Contract) -> str:
    """The description of a landing table."""
    return (
        f"{_sentence(contract.grain)}\n\nKey: {_codes(contract.key)}. Version {contract.version}."
    )


def of_model(model: Model) -> str:
    """The description of a model; of a check, what it must not find."""
    text = _sentence(model.purpose)
    if model.grain:
        text += f"\n\n{_sentence(model.grain)}"
    return f"{text} Key: {_codes(model.keys)}." if model.keys else text


def columns_of_contract(contract: Contract) -> dg.TableSchema:
    """The columns of a landing table."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                c.name, sql_type(c.type), description=_meaning(c.meaning, c.unit),
                constraints=dg.TableColumnConstraints(nullable=c.nullable),
            )
            for c in contract.columns
        ]
    )  # fmt: skip


def columns_of_model(model: Model) -> dg.TableSchema:
    """The columns of a model."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(c.name, c.type, description=_meaning(c.meaning, c.unit))
            for c in model.columns
        ]
    )


def sql_hash(model: Model) -> str:
    """A hash of a model's file that changes whenever its text does."""
    return hashlib.sha256(model.path.read_bytes()).hexdigest()[:16]


def _meaning(meaning: str, unit: str) -> str:
    return f"{meaning} [{unit}]" if unit else meaning


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith(".") else f"{text}."


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
