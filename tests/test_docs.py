"""The documentation is complete, fresh, and shows what really happens."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType

import pytest
import sqlglot
from sqlglot import exp

from ingest import policy
from ingest.registry import KINDS
from pipelines.cli import COMMANDS
from pipelines.config import SETTINGS, load_config
from warehouse.contracts import LANDING
from warehouse.errors import ConfigError
from warehouse.run_tables import DEFAULTS
from warehouse.seeds import read_seed
from warehouse.shipped import graph, marts, seeds

REPO = Path(__file__).resolve().parent.parent
DOCS = REPO / "docs"
GRAPH = graph()
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name.
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


generate = _generator()
FRESH: dict[str, str] = generate.pages()


def pages() -> list[Path]:
    """Every Markdown page."""
    return sorted([*REPO.glob("*.md"), *DOCS.rglob("*.md"), *REPO.glob("examples/**/*.md")])


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


# --- generated pages ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(FRESH))
def test_generated_pages_are_fresh(name: str) -> None:
    assert text_of(name) == FRESH[name], "run `make docs`"


def test_no_generated_page_is_left_over() -> None:
    marked = {
        str(path.relative_to(DOCS))
        for path in DOCS.rglob("*.md")
        if path.read_text(encoding="utf-8").startswith(generate.MARK)
    }
    assert marked == set(FRESH)


def test_every_published_table_and_column_is_described() -> None:
    for name, contract in {**LANDING, **marts(GRAPH)}.items():
        layer = None if name in LANDING else GRAPH.models[name].layer
        page = text_of("landing.md" if layer is None else f"models/{layer}.md")
        section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        missing = [c.name for c in contract.columns if f"| `{c.name}` |" not in section]
        assert (name, missing) == (name, [])
        assert all(c.meaning for c in contract.columns)


# --- commands and what they print -----------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> dict[str, str]:
    """The real output of every command that a page shows."""
    found: dict[str, str] = generate.outputs()
    return found


def differences(shown: str, real: str) -> list[str]:
    """The runs of shown lines that the real output does not have, in order, up to widths.

    A shown line `...` stands for any number of lines. Runs of blanks, and rules of any length, are
    equal: they follow the widest cell.
    """

    def plain(line: str) -> str:
        return re.sub(r"─+", "─", re.sub(r"\s+", " ", line.strip()))

    lines = [plain(line) for line in real.splitlines()]
    runs: list[list[str]] = [[]]
    for line in shown.splitlines():
        if line == "...":
            runs.append([])
        else:
            runs[-1].append(plain(line))
    at, found = 0, []
    for number, run in enumerate(runs):
        starts = range(at, len(lines) - len(run) + 1)
        if number == 0:
            starts = range(0, min(1, len(starts)))
        if number == len(runs) - 1 and run:
            starts = range(max(at, len(lines) - len(run)), len(lines) - len(run) + 1)
        place = next((i for i in starts if lines[i : i + len(run)] == run), None)
        if place is None:
            found.append("\n".join(run))
        else:
            at = place + len(run)
    return found


@pytest.mark.parametrize(
    ("shown", "same"),
    [
        ("a  b\nc", True),
        ("a b", False),
        ("a b\n...", True),
        ("...\nc", True),
        ("...\na b", False),
        ("...\na b\n...", True),
        ("...\nc\n...\na b\n...", False),
        ("x\n...", False),
        ("...", True),
    ],
)
def test_differences(shown: str, same: bool) -> None:
    assert (differences(shown, "a b\nc") == []) is same


@pytest.mark.slow
@pytest.mark.parametrize("page", generate.pages_with_commands(), ids=lambda p: p.name)
def test_shown_outputs_are_real(page: Path, real: dict[str, str]) -> None:
    for block in generate.blocks(page):
        for part in generate.shown(block):
            if part.output:
                assert differences(part.output, real[part.command]) == [], part.command


@pytest.mark.slow
def test_readme_shows_the_demo_and_a_second_run(real: dict[str, str]) -> None:
    blocks = "\n".join(generate.blocks(REPO / "README.md"))
    assert "$ make demo" in blocks
    assert "nothing new: no source file was read, no month rebuilt" in blocks
    assert "2.8837" in real["make demo"]


def test_readme_is_short_and_begins_with_what_it_is() -> None:
    lines = (REPO / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 150
    assert lines[0] == "# Plumbline"
    assert lines.index("$ make demo") < 10


def test_every_command_stands_in_the_readme_or_the_guide() -> None:
    text = (REPO / "README.md").read_text(encoding="utf-8") + text_of("run-on-your-cluster.md")
    for name in COMMANDS:
        assert re.search(rf"plumbline (--config \S+ )?{name}\b", text), name


def test_shell_blocks_name_real_commands_and_targets() -> None:
    makefile = (REPO / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    for page in pages():
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            for target in re.findall(r"^make ([a-z]+)", block, re.MULTILINE):
                assert target in targets, (page.name, target)
            for name in re.findall(r"plumbline ([a-z]+)", block):
                assert name in COMMANDS or "git clone" in block, (page.name, name)


def sh_commands() -> list[str]:
    """The plumbline commands of the pages' `sh` blocks, each once, from its name to its comment."""
    found = {
        command.split("#")[0].strip()
        for page in pages()
        for block in re.findall(
            r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        )
        for command in re.findall(r"\bplumbline (?:-|[a-z])[^\n]*", block)
        if " && " not in command
    }
    return sorted(found)


@pytest.mark.slow
def test_commands_of_shell_blocks_run(tmp_path: Path) -> None:
    commands = sh_commands()
    assert {"plumbline init", "plumbline run", "plumbline doctor", "plumbline report"} <= set(
        commands
    )
    with generate.workplace() as folder:
        for command in sorted(commands, key=lambda c: (c != "plumbline run", c)):
            place = (
                tmp_path if command.startswith("plumbline init") else folder / "examples" / "h200"
            )
            with contextlib.chdir(place):
                assert generate.output_of(command)
    assert (tmp_path / "plumbline.toml").is_file()


def test_ci_runs_the_commands_of_the_readme() -> None:
    ci = (REPO / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    readme = (REPO / "README.md").read_text(encoding="utf-8")
    for command in ("make demo", "make test"):
        assert command in ci
        assert command in readme


# --- configuration --------------------------------------------------------------------------------


def known_keys(tmp_path: Path, toml: str) -> list[str]:
    """The keys that the configuration's own error lists where it meets an unknown one."""
    path = tmp_path / "plumbline.toml"
    path.write_text(toml, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    listed = re.search(r"known are (.*)\.$", str(caught.value))
    assert listed is not None
    return listed[1].split(", ")


def test_every_configuration_key_is_documented(tmp_path: Path) -> None:
    page = text_of("configuration.md")
    tables = known_keys(tmp_path, "nonsense = 1")
    assert [f"\n## [{name}]" in page or f"\n## [[{name}]]" in page for name in tables] == [
        True
    ] * len(tables)
    keys = known_keys(tmp_path, "[warehouse]\nroot = 'x'\nnonsense = 1")
    keys += known_keys(tmp_path, "[warehouse]\nroot = 'x'\n[settings]\nnonsense = 1")
    assert [key for key in keys if f"| `{key}` |" not in page] == []
    for key in ("kind", "name", "files", "cluster", "covers"):
        assert f"| `{key}` |" in text_of("sources.md")
    example = page.split("```toml")[1].split("```")[0]
    for key in ("kind", "owner", "start", "end", "cluster", "node", "account", "job_id", "note"):
        assert re.search(rf"\b{key}\b", example), key
    assert [kind for kind in policy.KINDS if kind not in example] == []


def test_the_documented_defaults_are_the_real_ones() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", text_of("configuration.md"), re.MULTILINE))
    for key, (column, factor) in SETTINGS.items():
        assert Decimal(rows[key]) * factor == DEFAULTS[column], key
    assert rows["mfu_dtype"].strip('`"') == DEFAULTS["mfu_dtype"]


def test_every_option_of_every_reader_is_documented() -> None:
    """Options are what readers declare; none takes another out of file.options."""
    page = text_of("sources.md")
    declared = {name for kind in KINDS.values() for name in kind.options}
    found = set()
    for path in (REPO / "ingest").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("options.get"):
                found |= {a.value for a in node.args[:1] if _is_text(a)}
    assert {"timezone", "pattern", "hash_users"} <= found <= declared
    assert {"team_tag", "gpu_uuid", "timezone", "pattern", "hash_users"} <= declared
    assert [name for name in sorted(declared) if f"| `{name}` |" not in page] == []
    assert [kind for kind in KINDS if f"\n## {kind}\n" not in page] == []


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != "|"


# --- words ----------------------------------------------------------------------------------------

#: Columns whose values are words of ours, and the section of the glossary that explains them.
WORDS = {
    "bucket": "Buckets",
    "waste_class": "Classes",
    "evidence_grade": "Evidence grades",
    "cause": "Causes",
    "sub": "Subs",
    "method_id": "Methods",
}
_ALIASES = {"event_sub": "sub", "failure_cause": "cause"}


def values(node: exp.Expr | None) -> Iterator[str]:
    """The texts that an expression may be, as far as they are written in it."""
    if isinstance(node, exp.Literal) and node.is_string:
        yield str(node.this)
    elif isinstance(node, exp.Case):
        for branch in node.args["ifs"]:
            yield from values(branch.args["true"])
        yield from values(node.args.get("default"))
    elif isinstance(node, exp.Coalesce):
        for part in (node.this, *node.expressions):
            yield from values(part)
    elif isinstance(node, exp.Cast | exp.Paren | exp.Min | exp.Max):
        yield from values(node.this)


def words(column: str) -> set[str]:
    """Every value that the models write into a column of this name."""
    found: set[str] = set()
    for model in GRAPH.models.values():
        for alias in sqlglot.parse_one(model.sql, read="duckdb").find_all(exp.Alias):
            if _ALIASES.get(alias.alias, alias.alias) == column:
                found |= set(values(alias.this))
    return found


def explained(section: str) -> set[str]:
    """The words of the first column of a glossary's section."""
    body = text_of("glossary.md").split(f"\n## {section}\n")[1].split("\n## ")[0]
    return {
        word
        for cell in re.findall(r"^\| (`[^|]*`) (?:\([a-z]+\) )?\|", body, re.MULTILINE)
        for word in re.findall(r"`(\w+)`", cell)
    }


def test_words_are_found_in_the_models() -> None:
    assert {"comma'd"} == set(values(sqlglot.parse_one("case when a = 'x' then 'comma''d' end")))
    assert {"own_maintenance", "boot", "provider_fault", "tail"} <= words("sub")
    assert {"idle_held", "billed_not_seen"} <= words("bucket")


@pytest.mark.parametrize("column", ["bucket", "waste_class", "evidence_grade", "cause", "sub"])
def test_every_word_of_a_column_is_in_the_glossary(column: str) -> None:
    # in_step is level 1's word: the glossary has it in the sentence on level1.
    assert words(column) - explained(WORDS[column]) - {"in_step"} == set()


def test_every_method_is_in_the_glossary() -> None:
    of_losses = {"restore_record", "save_record", "first_step", "durable_time", "none"}
    found = words("method_id")
    assert of_losses <= found
    written = (found - of_losses) | {f"lost_work_{name}" for name in of_losses - {"none"}}
    # Where no method is named, the bucket is the method.
    buckets = {cells[0] for _, cells in read_seed(seeds()["waste_rule"]).rows}
    assert written - explained("Methods") == set()
    assert explained("Methods") - written - buckets == set()


def test_buckets_and_classes_are_those_of_the_seed() -> None:
    seed = read_seed(seeds()["waste_rule"])
    names = [name for name, _ in seed.columns]
    rows = [dict(zip(names, cells, strict=True)) for _, cells in seed.rows]
    assert {row["bucket"] for row in rows} == explained("Buckets")
    glossary = text_of("glossary.md")
    for row in rows:
        assert f"| `{row['bucket']}` | {row['waste_class']} |" in glossary
        assert row["bucket"] in text_of("waste-model.md")
    assert explained("Classes") == {row["waste_class"] for row in rows} | {"policy"}


def test_words_that_nothing_writes_yet_say_so() -> None:
    glossary = text_of("glossary.md")
    for column in ("evidence_grade", "cause"):
        for word in explained(WORDS[column]) - words(column):
            line = next(row for row in glossary.splitlines() if row.startswith(f"| `{word}` |"))
            assert "not there yet" in line, word


# --- pages as pages -------------------------------------------------------------------------------


@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(REPO)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", _FENCED.sub("", page.read_text(encoding="utf-8")))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        assert file.is_relative_to(REPO), target
        if anchor:
            assert anchor in anchors(file), target


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", head.lower()) for head in heads)
    return {head.replace(" ", "-") for head in plain}


def test_decisions_are_numbered_and_of_one_form() -> None:
    found = sorted((DOCS / "decisions").glob("*.md"))
    assert [int(path.name[:4]) for path in found] == list(range(1, len(found) + 1))
    for path in found:
        text = path.read_text(encoding="utf-8")
        assert text.startswith(f"# {int(path.name[:4])}. ")
        heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
        assert heads == [
            "Context",
            "Decision",
            "Consequences",
            "How we would notice that it was wrong",
        ]


def test_no_file_names_a_private_place() -> None:
    """Paths of whoever wrote it, and hosts of package indexes, are nobody else's business."""
    git = shutil.which("git")
    if git is None or not (REPO / ".git").exists():
        pytest.skip("no checkout of git")
    listed = subprocess.run(
        [git, "-c", f"safe.directory={REPO}", "ls-files", "-z"],
        cwd=REPO, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    patterns = [
        r"(?<![\w./~])/(work|root|Users|mnt)/\w",
        r"/tmp/\w+" + "venv",
        r"(extra-)?index-" + r"url\s*=",
        r"https?://[\w.:-]*(pypi|artifact|nexus|registry|proxy)[\w.:-]*/",
        r"https?://(10|192\.168|172\.(1[6-9]|2\d|3[01]))\.[\d.]+",
    ]
    own = Path(__file__).relative_to(REPO).as_posix()
    found = []
    for name in filter(None, listed.split("\0")):
        path = REPO / name
        if name == own or not path.is_file():
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        found += [f"{name}: {m[0]}" for p in patterns for m in re.finditer(p, text)]
    assert found == []
