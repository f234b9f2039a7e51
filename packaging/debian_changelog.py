#!/usr/bin/env python3
"""Prints docs/changelog.md in the format of Debian's changelogs (deb-changelog(5)):

    debian_changelog.py VERSION MAINTAINER

The newest entry must be that of VERSION. An entry without a day, which has not been released, takes the
time of SOURCE_DATE_EPOCH."""

import datetime
import os
import re
import sys
import textwrap
from email.utils import format_datetime
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "changelog.md"
COLUMNS = 78


def entries():
    """(version, day or None, its points) of each, the newest first."""
    for section in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        head, _, text = section.partition("\n")
        version, _, day = head.partition(", ")
        if version == "Unreleased":  # no package has it yet
            continue
        points = [" ".join(point.split()) for point in re.split(r"^- ", text, flags=re.MULTILINE)[1:]]
        yield version, day if re.fullmatch(r"\d{4}-\d\d-\d\d", day) else None, points


def moment(day):
    if day:
        when = datetime.datetime.fromisoformat(day + "T12:00:00")
    else:
        when = datetime.datetime.utcfromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]))
    return format_datetime(when.replace(tzinfo=datetime.timezone.utc))


def main():
    wanted, maintainer = sys.argv[1:]
    listed = list(entries())
    if not listed or listed[0][0] != wanted:
        sys.exit(f"{PAGE.name}: the first entry is not that of {wanted}")
    for version, day, points in listed:
        print(f"ddprun ({version}) unstable; urgency=medium\n")
        for point in points:
            print(textwrap.fill(re.sub(r"\[(.*?)\]\(.*?\)|`", r"\1", point), COLUMNS,
                                initial_indent="  * ", subsequent_indent="    ",
                                break_long_words=False, break_on_hyphens=False))
        print(f"\n -- {maintainer}  {moment(day)}\n")


if __name__ == "__main__":
    main()
