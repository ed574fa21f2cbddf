"""The models and seeds that ship with Plumbline."""

from __future__ import annotations

import hashlib
from pathlib import Path

from warehouse.contracts import LANDING, Contract
from warehouse.models import Graph, load_graph
from warehouse.run_tables import RUN

MODELS = Path(__file__).resolve().parent.parent / "models"


def seeds() -> dict[str, Path]:
    """The seed tables by name: small dated facts with their sources."""
    return {path.stem: path for path in sorted((MODELS / "seeds").glob("*.csv"))}


def seeds_fingerprint() -> str:
    """A hash of all seeds."""
    digest = hashlib.sha256()
    for name, path in seeds().items():
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def graph() -> Graph:
    """The SQL graph; ModelError where a file breaks the rules."""
    return load_graph(MODELS / "sql", inputs={*LANDING, *RUN, *seeds()})


def marts(models: Graph) -> dict[str, Contract]:
    """Contracts of the published tables, by name, in building order."""
    return {
        name: models.models[name].contract()
        for name in models.order
        if models.models[name].layer in ("marts", "reports")
    }
