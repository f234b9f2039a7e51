#!/usr/bin/env python3
"""Finds words and phrases that pages, comments and messages do not use. words.txt lists them, each with a better one."""

import functools
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from rules import prose, sources  # noqa: E402

# These quote what is to be found. Records of other programs are JSON, and text of no language that is read here.
QUOTING = ("tests/scripts/words_test.py",)


@functools.lru_cache
def phrases():
    """Pattern, what is better, and whether it counts in pages alone."""
    found, pages_alone = [], False
    for line in sources.text_of("scripts/rules/words.txt").splitlines():
        pages_alone = pages_alone or line == "[pages]"
        if " -> " in line and not line.startswith("#"):
            phrase, better = line.split(" -> ")
            found.append((re.compile(rf"\b(?:{phrase})\b".replace(" ", r"\s+"), re.I), better, pages_alone))
    return found


def findings(text, language="markdown"):
    """(line, what is there, what is better) of a file."""
    text = prose.written(text, language)
    for pattern, better, pages_alone in phrases():
        if language == "markdown" or not pages_alone:
            for match in pattern.finditer(text):
                yield text.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), better


def main():
    files = {path: language for path, language in sources.files().items() if not path.startswith(QUOTING)}
    found = [f"{path}:{line}: '{words}': better '{better}'" for path, language in files.items()
             for line, words, better in sorted(findings(sources.text_of(path), language))]
    print("\n".join([*found, f"words: {len(files)} files, {len(found)} findings"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
