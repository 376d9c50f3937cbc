"""Pages of HTML: what they hold, for whom they are legible, and in a browser."""

import json
import re
import shutil
import subprocess
import sys
import warnings
from html import escape
from html.parser import HTMLParser
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from colours import contrast
from sklearn.naive_bayes import GaussianNB

import skci
from skci import grades_report, joint_report, roc_report
from skci.reports.rendering import packaged

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

RNG = np.random.default_rng(0)
N = 240
Y = np.arange(N) % 2
EASE = RNG.normal(size=N)
THRESHOLDS = np.linspace(-1, 2, 16)
NAMES = ["<script>alert(1)</script>", "A & \"B\" 'C'", "\u6a21\u578b</td>"]


def models(n, names=None):
    """Labels that n models predict, each a little worse than the one before."""
    wrong = [EASE + RNG.normal(size=N) > 1.6 - 1.2 * k / n for k in range(n)]
    names = names or [f"model {k:02d}" for k in range(n)]
    return {name: np.where(w, 1 - Y, Y) for name, w in zip(names, wrong, strict=True)}


def votes():
    first, second = RNG.choice(["ada", "bob", "cleo"], (2, 400))
    kept = first != second
    outcome = RNG.choice(["first", "second", "tie"], kept.sum())
    return skci.votes_report(first[kept], second[kept], outcome, position=True)


METRICS = ["accuracy", "f1"]
SCORES = {name: Y + RNG.normal(size=N) for name in "AB"}
REPORTS = {
    "one": lambda: joint_report(Y, models(1), metrics="accuracy"),
    "names": lambda: joint_report(
        Y, models(3, NAMES), metrics={"<b>f1": "f1", "recall": "recall"}
    ),
    "individual": lambda: joint_report(Y, models(3), metrics=METRICS).individual(),
    "many": lambda: joint_report(Y, models(9), metrics=METRICS, method="delta"),
    "subgroups": lambda: joint_report(
        Y, models(2), metrics=METRICS, by={"sex": np.where(EASE > 0, "f", "m")}
    ),
    "margin": lambda: joint_report(Y, models(3), metrics=METRICS).differences(
        margin=0.05
    ),
    "contrasts": lambda: joint_report(Y, models(2), metrics="f1").contrasts(
        [[1, -1]], ["gain"]
    ),
    "undefined": lambda: joint_report(
        Y, {"A": 0 * Y, "B": Y}, metrics=["precision", "diagnostic_odds_ratio"]
    ),
    "grades": lambda: grades_report(
        {m: RNG.random((100, 3)) < 0.6 for m in "AB"},
        groups=np.arange(100) % 30,
        bounds=(0, 1),
        samples="independent",
    ),
    "cross-validation": lambda: skci.cross_validate_report(
        GaussianNB(), np.c_[EASE, SCORES["A"]], Y, metrics="accuracy"
    ),
    "votes": votes,
    "curves": lambda: roc_report(Y, SCORES, thresholds=THRESHOLDS),
    "calibration": lambda: skci.calibration_report(Y, 1 / (1 + np.exp(-SCORES["A"]))),
    "classes": lambda: skci.classification_report_ci(Y, models(1)["model 00"]),
}

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Tree(HTMLParser):
    """Elements of a page in order, each with its attributes and its text."""

    def __init__(self, page):
        super().__init__()
        self.elements, self._open = [], []
        self.feed(page)
        self.close()
        assert not self._open, f"{self._open[-1].tag} is not closed"

    def handle_starttag(self, tag, attributes):
        inside = [each.tag for each in self._open]
        element = SimpleNamespace(
            tag=tag, attributes=dict(attributes), text="", inside=inside
        )
        assert len(element.attributes) == len(attributes)
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        assert self._open.pop().tag == tag

    def handle_data(self, data):
        for element in self._open:
            element.text += data

    def all(self, tag, **attributes):
        return [
            each
            for each in self.elements
            if each.tag == tag and attributes.items() <= each.attributes.items()
        ]


@pytest.fixture(scope="module")
def pages():
    """By name, a report and the elements of its page."""
    made = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in REPORTS.items():
            report = make()
            made[name] = report, report.to_html()
    return made


def test_pages_are_whole_accessible_and_load_nothing(pages):
    for _, page in pages.values():
        tree = Tree(page)
        assert page.startswith("<!DOCTYPE html>")
        tags = [each.tag for each in tree.elements if "svg" not in each.inside]
        for single in ("title", "h1", "header", "main", "footer", "style"):
            assert tags.count(single) == 1, single
        for loaded in ("script", "link", "img", "iframe", "base", "object"):
            assert not tree.all(loaded)
        assert tree.all("html", lang="en")
        assert not re.search(r"url\((?!#)|@import", page)
        for element in tree.elements:
            for name, value in element.attributes.items():
                assert not name.startswith("on")
                if name.rpartition(":")[2] in ("src", "href"):
                    assert value.startswith("#")
        ids = [e.attributes["id"] for e in tree.elements if "id" in e.attributes]
        assert len(ids) == len({*ids})
        for section in tree.all("section"):
            assert section.attributes["aria-labelledby"] in ids
        levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
        assert levels[0] == 1 and all(b - a <= 1 for a, b in pairwise(levels))
        pictures = [e for e in tree.elements if e.attributes.get("role") == "img"]
        assert pictures and all(each.attributes["aria-label"] for each in pictures)
        assert len(tree.all("caption")) == len(tree.all("table")) > 0
        for cell in tree.all("th"):
            scope = "col" if "thead" in cell.inside else "row"
            assert cell.attributes["scope"] == scope and cell.text
        scrolled = tree.all("div", **{"class": "table"})
        assert len(scrolled) == len(tree.all("table"))
        assert all(each.attributes["tabindex"] == "0" for each in scrolled)


def tables_of(tree):
    """Rows of cells of each table."""
    tables = []
    for element in tree.elements:
        if element.tag == "table":
            tables.append([])
        elif element.tag == "tr":
            tables[-1].append([])
        elif element.tag in ("th", "td"):
            tables[-1][-1].append(element.text)
    return tables


SORTED = ("names", "individual", "many", "undefined", "grades", "votes")
MARKED = ("names", "many", "grades")


def test_pages_and_notebooks_have_every_cell_in_the_order_of_the_picture(pages):
    for name, (report, page) in pages.items():
        first = tables_of(Tree(page))[0]
        header, *rows = [list(row) for row in report._grid().rows()]
        if name in SORTED:
            metric = report.metrics[0]
            signs = {p.key.title: p.trait.sign for p in report._joint.parameters}
            loss = {
                m: -signs[metric] * v for (m, k), v in report.items() if k == metric
            }
            losses = np.array([loss.get(row[0], np.inf) for row in rows])
            order = np.argsort(np.nan_to_num(losses, nan=np.inf), kind="stable")
            rows = [rows[k] for k in order]
            assert len(loss) > 1
        shown = report._repr_html_()
        assert tables_of(Tree(shown))[0] == [header, *rows], name
        style = shown[shown.index("<style>") + 7 : shown.index("</style>")]
        assert style.split() == packaged("style.css").split()
        if name in MARKED:
            best = report.best([*report.metrics])
            marks = [best[metric][model].may_be_best for model, metric, *_ in rows]
            expected = ["yes" if mark else "no" for mark in marks]
            assert [row[-1] for row in first] == ["may be best", *expected]
        if first[0][-1] == "may be best":
            first = [row[:-1] for row in first]
        assert first == [header, *rows], name


def in_the_box(page):
    """Sentences in the box at the top of a page."""
    return [e.text for e in Tree(page).all("li") if "header" in e.inside]


def test_the_box_has_a_sentence_for_each_metric(pages):
    """Of the models by best(), on all metrics and in all subgroups, no fact twice."""
    for name in ("names", "individual", "many", "subgroups", "grades"):
        report, page = pages[name]
        compared = {"": report}
        if name == "subgroups":  # each at half of alpha
            level = (1 + report.confidence_level) / 2
            groups = list(dict.fromkeys(report.to_dict()["sex"]))
            compared = {f", sex = {x}": report.select(sex=x).at(level) for x in groups}
        panels = {
            f"{metric}{group}": best
            for metric in report.metrics
            for group, each in compared.items()
            for best in [each.best([*each.metrics])[metric]]
        }
        alone = "Taken alone: " * (name == "individual")
        assert in_the_box(page) == [
            alone + best.findings()[0].replace(best.metric, panel, 1)
            for panel, best in panels.items()
        ]
        assert "no rank is shown" not in page


def test_the_box_has_findings_with_a_margin_and_of_gaps(pages):
    report, page = pages["names"]
    plain, margin = report.differences(), report.differences(margin=0.05)
    ranked = in_the_box(page)
    assert in_the_box(report.to_html(sections={"Differences": plain})) == ranked
    shown = in_the_box(report.to_html(sections={"Differences": margin}))
    assert shown == ranked + margin.findings()
    assert in_the_box(plain.to_html()) == plain.findings()
    report, page = pages["subgroups"]
    shown = in_the_box(report.to_html(sections={"Gaps": report.gaps()}))
    assert shown == in_the_box(page) + report.gaps().findings()


def test_a_page_names_the_sampled_units(pages):
    """Rows, groups, queries or items, of which some may be without a grade or label."""
    y, query = np.tile([0, 1], 60), np.repeat(np.arange(30), 4)
    scores = {"A": RNG.normal(size=120), "B": y + RNG.normal(size=120)}
    search = joint_report(y, y_score=scores, query=query, metrics="map").to_html()
    grades = {m: RNG.integers(0, 2, 80).astype(float) for m in "AB"}
    people = {m: np.where(np.arange(80) < 40, grades[m], np.nan) for m in "AB"}
    some = np.where(np.arange(N) < 99, Y, np.nan)
    labelled = joint_report(some, models(1), proxy=Y, metrics="accuracy")
    for units, page, data in (
        ("rows", pages["many"][1], ""),
        ("groups", pages["grades"][1], ""),
        ("queries", search, ""),
        (
            "items",
            grades_report(people, missing_grades="drop").to_html(),
            "40 of 80 items, graded for all models",
        ),
        (
            "items",
            grades_report(people, proxy=grades).to_html(),
            "80 items, 40 of them graded by people, with a proxy",
        ),
        ("rows", labelled.to_html(), f"{N} rows, 99 of them labelled, with a proxy"),
    ):
        population = f"the population from which the {units} were sampled"
        data = data and f" The data are {data}."
        assert f"The true values are those of {population}.{data}" in page
        assert f"the random sampling of {units}." in page


def test_the_title_has_the_question_and_the_rows(pages):
    titles = {name: Tree(page).all("h1")[0].text for name, (_, page) in pages.items()}
    between = "between model 00, model 01 and model 02?"
    for name, title in {
        "one": "How large is the accuracy of model 00? n = 240",
        "many": "Which of 9 models is best on accuracy and f1? n = 240",
        "grades": "Which of A and B is best on mean? n = 100 in 30 groups",
        "contrasts": "How large are these contrasts: gain? n = 240",
        "curves": "false_positive_rate and recall of A and B? n = 240",
        "margin": f"How large are the differences of accuracy and f1 {between} n = 240",
    }.items():
        assert titles[name].endswith(title)
    assert "is best on strength?" in titles["votes"]
    report, page = pages["many"]
    named = report.to_html(title="Mine")
    assert Tree(named).all("h1")[0].text == "Mine"
    assert f"<p>{titles['many']}</p>" in named and f"<p>{titles['many']}" not in page


def test_a_page_of_many_curves_says_which_are_in_colour():
    scores = {f"m{k}": k * Y / 12 + RNG.normal(size=N) for k in range(60)}
    report = roc_report(Y, scores, thresholds=[0, 1, 2, 3, 4])
    page = report.to_html()
    (drawn,) = [e.text for e in Tree(page).all("p") if e.text.startswith("In colour")]
    assert drawn == report.plot().drawn_ and drawn.endswith("54 other models.")
    (sentence,) = in_the_box(page)
    best, *others = report.plot().leaders
    assert sentence.startswith(
        f"mean over the curve: best estimate: {best}; may also b"
    )
    assert sentence.endswith(f"shown to be worse: {59 - len(others)} others.")
    assert len(Tree(page).all("figure")) == 1


def test_the_box_names_identical_models():
    """Also among many models, of which other findings on differences are folded."""
    given = models(20)
    report = joint_report(Y, given | {"copy": given["model 03"]}, metrics="accuracy")
    said = [x for x in report.differences().findings() if "agree in all" in x]
    assert len(said) == 1 and "model 03 and copy" in said[0]
    assert in_the_box(report.to_html())[1:] == said


def test_pages_of_several_models_have_ranks_and_differences(pages):
    for name in ("names", "individual", "grades", "subgroups"):
        report, page = pages[name]
        others = report.ranks(), report.differences()
        sentences = [
            *others[1].findings(),
            *("Ranks", "Differences", "What the intervals promise"),
        ]
        assert all(page.count(escape(sentence)) >= 1 for sentence in sentences)
        assert all(page.count(f"<li>{escape(x)}</li>") == 1 for x in sentences[:-3])
        assert all(other._grid().to_html() in page for other in others)
    headings = [each.text for each in Tree(pages["one"][1]).all("h2")]
    assert "Ranks" not in headings and "Differences" not in headings
    votes = [each.text for each in Tree(pages["votes"][1]).all("svg")]
    (ranks,) = [text for text in votes if "rank on" in text]
    assert ranks.count("rank on strength") == 1 and "rank on ties" not in ranks


def test_no_name_is_markup(pages):
    report, page = pages["names"]
    tree = Tree(page)
    assert not tree.all("script") and not tree.all("b")
    shown = [cell.text for cell in tree.all("th", scope="row")]
    assert {*NAMES, "<b>f1"} <= {*shown}
    assert "<b>f1" in tree.all("title")[0].text
    titled = report.to_html(title="</title><script>", call="a < b && c\n\udcff")
    assert titled.encode()
    assert Tree(titled).all("h1")[0].text == "</title><script>"
    assert Tree(titled).all("pre")[0].text == "a < b && c\n\\udcff"


def test_pictures_are_those_of_the_reports(pages):
    """Drawn by matplotlib, with the names of the rows as text."""
    for name in ("many", "margin", "grades", "undefined", "curves"):
        report, page = pages[name]
        tree = Tree(page)
        drawn = [e for e in tree.all("svg") if "figure" in e.inside]
        assert len(drawn) == len(tree.all("figure")) == len(report._parts())
        if name != "curves":
            assert all(row in drawn[0].text for row in report._display().rows)


def test_a_page_without_matplotlib_has_tables_and_says_so(pages, monkeypatch):
    report, page = pages["names"]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    without = report.to_html()
    assert "<svg" not in without and "needs matplotlib" in without
    assert without.count("<table>") == page.count("<table>")


def test_warnings_and_settings_are_listed(pages):
    for name, text in {
        "undefined": "precision of A, diagnostic_odds_ratio of A: undefined",
        "grades": "in 30 groups",
        "cross-validation": "those of the procedure trained on 192 rows.<",
    }.items():
        assert text in pages[name][1], name
    assert "<p>None for these intervals." in pages["many"][1]
    given = skci.joint_intervals({("A", "f1"): 0.8}, [[0.01]]).to_html()
    assert "were supplied" in given and "population" not in given
    alike = {f"m{k}": 0 * Y for k in range(8)}
    page = joint_report(Y, alike, metrics="precision").to_html()
    assert "precision of m4, 3 others: undefined" in page and "of m5" not in page


def test_long_tables_and_many_findings_are_folded(pages):
    report, page = pages["curves"]
    (table,) = re.findall(r"<details>.*?</details>", page, flags=re.DOTALL)
    assert len(report) > 60 and len(tables_of(Tree(table))[0]) == len(report) + 1
    report = skci.threshold_report(Y, SCORES, thresholds=THRESHOLDS, metrics="recall")
    assert f"<summary>{len(report.findings())} findings</summary>" in report.to_html()
    assert "<details>" not in pages["names"][1]


def test_files_are_pages(tmp_path, pages):
    path = tmp_path / "page.html"
    assert pages["curves"][0].to_html(path) is None
    assert path.read_text(encoding="utf-8") == pages["curves"][1] + "\n"


# The stylesheet


def schemes():
    """Colours by name, on a light page and on a dark one."""
    light, dark = packaged("style.css").split("@media screen and (prefers-color-scheme")
    found = [dict(re.findall(r"--(\w+): (#\w{6});", text)) for text in (light, dark)]
    assert found[0].keys() == found[1].keys()
    return found


@pytest.mark.parametrize("scheme", schemes(), ids=["light", "dark"])
def test_text_and_pictures_have_the_contrast_of_level_aa(scheme):
    for text in ("ink", "quiet"):
        for ground in ("paper", "raised"):
            assert contrast(scheme[text], scheme[ground]) >= 4.5
    assert contrast(scheme["c0"], scheme["paper"]) >= 3


def test_the_stylesheet_is_of_reports_alone():
    """In a notebook it changes nothing else."""
    style = re.sub(r"/\*.*?\*/", "", packaged("style.css"), flags=re.DOTALL)
    selectors = re.findall(r"([^{};]+)\{", style)
    of_rules = [each for each in selectors if "@media" not in each]
    assert len(of_rules) > 20
    for selector in re.sub(r":is\([^)]*\)", "", ",".join(of_rules)).split(","):
        assert selector.strip().startswith(".skci"), selector


# A browser

BROWSER = next(
    filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])),
    None,
)
OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--window-size=1400,1000"),
]
FRAMES = """<!DOCTYPE html><body><pre id="found"></pre><script>
const page = {page}, found = [];
for (const width of [390, 1280]) {{
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 900; frame.srcdoc = page;
  frame.onload = () => {{
    const inside = frame.contentDocument, root = inside.documentElement;
    const outside = [...inside.querySelectorAll("h1, h2, p, li, span, figure, pre")]
      .filter(e => e.getBoundingClientRect().right > width).length;
    const drawn = [...inside.querySelectorAll("figure svg")]
      .map(e => e.getBoundingClientRect());
    const narrow = drawn.filter(r => r.width < 150 || r.height < 10).length;
    const scrolled = root.scrollWidth - root.clientWidth;
    inside.querySelectorAll("details").forEach(e => e.open = true);
    const wide = [...inside.querySelectorAll(".table")]
      .filter(e => e.scrollWidth > e.clientWidth).length;
    found.push([width, scrolled, outside, narrow, wide, drawn.length]);
    document.getElementById("found").textContent = JSON.stringify(found);
  }};
  document.body.append(frame);
}}
</script></body>"""


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
@pytest.mark.parametrize("name", ["names", "many", "sixty", "curves"])
def test_pages_in_a_browser(name, pages, tmp_path):
    """At both widths the page and its text fit, and the page can be printed."""
    page = (
        joint_report(Y, models(60), metrics="accuracy").to_html()
        if name == "sixty"
        else pages[name][1]
    )
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    embedded = json.dumps(page).replace("</", "<\\/")
    frames = FRAMES.format(page=embedded)
    (tmp_path / "frames.html").write_text(frames, encoding="utf-8")

    def browse(file, *options):
        command = [BROWSER, *OPTIONS, f"--user-data-dir={tmp_path / 'profile'}"]
        url = (tmp_path / file).as_uri()
        return subprocess.run(
            [*command, *options, url], capture_output=True, timeout=120, check=True
        ).stdout.decode()

    dumped = Tree(browse("page.html", "--dump-dom"))
    written = Tree(page)
    tags = [[e.tag for e in each.elements] for each in (written, dumped)]
    assert tags[0] == tags[1]  # no browser had to mend it
    seen = Tree(browse("frames.html", "--dump-dom")).all("pre", id="found")[0].text
    found = sorted(json.loads(seen))
    assert [width for width, *_ in found] == [390, 1280]
    for _, scrolled, outside, narrow, wide, drawn in found:
        assert scrolled == outside == narrow == 0
        assert not wide or name == "curves"  # whose table has six columns
        assert drawn
    pdf = tmp_path / "page.pdf"
    browse("page.html", f"--print-to-pdf={pdf}")
    assert pdf.read_bytes().startswith(b"%PDF-")
