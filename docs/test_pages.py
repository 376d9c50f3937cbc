"""Every page is in the built documentation, under its own name.

HTML_DIR names documentation that was built; without it, it is built here, in minutes.
"""

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent
FOLDERS = "", "benchmarks", "decisions", "theory"
PAGES = [path for folder in FOLDERS for path in (DOCS / folder).glob("*.rst")]


def words(text):
    """Text with single spaces."""
    return " ".join(text.split())


def longest_sentence(page):
    """Find the longest sentence of a page without markup, or a heading if none has."""
    source = page.read_text(encoding="utf-8")
    blocks = re.split(r"\n\s*\n", source)
    prose = [block for block in blocks if re.match(r"[A-Z0-9]", block)]
    sentences = [words(each) for block in prose for each in re.split(r"[.:]\s", block)]
    plain = [each for each in sentences if not re.search(r"[^\w ,;()/%-]|--|_", each)]
    titles = re.findall(r"^(.+)\n[=-]+$", source, flags=re.MULTILINE)
    return max(plain or titles, key=len)


def test_every_page_is_built(tmp_path):
    if (folder := os.environ.get("HTML_DIR")) is None:
        pytest.importorskip("sphinx")
        folder = tmp_path
        subprocess.run([sys.executable, "-m", "sphinx", "-q", DOCS, folder], check=True)
    absent = {}
    for page in PAGES:
        built = Path(folder, page.relative_to(DOCS)).with_suffix(".html")
        text = re.sub(r"<[^>]+>", "", built.read_text(encoding="utf-8"))
        sentence = longest_sentence(page)
        if sentence not in words(html.unescape(text)):
            absent[built.name] = sentence
    assert not absent
