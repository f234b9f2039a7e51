"""Runs a case under torchrun, and counts what each launcher's report has right of its labels.

Four things are counted, each in the cases whose labels have it: what kind of cause it was, a rank of
the cause, and the file and the line. torchrun's report is the block that it prints at the end; what
it says in another place about a program that it cannot start, or about a node, counts as well.
"""

import os
import re
import signal
import subprocess
from pathlib import Path

THINGS = ("kind", "rank", "file", "line")
LIMIT = 60
HANG_LIMIT = 30  # in these cases ddprun waits for 4 seconds
MISSING_PROGRAM = ("FileNotFoundError", "PermissionError", "OSError", "exitcode  : 127", "exitcode  : 126")
LOST_NODE = ("RendezvousConnectionError", "RendezvousClosedError", "keep-alive", "heartbeat")


def wanted(case):
    """What the labels have of each thing."""
    found = {"kind": case.labels["kind"]}
    ranks = [name for name in ("ranks", "some_of", "both") if name in case.labels]
    if ranks:
        found["rank"] = {rank for name in ranks for rank in case.numbers(name)}
    if case.place():
        found["file"], found["line"] = case.place()
    return found


def right_of_ddprun(case, report, own_frame):
    """Whether its report has each thing right; nothing of things that the labels do not have."""
    want = wanted(case)
    cause = report.get("cause", {})
    at = own_frame if "hang" in report else cause.get("exception", {})
    said = {
        "kind": cause.get("kind") == want["kind"],
        "rank": bool(set(cause.get("ranks", [])) & want.get("rank", set())),
        "file": Path(at.get("file", "")).name == want.get("file"),
    }
    said["line"] = said["file"] and at.get("line") == want.get("line")
    return {thing: said[thing] for thing in want}


def named_kind(case, text, block):
    """Whether the report shows of which kind the cause was."""
    labels, kind = case.labels, case.labels["kind"]
    code = re.search(r"exitcode\s+: (-?\d+)", block)
    if kind == "exception":
        return labels.get("type", "Error").rsplit(".")[-1] in block
    if kind == "exit_code":
        return bool(code) and code[1] == labels.get("exit_code", code[1]) and int(code[1]) >= 0
    if kind == "signal":
        return bool(code) and int(code[1]) < 0 and labels.get("signal", "SIG") in block
    if kind == "cannot_start":
        return any(words in text for words in MISSING_PROGRAM)
    if kind == "node_lost":
        return any(words in text for words in LOST_NODE)
    return kind == "out_of_memory" and "out of memory" in block.lower()


def right_of_torchrun(case, text):
    want = wanted(case)
    at = text.rfind("Root Cause (first observed failure)")
    block = text[at:] if at >= 0 else ""
    rank = re.search(r"rank\s+: (\d+)", block)
    said = {
        "kind": named_kind(case, text, block),
        "rank": bool(rank) and int(rank[1]) in want.get("rank", set()),
        "file": bool(block) and want.get("file", "") in block[block.find("traceback"):],
    }
    said["line"] = said["file"] and bool(re.search(
        rf"{re.escape(want['file'])}\W+(line )?{want['line']}\b", block)) if "line" in want else False
    return {thing: said[thing] for thing in want}


def kill_those_of(scratch):
    """torchrun leaves its workers behind when it is killed; they know the folder of their case."""
    mark = f"CASE_DIR={scratch}".encode()
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            if mark in (process / "environ").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            continue


def restarts(case):
    """The words for torchrun out of those for ddprun: it knows this option only."""
    found = re.search(r"--max-restarts \d+", case.labels.get("arguments", ""))
    return found[0].split() if found else []


def run_torchrun(case, python, program, scratch, environment, port, wrap):
    """What each of its nodes wrote to stderr."""
    running = []
    for node in range(case.nodes):
        words = [python, "-m", "torch.distributed.run", "--nproc-per-node", str(case.workers)]
        if case.nodes > 1:
            words += ["--nnodes", str(case.nodes), "--node-rank", str(node),
                      "--master-addr", "127.0.0.1", "--master-port", str(port)]
        else:
            words += ["--standalone"]
        words = wrap(node, words + restarts(case) + program)
        err = open(scratch / f"torchrun_{node}", "w+b")
        running.append((subprocess.Popen(
            words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err,
            start_new_session=True), err))
    limit = HANG_LIMIT if case.labels["kind"] == "hang" else LIMIT
    texts = []
    for process, err in running:
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            limit = 1  # the other nodes have had as long
            process.kill()
            process.wait()
        err.seek(0)
        texts.append(err.read().decode(errors="replace"))
    kill_those_of(scratch)
    return texts


def best_of(scores):
    """Of several nodes, the one whose report has most right counts."""
    return max(scores, key=lambda score: sum(score.values()))


def mark(score, thing):
    return "-" if thing not in score else "right" if score[thing] else "WRONG"


def table(rows):
    """Rows are a case, torchrun's score, and ddprun's."""
    lines = [f"{'case':22} {'cause':13}" + "".join(f" {thing:>14}" for thing in THINGS)]
    for case, torchrun, ddprun in rows:
        cells = (f"{mark(torchrun, thing)}|{mark(ddprun, thing)}" for thing in THINGS)
        lines.append(f"{case.name:22} {case.labels['kind']:13}" + "".join(f" {c:>14}" for c in cells))
    lines.append("")
    lines.append(f"{'right':22} {'cases':>8} {'torchrun':>9} {'ddprun':>9}")
    for thing in THINGS:
        of = [row for row in rows if thing in row[1]]
        counts = [sum(row[side][thing] for row in of) for side in (1, 2)]
        lines.append(f"{thing:22} {len(of):8} {counts[0]:9} {counts[1]:9}")
    counts = [sum(all(row[side].values()) for row in rows) for side in (1, 2)]
    lines.append(f"{'all of it':22} {len(rows):8} {counts[0]:9} {counts[1]:9}")
    return "\n".join(lines)
