"""MkDocs calls this: the navigation of the site is the list of pages in docs/index.md. An index.md of a folder stands
there with the pages that it lists."""

import pathlib
import re

ENTRY = re.compile(r"## (?P<section>.+)|- \[(?P<title>[^\]]+)\]\((?P<page>[\w/-]+\.md)\)")


def navigation(docs, index="index.md"):
    folder = pathlib.PurePosixPath(index).parent
    entries = pages = [index]
    for found in filter(None, map(ENTRY.match, (docs / index).read_text().splitlines())):
        if found["section"]:
            entries.append({found["section"]: (pages := [])})
        else:
            page = str(folder / found["page"])
            pages.append({found["title"]: navigation(docs, page) if page.endswith("/index.md") else page})
    return entries


def on_config(config):
    config.nav = navigation(pathlib.Path(config.docs_dir))
    return config
