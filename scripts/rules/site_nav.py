"""MkDocs calls this: the navigation of the site is the list of pages in docs/index.md."""

import pathlib
import re

ENTRY = re.compile(r"## (?P<section>.+)|- \[(?P<title>[^\]]+)\]\((?P<page>[\w-]+\.md)\)")


def navigation(index):
    entries = [{"Home": "index.md"}]
    for found in map(ENTRY.match, index.splitlines()):
        if found and found["section"]:
            entries.append({found["section"]: (pages := [])})
        elif found:
            pages.append({found["title"]: found["page"]})
    return entries


def on_config(config):
    config.nav = navigation(pathlib.Path(config.docs_dir, "index.md").read_text())
