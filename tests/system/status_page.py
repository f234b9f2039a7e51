"""Looks at the status page in a browser: status_page.py URL PID_OF_A_WORKER. It kills the worker."""

import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import browser  # noqa: E402

BEGAN_MS = 1_700_000_000_000


def rank(number, **known):
    """A rank of a made-up status, of which nothing is known but what is named."""
    return {"rank": number, "state": "running", "step": -1, "steps": 0, "collectives": -1, "lag": 0, "has_loss": False,
            "loss": 0, "samples_per_second": 0, "still_ms": 0, "waits_in": "", **known}


def job(nodes, ranks, **known):
    """A made-up status of a job that has run for ten minutes."""
    per_node = len(ranks) // nodes
    node = {"state": "running", "workers": per_node, "silent_ms": 0, "reason": ""}
    return {"run_id": "none", "title": "train.py", "state": "running", "state_word": "running", "outcome": "running", "why": "", "round": 1,
            "attempt": 0, "restarts_left": 0, "nodes_max": nodes, "now_unix_ms": BEGAN_MS + 600_000,
            "began_unix_ms": BEGAN_MS, "step": -1, "steps": 0, "progress_percent": -1, "left_s": -1, "has_loss": False,
            "loss": 0, "samples_per_second": 0, "steps_per_second": 0, "ranks_left_out": 0, "rounds": [], "history": [],
            "nodes": [{"host": f"h{i + 1}", "group_rank": i, "first_rank": i * per_node, **node} for i in range(nodes)],
            "ranks": ranks, **known}


def show(page, status):
    """Puts a made-up status into the page, which then hears nothing more of the real job."""
    page.evaluate(f"events.close(), show({json.dumps(status)})")


def press(page, key, code):
    page.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code)


def point_at_end_of_loss(page):
    """Returns what the page says there. It may still be laying out the picture, so the pointer follows the place."""
    deadline, tip = time.monotonic() + 30, ""
    while "step 5,900" not in tip and time.monotonic() < deadline:
        x, y = page.evaluate("(() => { const box = document.getElementById('loss'); box.scrollIntoView();"
                             "const at = box.getBoundingClientRect(); return [at.right - 14, at.top + 100]; })()")
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        page.wait_for("!document.getElementById('loss-tip').hidden")
        tip = page.evaluate("document.getElementById('loss-tip').textContent")
    return tip


def see_curves(page):
    """Three rounds: a first value that is absurd, and a loss that falls from 2.5 to 0.25."""
    rounds = [{"round": i + 1, "attempt": i, "nodes": 1, "world_size": 1, "began_unix_ms": BEGAN_MS + 200_000 * i,
               "ended_unix_ms": 0, "reason": "", "in_place": False} for i in range(3)]
    history = [{"unix_ms": BEGAN_MS + 10_000 * i, "step": 100 * i, "has_loss": True, "samples_per_second": 50,
                "loss": 1e6 if i == 0 else 2.5 / (1 + i * 9 / 59)} for i in range(60)]
    show(page, job(1, [rank(0, step=5900)], step=5900, left_s=900, rounds=rounds, history=history))
    texts = "[...document.querySelectorAll('%s')].map((element) => element.textContent)"

    # Both axes have numbers, and the absurd value is outside of the picture.
    left, bottom = page.evaluate(texts % "#loss .y-tick"), page.evaluate(texts % "#loss .x-tick")
    assert 3 <= len(left) <= 8 and all(0 <= float(number) < 10 for number in left), left
    assert {"2,000", "4,000"} <= set(bottom) or {"0", "5,000"} <= set(bottom), bottom
    assert "1 point outside" in page.evaluate("document.getElementById('loss-note').textContent")
    assert page.evaluate("document.querySelectorAll('#loss polyline').length") == 3  # one line for each round
    assert page.evaluate("document.querySelectorAll('#loss .round').length") == 2

    # The values at the pointer, and those that the keys go to.
    tip = point_at_end_of_loss(page)
    for said in ("step 5,900", "elapsed 9 min 50 s", "loss 0.25", "round 3"):
        assert said in tip, tip
    page.evaluate("document.getElementById('loss').focus()")
    press(page, "Home", 36)
    page.wait_for("document.getElementById('loss-tip').textContent.includes('loss 1,000,000')")

    # A logarithmic loss, and the time at the bottom.
    click = "[...document.getElementById('loss').closest('section').querySelectorAll('button')]" \
            ".find((button) => button.textContent === '%s').click()"
    page.evaluate(click % "log")
    powers = page.evaluate(texts % "#loss .y-tick")
    assert "1" in [number.rstrip("0").rstrip(".") for number in powers] and powers != left, powers
    page.evaluate(click % "by time")
    bottom = page.evaluate(texts % "#loss .x-tick")
    assert bottom[0] == "0 s" and all(text.endswith(" min") for text in bottom[1:]), bottom

    # What has passed and what is left have names that nobody mixes up.
    numbers = page.evaluate("document.getElementById('numbers').innerText")
    assert "elapsed\n10 min" in numbers and "time left\n15 min" in numbers, numbers
    assert page.evaluate("document.getElementById('title').textContent") == "train.py"
    assert "none" not in page.evaluate("document.querySelector('header').innerText")


def see_many_ranks(page):
    """8 nodes with 64 ranks each, of which two stand out."""
    odd = {137: {"step": 4900, "lag": 100}, 300: {"state": "lost", "step": 4990, "lag": 10}}
    ranks = [rank(i, **{"step": 5000, **odd.get(i, {})}) for i in range(512)]
    show(page, job(8, ranks, step=4900))
    assert page.evaluate("document.querySelectorAll('.rank').length") == 512
    for width, height_max in ((1600, 500), (1024, 500), (390, 1000)):
        page.look(width, 900)
        height = page.evaluate("document.getElementById('workers').offsetHeight")
        assert height <= height_max, f"512 ranks are {height} pixels high where the window is {width} wide"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    rows = "[...document.querySelectorAll('#odd tr')].slice(1).map((row) => row.innerText.split('\\t')[0].trim())"
    assert page.evaluate(rows) == ["300", "137"]

    # Details of the rank at the pointer or the focus, and a search.
    page.evaluate("document.querySelector('.rank[data-rank=\"137\"]').focus()")
    assert "rank 137: node h3, state slow, step 4,900" in page.evaluate("document.getElementById('detail').textContent")
    press(page, "ArrowRight", 39)
    assert "rank 138: " in page.evaluate("document.getElementById('detail').textContent")
    page.evaluate("show(last)")
    assert page.evaluate("document.activeElement.dataset.rank") == "138"
    page.evaluate("const field = document.getElementById('find'); field.value = 'h3 130-131, lost';"
                  "field.dispatchEvent(new Event('input'))")
    assert page.evaluate(rows) == ["130", "131", "300"]
    assert page.evaluate("document.querySelectorAll('.rank:not(.dim)').length") == 3


def see_collectives(page):
    """A stock program tells no step, so the page shows how many collectives are done."""
    show(page, job(1, [rank(0, collectives=4213), rank(1, collectives=4207, lag=6)]))
    assert "collectives\n4,207" in page.evaluate("document.getElementById('numbers').innerText")
    assert "4,213" in page.evaluate("document.querySelector('.rank[data-rank=\"0\"]').innerText")


def see_texts_of_others(page):
    """Texts from elsewhere are text, whatever they hold."""
    text = "<img src=x onerror=alert(1)><script>alert(1)</script>"
    show(page, job(1, [rank(0, state="failed", waits_in=text)], run_id=text, title=text, why=text))
    assert page.evaluate("document.querySelectorAll('img, script').length") == 1  # the page's own script
    assert page.evaluate("document.getElementById('title').textContent") == text


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

    # Made-up jobs, which are larger or further than this one.
    page.look(1000, 800)
    see_curves(page)
    see_many_ranks(page)
    see_collectives(page)
    see_texts_of_others(page)
