"""A page is sound HTML, loads nothing, and names do no harm in it."""

from __future__ import annotations

import base64
import hashlib
import re
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from reports import html, names, pages
from reports.data import Data
from reports.folder import folder
from reports.summary import summary
from reports.warned import Warned
from reports.write import write_report
from tests.reports.dom import Element, Page, parse
from tests.reports.marts import NOVEMBER, Marts, at, bill

EVIL = {
    "markup": "<script>alert(1)</script><img src=//evil.example/x onerror=alert(1)>",
    "quote": "\"' onmouseover='alert(1)",
    "formula": '=1+1+cmd|" /C calc"!A0',
    "at": "@SUM(A1:A9)",
    "turned": "abc\u202egpj.exe\u2066x",
    "template": "{{ 7 * 7 }} {% include 'x' %}",
    "entity": "&lt;b&gt; &amp; ]]> <!-- -->",
    "control": "a\x00b\x1b[31mc\r\nd\te",
    "hebrew": "שלום",
    "long": "void kernel<" + "int, " * 2000 + ">",
    "svg": "</text></svg><script>alert(2)</script>",
    "css": "url(https://evil.example/a.css)",
}


@pytest.fixture(scope="module")
def hostile_marts(tmp_path_factory: pytest.TempPathFactory) -> Marts:
    """Published tables in which every name is hostile."""
    marts = Marts(tmp_path_factory.mktemp("marts"))
    evil = list(EVIL.values())
    bill(marts, [
        {"team": team, "bucket": bucket, "waste_class": waste_class, "usd": usd}
        for team in evil
        for bucket, waste_class, usd in (
            ("compute", "useful", "50"), ("comm_wait", "step", "30"),
            ("idle_held", "strict", "20"), ("not_observed", "unknown", "0.015"),
        )
    ])  # fmt: skip
    month = {"month": NOVEMBER}
    for number, name in enumerate(evil):
        job = {"cluster": name, "job_id": f"{number}{name}", "attempt": 1}
        marts.put("job_cost", [{
            **month, **job, "team": name, "user_name": name, "job_name": name, "state": "FAILED",
            "gpu_count": 2, "gpu_ns": 7, "billed_usd": 5, "effective_usd": 5 + number,
        }])  # fmt: skip
        marts.put("efficiency_ladder", [
            {**month, **job, "team": name, "scope": "in_steps", "gpu_util_ratio": 0.9,
             "mfu_ratio": 0.1, "total_ns": 10**9, "observed_ns": 10**9},
        ])  # fmt: skip
        marts.put("kernel_cost", [{
            **month, "team": name, "cluster": name, "job_id": f"{number}{name}",
            "bucket": "compute", "module": name, "op": name, "kernel_family": name, "calls": 1,
            "gpu_ns": 5, "direct_usd": 1, "loaded_usd": 2, "low_usd": 1, "high_usd": 3,
        }])  # fmt: skip
        parts = {"compute_ns": 5, "comm_wait_ns": 5, "step_ns": 10}
        zero = dict.fromkeys(
            ("comm_exposed_ns", "copy_exposed_ns", "data_stall_ns", "launch_gap_ns",
             "host_sync_ns", "pipeline_bubble_ns", "gap_unknown_ns"), 0,
        )  # fmt: skip
        marts.put("step_breakdown", [
            {**month, **job, "rank": rank, "step": 1, "gpu_uuid": name, "start_ns": rank,
             **parts, **zero, "unfit": False}
            for rank in (0, 1)
        ])  # fmt: skip
        marts.put("straggler_rank", [
            {**month, **job, "team": name, "rank": rank, "gpu_uuid": name, "node": name,
             "wait_caused_gpu_ns": 5, "wait_caused_usd": 1, "slowdown_ratio": 2.0}
            for rank in (0, 1)
        ])  # fmt: skip
        marts.put("idle_sessions", [{
            **month, **job, "team": name, "gpu_uuid": name, "start": at(1), "end": at(2),
            "sub": name, "waste_class": name, "gpu_ns": 5, "billed_usd": 1,
        }])  # fmt: skip
        marts.put("trace_file", [{**month, **job, "source_file": name, "found_by": name}])
        marts.put("reject", [{"source": name, "file": name, "position": name, "reason": name}])
    return marts


@pytest.fixture(scope="module")
def hostile(hostile_marts: Marts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of these tables."""
    out = tmp_path_factory.mktemp("hostile") / "report"
    with folder(out) as target:
        write_report(hostile_marts, NOVEMBER, target)
    return out


def all_pages(out: Path) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in sorted(out.rglob("*.html"))}


@pytest.fixture(scope="module", params=["example", "hostile"])
def every(request: pytest.FixtureRequest) -> dict[Path, str]:
    """All pages of the example's report, and of the hostile one."""
    out: Path = request.getfixturevalue("written" if request.param == "example" else "hostile")
    return all_pages(out)


def test_pages_are_nested_and_load_nothing(every: dict[Path, str]) -> None:
    assert len(every) > 5
    for path, text in every.items():
        page = parse(text)
        for reference in page.references:
            parts = urlsplit(reference)
            assert (parts.scheme, parts.netloc, parts.query) == ("", "", ""), reference
            if parts.path:
                assert (path.parent / parts.path).is_file(), (path, reference)
            else:
                assert f'id="{parts.fragment}"' in text
        tags = {element.tag for element in walk(page.root)}
        assert not tags & {"iframe", "object", "embed", "link", "img", "base", "form", "image"}
        style = page.root.all("style")[0].raw
        assert "url(" not in style
        assert "@import" not in style


def test_only_the_page_s_own_style_and_script_may_run(every: dict[Path, str]) -> None:
    for text in every.values():
        page = parse(text)
        (policy,) = [
            element.attributes["content"] for element in page.root.all("meta")
            if element.attributes.get("http-equiv") == "Content-Security-Policy"
        ]  # fmt: skip
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        for tag in ("style", "script"):
            (element,) = page.root.all(tag)
            digest = base64.b64encode(hashlib.sha256(element.raw.encode()).digest()).decode()
            assert f"{tag}-src 'sha256-{digest}'" in policy


def test_ids_are_unique_and_what_is_named_by_id_is_there(every: dict[Path, str]) -> None:
    for text in every.values():
        page = parse(text)
        elements = list(walk(page.root))
        idents = [e.attributes["id"] for e in elements if "id" in e.attributes]
        assert len(idents) == len(set(idents))
        named = [i for e in elements for i in e.attributes.get("aria-labelledby", "").split()]
        assert set(named) <= set(idents)
        assert set(re.findall(r"url\(#([\w-]+)\)", text)) <= set(idents)


def test_the_outline_is_whole(every: dict[Path, str]) -> None:
    for text in every.values():
        page = parse(text)
        (document,) = page.root.all("html")
        assert document.attributes["lang"] == "en"
        assert len(page.root.all("h1")) == len(page.root.all("main")) == 1
        assert page.root.all("title")[0].text
        for section in page.root.all("section"):
            assert len(section.all("h2")) == 1
        for svg in page.root.all("svg"):
            assert svg.attributes["role"] == "img"
            assert [c.tag for c in svg.children if isinstance(c, Element)][:2] == ["title", "desc"]
            assert svg.all("title")[0].text
            assert svg.all("desc")[0].text


def walk(element: Element) -> list[Element]:
    found = [element]
    for child in element.children:
        if isinstance(child, Element):
            found += walk(child)
    return found


def test_hostile_names_are_text(hostile: Path) -> None:
    texts = all_pages(hostile)
    shown = parse(texts[hostile / "index.html"])
    whole = shown.root.text
    for name in ("markup", "formula", "template", "entity", "svg", "css"):
        assert names.plain(EVIL[name]) in whole, name
    assert "\\u202egpj.exe\\u2066x" in whole
    assert "a\\u0000b\\u001b[31mc\\u000d\\u000ad\\u0009e" in whole
    for text in texts.values():
        assert not set(text) & set("\u202e\u2066\x00\x1b")
        for bdi in parse(text).root.all("bdi"):
            assert len(bdi.text) <= names.SHOWN
            assert len(bdi.attributes.get("title", "")) <= names.KEPT
    assert any(bdi.text == EVIL["hebrew"] for bdi in shown.root.all("bdi"))
    long = [bdi for bdi in shown.root.all("bdi") if bdi.text.startswith("void kernel<")]
    assert long
    assert all("…" in bdi.text and len(bdi.attributes["title"]) == names.KEPT for bdi in long)


def test_hostile_names_in_charts_are_text(hostile: Path) -> None:
    drawn = [svg for text in all_pages(hostile).values() for svg in parse(text).root.all("svg")]
    assert len(drawn) > 30
    tags = {element.tag for svg in drawn for element in walk(svg)}
    assert tags <= {"svg", "title", "desc", "g", "path", "line", "text", "rect", "defs",
                    "clipPath", "tspan"}  # fmt: skip
    labels = {element.text for svg in drawn for element in svg.all("text")}
    assert any(label.startswith("<script>") for label in labels)


def test_the_sql_of_a_hostile_team_gives_its_rows(hostile: Path, hostile_marts: Marts) -> None:
    for path, text in all_pages(hostile).items():
        if path.parent.name != "teams":
            continue
        page = parse(text)
        for name, rows in (("jobs", 1), ("waste", 4), ("stragglers", 2)):
            assert hostile_marts.query(page.sql[name]).num_rows == rows, (path, name)
            assert len(page.tables[name].rows) == rows


def test_each_team_has_a_file_of_its_own(hostile: Path) -> None:
    files = [path.name for path in (hostile / "teams").iterdir()]
    assert len(files) == len(EVIL)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9_-]*\.html", name) for name in files)


# --- what a page says when there is little to say -------------------------------------------------


def test_unknown_is_shown_with_its_dollars(tmp_path: Path) -> None:
    marts = Marts(tmp_path)
    bill(marts, [
        {"team": "a", "bucket": "busy_unsplit", "waste_class": "unknown", "usd": "30"},
        {"team": "a", "bucket": "compute", "waste_class": "useful", "usd": "70"},
    ])  # fmt: skip
    page = rendered(marts)
    assert "100.00 USD were billed: 70.00 USD are explained" in page.root.text
    assert "30.00 USD (30.0 %) are unknown" in page.root.text
    assert page.tables["unknown"].rows == [
        ["a", "busy_unsplit", "30.00", "10.0", "1.0000", "own_code", "E2"]
    ]


def test_an_empty_month_is_said_in_words(tmp_path: Path) -> None:
    page = rendered(Marts(tmp_path))
    text = page.root.text
    for words in ("No invoice has landed", "No idle session", "No attempt ended early",
                  "No trace was read", "No traced step", "nothing to compare with",
                  "Every record that was delivered could be read"):  # fmt: skip
        assert words in text


def test_a_bill_that_was_not_read_whole_is_said_on_top(tmp_path: Path) -> None:
    marts = Marts(tmp_path)
    bill(marts, [{"team": "a", "bucket": "compute", "waste_class": "useful", "usd": "5"}])
    marts.put("reject", [{"source": "focus_csv", "file": "b.csv", "position": "3", "reason": "x"}])
    (badge,) = [p for p in rendered(marts).root.all("p") if "badge" in p.classes()]
    assert badge.text == "Difference 0, but 1 record of the bill could not be read"
    assert "bad" in badge.classes()


def test_checks_that_warned_are_said_on_top_and_listed(tmp_path: Path) -> None:
    """The sums hold, so the month is published; its evidence may be wrong, and the page says so."""
    marts = Marts(tmp_path)
    bill(marts, [{"team": "a", "bucket": "compute", "waste_class": "useful", "usd": "5"}])
    warnings = [
        Warned("chk_x", "chk_x", 2, "job=<b>", "jobs are quiet"),
        Warned("m", "c", 1, "", ""),
    ]
    data = Data(marts, NOVEMBER, None, warnings)
    for page in (pages.month_page(data), pages.team_page(data, "a")):
        shown = parse(html.render(page, charts=False))
        (badge,) = [p for p in shown.root.all("p") if "badge" in p.classes()]
        assert badge.text == "Difference 0, but 2 checks warn: see what is not known"
        assert "bad" in badge.classes()
        assert shown.tables["warned"].rows == [
            ["chk_x", "2", "job=<b>", "jobs are quiet"], ["m: c", "1", "", ""],
        ]  # fmt: skip
    assert "ATTENTION: Difference 0, but 2 checks warn" in summary(data, None)


def test_the_facts_add_up(tmp_path: Path) -> None:
    """Every class with dollars is among them."""
    marts = Marts(tmp_path)
    parts = [
        ("useful", "5"),
        ("step", "2"),
        ("overhead", "1"),
        ("strict", "1.5"),
        ("policy", "0.5"),
    ]
    bill(marts, [{"team": "a", "bucket": c, "waste_class": c, "usd": usd} for c, usd in parts])
    facts = pages.month_page(Data(marts, NOVEMBER, None)).facts
    assert [(name, share) for name, _, share in facts[2:]] == [
        ("useful", "50.0 %"), ("step", "20.0 %"), ("overhead", "10.0 %"), ("strict", "15.0 %"),
        ("policy", "5.0 %"), ("unknown", "0 %"),
    ]  # fmt: skip
    usd = [Decimal(text.removesuffix(" USD")) for _, text, _ in (facts[0], *facts[2:])]
    assert sum(usd[1:]) == usd[0] == 10


def rendered(marts: Marts, **options: object) -> Page:
    data = Data(marts, NOVEMBER, None)
    return parse(html.render(pages.month_page(data), charts=False))
