"""Takes the pictures of scripts/screenshot: screenshot.py FILE_WITH_DDPRUNS_WORDS PID_OF_DDPRUN FOLDER."""

import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "support"))
import browser  # noqa: E402

words, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[3])
if not browser.find():
    sys.exit("there is no chromium (Debian: chromium-headless-shell)")
while not (url := re.search(r"http://\S+", words.read_text())):
    time.sleep(0.1)
browser.PATIENCE_S = 600  # the job trains meanwhile
with browser.Browser() as page:
    page.look(1000, 1110)
    page.open(url[0])
    page.wait_for("document.querySelectorAll('#timeline div').length === 2")
    page.wait_for("[...document.querySelectorAll('#loss polyline')]"
                  ".map((line) => line.getAttribute('points')).join(' ').split(' ').length > 24")
    page.wait_for("document.querySelector('.rank.missing').dataset.rank === '1'")
    page.wait_for("document.querySelectorAll('.rank.waiting').length === 3")
    height = page.evaluate("document.documentElement.scrollHeight")
    page.look(1000, height)
    page.screenshot(folder / "status-light.png")
    page.look(1000, height, dark=True)
    page.screenshot(folder / "status-dark.png")
    page.look(390, 844)
    page.screenshot(folder / "status-phone.png")
