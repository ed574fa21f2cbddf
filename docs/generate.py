"""Writes the pages of docs/ that follow from code, and renews the outputs that pages show.

    python docs/generate.py            write what is stale
    python docs/generate.py --check    write nothing; exit 1 and name what is stale

Generated whole: models/*.md (headers of models/sql), landing.md (contracts), sources.md (readers)
and cli.md (help texts). In README.md, docs/ and examples/ a block that is fenced as `console` holds
commands, each after `$ `, and what they print: they are run in one folder, one after the other, on
a copy of examples/, and their output is put in its place. A command with nothing under it has its
output not shown; write `?` there to have it filled in. Output with a line `...` is abridged by hand
and left alone; tests/test_docs.py compares its lines too.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO))

from ingest.registry import KINDS, Kind  # noqa: E402
from warehouse.contracts import LANDING, Column, Contract  # noqa: E402
from warehouse.models import LAYERS, Graph, Model  # noqa: E402
from warehouse.run_tables import RUN  # noqa: E402
from warehouse.seeds import read_seed  # noqa: E402
from warehouse.shipped import graph, seeds  # noqa: E402
from warehouse.sqltypes import sql_type  # noqa: E402

MARK = "<!-- Written by docs/generate.py (`make docs`): do not edit. -->\n"
_LAYER_TEXT = {
    "staging": "One model per landing table: rename, cast, epoch nanoseconds. Nothing is decided.",
    "intermediate": "The waste model itself, in steps. Not published; tables may change any time.",
    "marts": "The published tables. Columns stay; more may come beside them.",
    "reports": "Published sums of marts for pages that people read.",
    "checks": "Queries that must find nothing. A blocking one that finds a row stops the month.",
}
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Shown:
    """A command that a page shows: as it is written, as one line, and the output under it."""

    written: str
    command: str
    output: str

    @property
    def is_abridged(self) -> bool:
        """True where lines are left out, each gap shown as `...`."""
        return "..." in self.output.splitlines()


def pages() -> dict[str, str]:
    """The generated pages, by path below docs/."""
    models = graph()
    return {
        **{f"models/{layer}.md": _layer_page(models, layer) for layer in LAYERS},
        "models/README.md": _index_page(models),
        "models/inputs.md": _inputs_page(models),
        "landing.md": _landing_page(),
        "sources.md": _sources_page(),
        "cli.md": _cli_page(),
    }


def pages_with_commands() -> list[Path]:
    """The pages whose commands are run."""
    found = [REPO / "README.md", *REPO.glob("docs/**/*.md"), *REPO.glob("examples/**/*.md")]
    return sorted(path for path in found if _CONSOLE.search(path.read_text(encoding="utf-8")))


def shown(block: str) -> list[Shown]:
    """The commands of one console block; ValueError where it begins with something else.

    A command goes on in the next line where its line ends with a backslash.
    """
    found: list[tuple[list[str], list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(([line], []))
        elif found and not found[-1][1] and found[-1][0][-1].endswith("\\"):
            found[-1][0].append(line)
        elif found:
            found[-1][1].append(line)
        else:
            raise ValueError(f"a console block begins with {line!r}; expected `$ COMMAND`")
    return [
        Shown(
            "\n".join(heads),
            " ".join(head.removesuffix("\\").strip() for head in heads).removeprefix("$ "),
            "\n".join(lines),
        )
        for heads, lines in found
    ]


def blocks(page: Path) -> list[str]:
    """The console blocks of a page."""
    return _CONSOLE.findall(page.read_text(encoding="utf-8"))


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A folder like a fresh clone, as far as commands look: the working directory meanwhile."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(REPO / "examples", Path(folder) / "examples")
        shutil.copy(REPO / "Makefile", folder)
        with contextlib.chdir(folder):
            yield Path(folder)


def output_of(command: str) -> str:
    """What a shown command prints, standard output and error together; run in this process.

    `plumbline ...`, wherever it is installed, runs as it stands, and `make TARGET` as the plumbline
    commands of its recipe.
    ValueError for any other command, and for one that does not end well.
    """
    words = shlex.split(command, comments=True)
    if words[:1] == ["make"] and len(words) == 2:
        return "\n".join(output_of(line) for line in recipe(words[1]))
    if not words or Path(words[0]).name != "plumbline":
        raise ValueError(f"{command!r} is neither plumbline nor make; fence it as `sh` instead")
    from click.testing import CliRunner

    from pipelines.cli import cli

    result = CliRunner().invoke(cli, words[1:], prog_name="plumbline")
    if result.exit_code != 0:
        raise ValueError(
            f"{command!r} ended with {result.exit_code}: {result.output}"
        ) from result.exception
    return result.output.rstrip()


def recipe(target: str) -> list[str]:
    """The plumbline commands that `make TARGET` runs, with the Makefile's variables filled in."""
    text = (REPO / "Makefile").read_text(encoding="utf-8")
    variables = dict(re.findall(r"^(\w+) [:?]?= (.*)$", text, re.MULTILINE))
    found = re.search(rf"^{re.escape(target)}:.*\n((?:\t.*\n?)*)", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"the Makefile has no target {target!r}")
    lines = [line.strip().removeprefix("@") for line in found[1].splitlines()]
    filled = [re.sub(r"\$\((\w+)\)", lambda m: variables.get(m[1], ""), line) for line in lines]
    return [line[line.index("plumbline") :] for line in filled if "/plumbline " in line]


def renewed(text: str, outputs: dict[str, str]) -> str:
    """A page's text with fresh outputs in its console blocks, abridged ones as they are."""

    def fill(match: re.Match[str]) -> str:
        body = ""
        for part in shown(match[1]):
            keep = part.is_abridged or not part.output
            output = part.output if keep else outputs[part.command]
            body += f"{part.written}\n{output}\n" if output else f"{part.written}\n"
        return f"```console\n{body}```"

    return _CONSOLE.sub(fill, text)


def outputs() -> dict[str, str]:
    """The output of every command of every page, run in one workplace, README first."""
    found: dict[str, str] = {}
    with workplace():
        for page in sorted(pages_with_commands(), key=lambda p: (p.name != "README.md", p)):
            for block in blocks(page):
                for part in shown(block):
                    if part.command not in found:
                        found[part.command] = tidy(output_of(part.command))
    return found


def tidy(text: str) -> str:
    """Output without blanks at the ends of lines, the working directory written as ~/plumbline."""
    here = text.replace(str(Path.cwd()), "~/plumbline")
    return "\n".join(line.rstrip() for line in here.splitlines()).strip("\n")


def _layer_page(models: Graph, layer: str) -> str:
    members = [models.models[name] for name in sorted(models.models)]
    parts = [f"{MARK}# Models: {layer}\n\n{_LAYER_TEXT[layer]}\n"]
    parts.extend(_model(models, model) for model in members if model.layer == layer)
    return "\n".join(parts)


def _model(models: Graph, model: Model) -> str:
    readers = [m.name for m in models.models.values() if model.name in m.inputs]
    facts = [f"One row per {model.grain.removeprefix('one row per ')}."] if model.grain else []
    if model.keys:
        facts.append(f"Key: {_codes(model.keys)}.")
    if model.level:
        facts.append(f"Level: {model.level}; its rows are the faults.")
    facts.append(f"Reads {', '.join(_link(models, n) for n in model.inputs) or 'nothing'}.")
    if readers:
        facts.append(f"Read by {', '.join(_link(models, n) for n in sorted(readers))}.")
    lines = [f"## {model.name}", "", _sentence(model.purpose), "", " ".join(facts), ""]
    lines += _table(
        ("column", "type", "unit", "meaning"),
        ((f"`{c.name}`", c.type, c.unit, c.meaning) for c in model.columns),
    )
    if model.checks:
        lines += ["", "Checks on each row:"]
        lines += [f"- {c.name} ({c.level}): `{c.expression}`" for c in model.checks]
    return "\n".join(lines) + "\n"


def _index_page(models: Graph) -> str:
    lines = [
        f"{MARK}# Models",
        "",
        "Each file below `models/sql` is one model: a header and one SELECT. These pages are the",
        "headers. [Inputs](inputs.md) are what models read besides each other: landing tables,",
        "seeds and the two tables that a run binds.",
    ]
    for layer in LAYERS:
        lines += ["", f"## {layer}", "", _LAYER_TEXT[layer], ""]
        named = sorted(m.name for m in models.models.values() if m.layer == layer)
        lines += _table(
            ("model", "what it is"),
            ((_link(models, n), _first_sentence(models.models[n].purpose)) for n in named),
        )
    return "\n".join(lines) + "\n"


def _inputs_page(models: Graph) -> str:
    lines = [
        f"{MARK}# Inputs of the models",
        "",
        "[Landing tables](../landing.md) hold what the sources say. Beside them models read:",
    ]
    for contract in RUN.values():
        lines += ["", _contract(contract).rstrip()]
    for name, path in seeds().items():
        text = path.read_text(encoding="utf-8").splitlines()
        comments = [line.lstrip("# ") for line in text if line.startswith("#")]
        readers = [m.name for m in models.models.values() if name in m.inputs]
        lines += ["", f"## {name}", "", " ".join(comments), ""]
        used = ", ".join(_link(models, reader) for reader in sorted(readers)) or "nothing yet"
        lines += [f"A seed: [models/seeds/{path.name}](../../models/seeds/{path.name}).", ""]
        lines += [f"Read by {used}.", ""]
        lines += _table(("column", "type"), ((f"`{n}`", t) for n, t in read_seed(path).columns))
    return "\n".join(lines) + "\n"


def _landing_page() -> str:
    lines = [
        f"{MARK}# Landing tables",
        "",
        "What readers write: the sources' own words in one shape, nothing decided. Times are UTC",
        "and half-open; money is DECIMAL(38,12). A file of a source is replaced whole. The tables",
        "are published, so `plumbline sql` and the catalog show them beside the marts.",
    ]
    for contract in LANDING.values():
        lines += ["", _contract(contract).rstrip()]
    return "\n".join(lines) + "\n"


def _contract(contract: Contract) -> str:
    lines = [
        f"## {contract.name}",
        "",
        f"{_sentence(contract.grain)} Key: {_codes(contract.key)}. Version {contract.version}.",
        "",
        *_table(
            ("column", "type", "unit", "null", "meaning"),
            (
                (f"`{c.name}`", _type(c), c.unit, "yes" if c.nullable else "no", c.meaning)
                for c in contract.columns
            ),
        ),
    ]
    return "\n".join(lines) + "\n"


def _sources_page() -> str:
    lines = [
        f"{MARK}# Sources",
        "",
        "One `[[source]]` of plumbline.toml for each thing that is read. Each kind takes these",
        "keys:",
        "",
        *_table(
            ("key", "meaning"),
            (
                ("`kind`", "one of the kinds below; picks the reader"),
                ("`files`", "globs, relative to the configuration; plain or .gz"),
                ("`name`", "how tables and `plumbline doctor` call it; default: the kind"),
                ("`cluster`", "the scheduler's cluster name, where records do not say it"),
                (
                    "`covers`",
                    "`[start, end]` with a zone: the time for which the export was asked. Only "
                    "then does a job's or an event's absence prove anything. The end may lie "
                    "ahead: a file speaks until it was written at most",
                ),
            ),
        ),
        "",
        "A record that cannot be read becomes a row of [reject](landing.md#reject); the rest of",
        "its file is kept. Where its absence could be taken for evidence it also cuts the source's",
        "coverage, for its node, job and time as far as they are known. A file that cannot be read",
        "at all ends the run with an error that names it. A key that a kind does not know is an",
        "error when the configuration is loaded.",
        "",
        *_table(
            ("kind", "grade", "what it gives"),
            ((f"[{k.name}](#{k.name})", k.grade, k.gives) for k in KINDS.values()),
        ),
    ]
    for kind in KINDS.values():
        lines += ["", *_kind(kind)]
    return "\n".join(lines) + "\n"


def _kind(kind: Kind) -> list[str]:
    module = import_module(kind.module)
    options = kind.options
    lines = [f"## {kind.name}", "", (module.__doc__ or "").strip()]
    if options:
        lines += ["", "Options:", ""]
        lines += _table(("option", "meaning"), ((f"`{n}`", t) for n, t in options.items()))
    return [*lines, "", "How to export it:", "", "```text", kind.export.strip(), "```"]


def _cli_page() -> str:
    lines = [
        f"{MARK}# The command line",
        "",
        "`--config FILE` names the configuration of any command, before or after the command's",
        "name; without it plumbline.toml here or in a folder above counts.",
    ]
    from pipelines.cli import COMMANDS

    for name in ("", *COMMANDS):
        command = f"plumbline {name}".strip()
        lines += ["", f"## {command}", "", "```text", output_of(f"{command} --help"), "```"]
    return "\n".join(lines) + "\n"


def _link(models: Graph, name: str) -> str:
    if name in models.models:
        return f"[{name}]({models.models[name].layer}.md#{name})"
    page = "../landing.md" if name in LANDING else "inputs.md"
    return f"[{name}]({page}#{name})"


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [" | ".join(heads), " | ".join("---" for _ in heads)]
    lines += [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return [f"| {line} |" for line in lines]


def _type(column: Column) -> str:
    return sql_type(column.type)


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith(".") else f"{text}."


def _first_sentence(text: str) -> str:
    return _sentence(re.split(r"(?<=[.:])\s", text)[0].rstrip(".:"))


def stale() -> dict[Path, str]:
    """The pages whose text is not what it should be, with what it should be."""
    wanted = {REPO / "docs" / name: text for name, text in pages().items()}
    fresh = outputs()
    for page in pages_with_commands():
        if page not in wanted:
            wanted[page] = renewed(page.read_text(encoding="utf-8"), fresh)
    return {
        path: text
        for path, text in wanted.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    }


def main() -> int:
    """Write or name what is stale."""
    check = sys.argv[1:] == ["--check"]
    found = stale()
    for path, text in found.items():
        print("stale:" if check else "wrote", path.relative_to(REPO))
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 1 if check and found else 0


if __name__ == "__main__":
    sys.exit(main())
