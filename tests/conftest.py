"""Fixtures that all rooms share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout's root."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Public files that may not be shipped; tests that need them skip where they are absent."""
    folder = Path(os.environ.get("PLUMBLINE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no public data at {folder}")
    return folder
