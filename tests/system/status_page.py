"""Looks at the status page in a browser: status_page.py URL PID_OF_A_WORKER. It kills the worker."""

import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import browser  # noqa: E402

if not browser.find():
    print("skipped: there is no chromium (Debian: chromium-headless-shell)")
    sys.exit(77)

url, pid = sys.argv[1], int(sys.argv[2])
with browser.Browser() as page:
    page.look(1000, 800)
    page.open(url)
    page.wait_for("document.querySelectorAll('.rank.running').length === 3")
    assert page.evaluate("document.getElementById('state').textContent") == "running"
    assert page.evaluate("document.getElementById('rounds').children.length") == 1

    # The log of a rank, when it is clicked.
    page.evaluate("document.querySelector('.rank[data-rank=\"2\"]').click()")
    page.evaluate("document.getElementById('tab-out').click()")
    page.wait_for("document.getElementById('log-text').textContent.includes('rank 2 says its first words')")

    # A killed worker, and the restart.
    os.kill(pid, signal.SIGKILL)
    page.wait_for("document.getElementById('rounds').children.length === 2")
    page.wait_for("document.querySelectorAll('.rank.running').length === 3")
    rounds = page.evaluate("document.getElementById('rounds').innerText")
    assert "rank 1 was killed by SIGKILL" in rounds, rounds

    # On a phone nothing is wider than the screen, and the colours follow the system's.
    page.look(360, 640, dark=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 22, 28)"
