#!/usr/bin/env python3
"""Finds words and phrases that the pages do not use. words.txt lists them, each with a better one."""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
# Code, comments of Markdown, the addresses of links, and quotations: nobody writes these for a page.
NO_PROSE = re.compile(r'^\s*```.*?^\s*```|<!--.*?-->|`[^`]+`|\]\([^)]*\)|https?://\S+|"[^"\n]*"', re.M | re.S)


def phrases():
    """Pairs of a pattern and what is better."""
    for line in (HERE / "words.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            phrase, better = line.split(" -> ")
            yield re.compile(rf"\b(?:{phrase})\b".replace(" ", r"\s+"), re.I), better


def findings(text):
    """(line, what is there, what is better) of a page."""
    prose = NO_PROSE.sub(lambda match: re.sub(r"[^\n]", "`", match[0]), text)
    for pattern, better in phrases():
        for match in pattern.finditer(prose):
            yield prose.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), better


def main():
    pages = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("**/*.md"))]
    found = [f"{page.relative_to(PROJECT)}:{line}: '{words}': better '{better}'"
             for page in pages for line, words, better in findings(page.read_text())]
    print("\n".join([*found, f"words: {len(pages)} pages, {len(found)} findings"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
