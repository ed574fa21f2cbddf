"""`plumbline report --out`: a month, or a team's part of it, as files in a folder or a bucket."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

from pipelines.published import Published


def write_folder(
    published: Published, month: date, out: str, *, team: str | None = None, plain: bool = False
) -> str:
    """Write the report of a published month to a folder or an object store; where its index is.

    The month before is compared with where it is published. Raises ConfigError where the folder is
    another's, the team has no part of the bill, or a package is missing; StoreError where an object
    store refuses.
    """
    from reports.bucket import bucket
    from reports.folder import folder, is_uri
    from reports.write import write_report

    with bucket(out) if is_uri(out) else folder(Path(out)) as target:
        write_report(
            published, month, target, previous=_previous(published, month),
            warnings=published.warned(month), team=team, plain=plain,
        )  # fmt: skip
    return below(out, "index.html")


def below(out: str, name: str) -> str:
    """The place of that name in a folder or below an object store's URI (before its options)."""
    from reports.folder import is_uri

    if not is_uri(out):
        return str(Path(out) / name)
    place, mark, options = out.partition("?")
    return f"{place.rstrip('/')}/{name}{mark}{options}"


def team_text(published: Published, month: date, team: str) -> str:
    """The short text of a team's part of a published month."""
    from reports.data import Data
    from reports.summary import summary
    from reports.write import require_team

    data = Data(published, month, _previous(published, month), published.warned(month))
    require_team(data, team)
    return summary(data, team)


def _previous(published: Published, month: date) -> date | None:
    before = (month - timedelta(days=1)).replace(day=1)
    return before if before in published.months else None
