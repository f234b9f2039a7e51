"""Looks for a hang on the status page in a browser: status_hang.py URL."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import browser  # noqa: E402

if not browser.find():
    sys.exit(77)
with browser.Browser() as page:
    page.open(sys.argv[1])
    page.wait_for("!document.getElementById('trouble').hidden")
    page.wait_for("document.querySelector('.rank.missing').dataset.rank === '1'")
    assert page.evaluate("document.querySelectorAll('.rank.waiting').length") == 2
    assert page.evaluate("document.getElementById('state').textContent") == "hangs"
    assert page.evaluate("document.querySelector('.node .badge').textContent") == "hangs"
    trouble = page.evaluate("document.getElementById('trouble').innerText")
    assert "all_reduce" in trouble and "load_batch" in trouble and "hang.py:10" in trouble, trouble
