"""The pages as the tests see them: code blocks with the comments before them, prose, links, anchors."""

import re
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(\s*)(```+)\s*(\w*)\s*$")
COMMENT = re.compile(r"^\s*<!--\s*([\w ]+?)\s*(?::\s*(.*?))?\s*-->\s*$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


@dataclass
class Block:
    page: Path
    line: int  # its first one, as an editor counts
    language: str
    text: str
    remarks: dict = field(default_factory=dict)  # in the comments before it: {"needs": "torch"}

    def __str__(self):
        return f"{self.page.relative_to(PROJECT)}:{self.line}"


def pages():
    return [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("**/*.md"))]


def parts(page):
    """Yields ("prose", line number, text) for each line outside code, and ("block", line number, Block)."""
    remarks, indent, fence, block = {}, "", None, None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if fence:
            if line.strip() == fence:
                fence = None
                yield "block", number, block
            else:
                block.text += line.removeprefix(indent) + "\n"
        elif match := FENCE.match(line):
            indent, fence = match[1], match[2]
            block = Block(page, number + 1, match[3], "", remarks)
            remarks = {}
        else:
            if match := COMMENT.match(line):
                remarks[match[1]] = match[2] or ""
            elif line.strip():
                remarks = {}
            yield "prose", number, line
    assert fence is None, f"{page}: the last code block has no end"


def blocks(page):
    return [part for kind, _, part in parts(page) if kind == "block"]


def prose(page):
    return [(number, part) for kind, number, part in parts(page) if kind == "prose"]


def links(page):
    return [(number, target) for number, line in prose(page) for target in LINK.findall(line)]


def anchors(page):
    """Those that GitHub makes of the headings."""
    found = set()
    for _, line in prose(page):
        if match := re.match(r"#+\s+(.*)", line):
            words = re.sub(r"[^\w\- ]", "", match[1].strip().lower())
            found.add(words.replace(" ", "-"))
    return found
