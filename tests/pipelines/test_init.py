"""`plumbline init`: what it writes loads, as it stands and with anything taken out of comments."""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from pathlib import Path

import pytest

from ingest import policy
from ingest.registry import KINDS
from pipelines.config import load_config
from pipelines.init import TEMPLATE, export_lines, template
from pipelines.toml_values import PLACEHOLDERS
from tests.pipelines.command import cluster, done, failed
from warehouse.errors import ConfigError
from warehouse.run_tables import DEFAULTS, RUN_SETTING


def uncommented(text: str) -> str:
    """The text with every line that begins with # alone taken into use, as it stands."""
    return re.sub(r"^#(?=\S)", "", text, flags=re.MULTILINE)


def filled(text: str) -> str:
    """The text taken into use, with its placeholders replaced as a user would."""
    text = uncommented(text)
    for placeholder in PLACEHOLDERS:
        text = text.replace(f'"{placeholder}"', f'"{placeholder.lower()}"')
    return text


def section(kind: str) -> str:
    """What the template says about a kind of source."""
    return template().split(f"# --- {kind} -", 1)[1].split("\n# ---", 1)[0].split("\n# ===", 1)[0]


def test_it_loads_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "plumbline.toml"
    assert f"wrote {path}" in done("init", "--output", path)
    config = load_config(path)
    assert (config.sources, config.policies, config.settings) == ((), (), {})
    assert config.root == tmp_path / "plumbline-data"
    assert "Nothing is missing" not in done("doctor", config=path)


def test_all_of_it_taken_into_use_loads(tmp_path: Path) -> None:
    path = tmp_path / "plumbline.toml"
    path.write_text(filled(template()))
    config = load_config(path)
    assert [source.kind for source in config.sources] == list(KINDS)
    energy = config.settings.pop("energy_usd_per_mj")
    assert isinstance(energy, Decimal)
    assert energy > 0
    assert config.settings == {
        name: value for name, value in DEFAULTS.items() if name != "energy_usd_per_mj"
    }
    (batch,) = policy.windows(list(config.policies), config.policy_file())
    assert batch.rows.num_rows == 1


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_alone_loads_and_says_how_to_export_it(kind: str, tmp_path: Path) -> None:
    assert f"@source {kind}@" in TEMPLATE.read_text(), "give the new kind a block in the template"
    text = section(kind)
    for line in export_lines(KINDS[kind]):
        assert f"#     {line}".rstrip() in text.splitlines()
    assert f"(evidence {KINDS[kind].grade})" in " ".join(text.replace("\n# ", " ").split())
    path = tmp_path / "plumbline.toml"
    path.write_text('[warehouse]\nroot = "x"\n' + filled("#" + text.split("\n#", 1)[1]))
    (source,) = load_config(path).sources
    assert source.kind == kind


def test_each_setting_has_its_meaning_before_it() -> None:
    text = template().replace("\n# ", " ")
    for column in RUN_SETTING.columns:
        if DEFAULTS.get(column.name) is not None:
            assert column.meaning in text


def test_nothing_is_left_to_fill_in() -> None:
    assert not re.search(r"^@|@$", template(), re.MULTILINE)
    assert tomllib.loads(template()).keys() == {"warehouse", "settings"}


def test_a_placeholder_that_was_not_replaced_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plumbline.toml"
    for placeholder in PLACEHOLDERS:
        assert f'"{placeholder}"' in template()
    path.write_text(uncommented(template()))
    with pytest.raises(ConfigError, match="is still 'CLUSTER', which `plumbline init` wrote"):
        load_config(path)


def test_it_does_not_write_over_a_file(tmp_path: Path) -> None:
    path = cluster(tmp_path)
    before = path.read_text()
    error = failed("init", "--output", path, code=1)
    assert "--force" in error
    assert path.read_text() == before
    done("init", "--output", path, "--force")
    assert path.read_text() == template()


def test_where_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "wrote plumbline.toml" in done("init")
    done("init", config=tmp_path / "other.toml")
    assert (tmp_path / "other.toml").read_text() == (tmp_path / "plumbline.toml").read_text()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    error = failed("init", "--output", tmp_path / "no" / "plumbline.toml", code=1)
    assert "No such file or directory" in error
