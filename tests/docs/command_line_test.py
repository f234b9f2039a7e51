#!/usr/bin/env python3
"""docs/command-line.md is what the table of options makes of it: command_line_test.py PAGE_PRINTER"""

import subprocess
import sys

from markdown import PROJECT

page = PROJECT / "docs" / "command-line.md"
expected = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
if page.read_text() == expected:
    sys.exit(0)
lines = zip([*page.read_text().splitlines(), "(end)"], [*expected.splitlines(), "(end)"])
number, (old, new) = next((n, both) for n, both in enumerate(lines, 1) if both[0] != both[1])
sys.exit(f"docs/command-line.md is not what the table of options says: run scripts/docs command-line\n"
         f"  line {number} is:        {old}\n  line {number} should be: {new}")
