"""Looks at the status page in a browser: status_page.py URL PID_OF_A_WORKER. It kills the worker."""

import json
import os
import re
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
    history.insert(1, {**history[1], "unix_ms": BEGAN_MS + 5_000, "step": 150})  # ahead of the next one
    show(page, job(1, [rank(0, step=5900)], step=5900, left_s=900, rounds=rounds, history=history))
    texts = "[...document.querySelectorAll('%s')].map((element) => element.textContent)"

    # Both axes have numbers, and the absurd value is outside of the picture.
    left, bottom = page.evaluate(texts % "#loss .y-tick"), page.evaluate(texts % "#loss .x-tick")
    assert 3 <= len(left) <= 8 and all(0 <= float(number) < 10 for number in left), left
    assert {"2,000", "4,000"} <= set(bottom) or {"0", "5,000"} <= set(bottom), bottom
    assert "1 point outside" in page.evaluate("document.getElementById('loss-note').textContent")
    assert page.evaluate("document.querySelectorAll('#loss polyline').length") == 3  # one line for each round
    assert page.evaluate("document.querySelectorAll('#loss .round').length") == 2
    first = page.evaluate("document.querySelector('#loss polyline').getAttribute('points')")
    across = [float(point.split(",")[0]) for point in first.split()]
    assert len(across) == 20 and across == sorted(across), across

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
    rows = "[...document.querySelectorAll('#odd tr')].slice(1).map((row) => row.cells[0].textContent)"
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


def see_narrow_table(page):
    """On a phone no column of the table of ranks is outside of the screen, and each number has its name."""
    page.look(400, 860)
    odd = rank(1, step=9, lag=90, has_loss=True, loss=1.5, samples_per_second=894.1, still_ms=40_000, waits_in="store: wait for a key")
    show(page, job(1, [rank(0, step=99), odd, rank(2, step=99)], step=9))
    cells = page.evaluate("[...document.querySelectorAll('#odd td')].filter((cell) => cell.offsetWidth).map((cell) =>"
                          "[cell.dataset.name, cell.textContent, cell.getBoundingClientRect().right])")
    assert ["waits in", "store: wait for a key"] in [cell[:2] for cell in cells], cells
    assert len(cells) == 9 and all(right <= 400 for _, _, right in cells), cells
    named = page.evaluate("getComputedStyle(document.querySelectorAll('#odd td')[1], '::before').content")
    assert "node" in named or "data-name" in named, named
    assert page.evaluate("document.getElementById('odd').scrollWidth <= document.getElementById('odd').clientWidth")
    page.look(1000, 800)


ROUND = {"attempt": 0, "nodes": 2, "world_size": 4, "in_place": False}
STOPPED = {**ROUND, "round": 1, "began_unix_ms": BEGAN_MS, "ended_unix_ms": BEGAN_MS + 60_000, "reason": "rank 3 exited with code 1"}
SECOND = {**ROUND, "round": 2, "began_unix_ms": BEGAN_MS + 61_000, "ended_unix_ms": 0, "reason": ""}
EVENTS = "[...document.querySelectorAll('#events li')].map((item) => item.innerText.replaceAll('\\n', ' '))"


def see_hang(page):
    """The node whose rank the others wait for hangs, and the one that waits says so."""
    ranks = [rank(i, state="waiting", still_ms=41_000) for i in range(4)]
    ranks[2] = rank(2, state="missing", still_ms=42_000)
    sentence = "ranks 0-1,3 wait for rank 2"
    show(page, job(2, ranks, state_word="hangs", rounds=[SECOND], hang={"sentence": sentence, "stacks": []}))
    badges = "[...document.querySelectorAll('.node .badge')].map((badge) => badge.textContent)"
    assert page.evaluate(badges) == ["waiting", "hangs"]
    first = page.evaluate(EVENTS)[0]
    assert sentence in first, first
    # In a deadlock nobody is missing, so each node that waits hangs.
    deadlock = [rank(i, state="waiting") for i in range(4)]
    show(page, job(2, deadlock, state_word="hangs", hang={"sentence": "all wait", "stacks": []}))
    assert page.evaluate(badges) == ["hangs", "hangs"]
    show(page, job(2, [rank(i) for i in range(4)]))
    assert page.evaluate(badges) == ["running", "running"]
    assert page.evaluate("document.getElementById('trouble').hidden")


def see_events(page):
    """What has happened, the last event first, by a clock of 24 hours."""
    lost = {"host": "h3", "group_rank": 2, "first_rank": -1, "workers": 2, "state": "lost", "silent_ms": 30_000, "reason": "connection closed"}
    status = job(2, [rank(i) for i in range(4)], rounds=[STOPPED, SECOND])
    show(page, {**status, "nodes": [*status["nodes"], lost]})
    events = page.evaluate(EVENTS)
    said = ["node h3 is lost: connection closed", "round 2 begins, 4 ranks on 2 nodes",
            "round 1 is stopped after 60 s: rank 3 exited with code 1", "round 1 begins", "the job begins"]
    assert len(events) == len(said) and all(text in event for text, event in zip(said, events)), events
    times = page.evaluate("[...document.querySelectorAll('time')].map((time) => time.textContent)")
    assert all(re.fullmatch(r"[A-Z][a-z]{2} \d+ [0-2]\d:[0-5]\d:[0-5]\d|[0-2]\d:[0-5]\d:[0-5]\d", time) for time in times), times
    since = page.evaluate("document.getElementById('numbers').innerText")
    assert re.search(r"since (?:[A-Z][a-z]{2} \d+ )?[0-2]\d:[0-5]\d\n", since) and not re.search(r"\d [AP]M", since), since
    evening = "new Date(2026, 0, 2, 17, 5, 9).getTime()"
    assert page.evaluate(f"clock({evening}, {evening})") == "17:05:09" and page.evaluate(f"moment({evening}, {evening})") == "17:05"


def see_loads(page):
    """How busy the machine of a node is; of another one nothing is known."""
    gib = 2**30
    load = {"cpus": 64, "cpu_percent": 43, "memory_used_bytes": 120 * gib, "memory_bytes": 1000 * gib,
            "gpus": 8, "gpu_percent": 97, "gpu_memory_used_bytes": 610 * gib, "gpu_memory_bytes": 640 * gib}
    status = job(2, [rank(i) for i in range(4)])
    status["nodes"][0]["load"] = load
    show(page, status)
    texts = page.evaluate("[...document.querySelectorAll('.loads')].map((loads) => loads.innerText.split('\\n').filter(Boolean))")
    assert texts == [["64 CPUs", "43 %", "memory", "120 / 1,000 GiB", "8 GPUs", "97 %", "GPU memory", "610 / 640 GiB"], []], texts
    status["nodes"][0]["load"] = {**load, "gpus": -1, "gpu_percent": -1, "gpu_memory_used_bytes": -1, "gpu_memory_bytes": -1}
    show(page, status)
    assert "GPU" not in page.evaluate("document.querySelector('.loads').innerText")


def see_checkpoints(page):
    """Which checkpoints a node keeps; with many nodes, where the pointer is."""
    kept = {"newest": "checkpoint-500", "bytes": 1.9 * 2**30, "age_ms": 12_000, "written": "checkpoint-400"}
    sentence = "checkpoint-500 (1.9 GiB) in memory for 12 s, on disk checkpoint-400"
    texts = "[...document.querySelectorAll('.kept')].map((kept) => kept.offsetHeight ? kept.innerText : '')"
    status = job(3, [rank(i) for i in range(3)])
    status["nodes"][0]["checkpoints"] = kept
    status["nodes"][1]["checkpoints"] = {"newest": "", "bytes": 0, "age_ms": 0, "written": ""}
    show(page, status)
    assert page.evaluate(texts) == [sentence, "no checkpoint is complete yet", ""], page.evaluate(texts)
    status["nodes"][0]["checkpoints"] = {**kept, "bytes": 700, "written": ""}
    show(page, status)
    assert page.evaluate(texts)[0] == "checkpoint-500 (700 B) in memory for 12 s, on disk none", page.evaluate(texts)
    long_name = "c" * 255
    status["nodes"][0]["checkpoints"] = {**kept, "newest": long_name}
    page.look(360, 640)
    show(page, status)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.look(1000, 800)
    many = job(20, [rank(i) for i in range(20)])
    many["nodes"][7]["checkpoints"] = kept
    show(page, many)
    titles = page.evaluate("[...document.querySelectorAll('.host')].map((host) => host.title)")
    assert titles[7] == "h8: running, " + sentence and titles[8] == "h9: running", titles[7:9]


def see_report(page):
    """How a job has ended, and why."""
    ended = {"state": "ended", "step": 900, "steps": 1000, "round": 2, "rounds": [STOPPED, {**SECOND, "ended_unix_ms": BEGAN_MS + 599_000}]}
    ranks = [rank(i) for i in range(4)]
    report = "(document.getElementById('report').hidden ? '' : document.getElementById('report').innerText)"
    show(page, job(2, ranks))
    assert page.evaluate(report) == ""
    show(page, job(2, ranks, **ended, outcome="finished", state_word="finished"))
    text = page.evaluate(report)
    assert "The job has finished" in text and "after 10 min, 2 rounds, 1 restart, step 900 of 1,000" in text, text
    cause = {"kind": "exception", "sentence": "rank 3 on h2 raised KeyError", "hint": "look at the data", "stack": "step\ttrain.py\t88"}
    verdict = {"cause": cause, "also": [], "followers": [{"ranks": "0-2", "what": "stopped by ddprun"}], "history": "failed 3 times", "no_restart": ""}
    show(page, job(2, ranks, **ended, outcome="failed", state_word="failed", verdict=verdict))
    text = page.evaluate(report)
    for said in ("The job has ended: failed", "raised KeyError", "look at the data", "train.py:88", "failed 3 times", "ranks 0-2: stopped by ddprun"):
        assert said in text, text
    assert "the job ends: failed" in page.evaluate(EVENTS)[0]


def see_start(page, url):
    """Before the first answer the page says that it waits, and is as dark as the system wants it."""
    silent = page.call("Page.addScriptToEvaluateOnNewDocument", source="EventSource = class extends EventTarget {};")
    page.look(1000, 800, dark=True)
    page.open(url)
    page.wait_for("document.scripts.length && document.getElementById('offline').textContent.includes('Waiting')")
    assert page.evaluate("document.getElementById('offline').offsetHeight") > 0
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(18, 22, 28)"
    assert page.evaluate("document.getElementById('job').hidden")
    page.call("Page.removeScriptToEvaluateOnNewDocument", identifier=silent["identifier"])


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
    see_start(page, url)
    page.look(1000, 800)
    page.open(url)
    page.wait_for("document.querySelectorAll('.rank.running').length === 3")
    assert page.evaluate("document.getElementById('offline').hidden")
    assert page.evaluate("document.getElementById('state').textContent") == "running"
    assert page.evaluate("document.querySelectorAll('#timeline div').length") == 1
    command = page.evaluate("document.getElementById('command').innerText")
    assert command.startswith("ddprun ") and "--rdzv-id job-7" in command and "worker.sh" in command, command
    page.wait_for("/\\d CPUs?\\s+\\d+ %\\s+memory\\s+[\\d.,]+ . [\\d.,]+ GiB/.test(document.querySelector('.loads').innerText)")

    # The log of a rank, when it is clicked: the stream that has text, stderr if both have, else as the user wants it.
    pressed = "document.querySelector('#log [aria-pressed=true]').textContent"
    page.evaluate("document.querySelector('.rank[data-rank=\"2\"]').click()")
    page.wait_for("document.getElementById('log-text').textContent.includes('rank 2 says its first words')")
    assert page.evaluate(pressed) == "stdout"
    page.evaluate("document.querySelector('.rank[data-rank=\"1\"]').click()")
    page.wait_for("document.getElementById('log-text').textContent.includes('rank 1 complains')")
    assert page.evaluate(pressed) == "stderr"
    page.evaluate("[...document.querySelectorAll('#log button')].find((tab) => tab.textContent === 'stdout').click()")
    page.wait_for("document.getElementById('log-text').textContent.includes('rank 1 says its first words')")
    assert page.evaluate(pressed) == "stdout"

    # A killed worker, and the restart.
    os.kill(pid, signal.SIGKILL)
    page.wait_for("document.querySelectorAll('#timeline div').length === 2")
    page.wait_for("document.querySelectorAll('.rank.running').length === 3")
    events = page.evaluate(EVENTS)
    assert any("rank 1 was killed by SIGKILL" in event for event in events), events

    # On a phone nothing is wider than the screen, and the colours follow the system's.
    page.look(360, 640, dark=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(18, 22, 28)"

    # Made-up jobs, which are larger or further than this one.
    page.look(1000, 800)
    see_curves(page)
    see_narrow_table(page)
    see_hang(page)
    see_events(page)
    see_loads(page)
    see_checkpoints(page)
    see_report(page)
    see_many_ranks(page)
    see_collectives(page)
    see_texts_of_others(page)
