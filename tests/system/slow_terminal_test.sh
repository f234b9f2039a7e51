#!/usr/bin/env bash
# A terminal that nobody reads makes no worker wait whose output is in files, too, and costs these files
# no byte. Later the terminal tells how many lines it does not have.
. "$(dirname "$0")/lib.sh"

python3 - "$DDPRUN" "$scratch" <<'PY' || fail "see above"
import os, pathlib, pty, re, subprocess, sys, time

ddprun, scratch = sys.argv[1], pathlib.Path(sys.argv[2])
WORKERS, LINES, PATIENCE_S = 64, 20_000, 100
for fold in ([], ["--fold"]):
    logs = scratch / f"logs{len(fold)}"
    ours, terminal = pty.openpty()
    script = f'seq -f "$RANK says line %.0f of very many" 0 {LINES - 1}'
    job = subprocess.Popen(
        [ddprun, "--nproc-per-node", str(WORKERS), "--tee", "3", "--log-dir", logs, *fold,
         "--no-python", "sh", "-c", script],
        stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.STDOUT)
    os.close(terminal)
    expected = [sum(len(f"{rank} says line {i} of very many\n") for i in range(LINES)) for rank in range(WORKERS)]
    files = lambda: sorted(logs.glob("*/attempt_0/*/stdout.log"), key=lambda f: int(f.parent.name))
    deadline = time.monotonic() + PATIENCE_S
    while [f.stat().st_size for f in files()] != expected:
        if time.monotonic() > deadline:
            sys.exit(f"FAILED: workers wait for the terminal: {[f.stat().st_size for f in files()]}")
        time.sleep(0.05)
    for rank, file in enumerate(files()):
        lines = file.read_text().splitlines()
        if lines != [f"{rank} says line {i} of very many" for i in range(LINES)]:
            sys.exit(f"FAILED: {file} is not what rank {rank} said")
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the terminal's other side is closed
            break
        shown += piece
    if job.wait(timeout=PATIENCE_S) != 0:
        sys.exit(f"FAILED: exit code {job.returncode}")
    left_out = re.findall(rb"ddprun: (\d+) lines are not shown here", shown)
    if not fold and not left_out:  # what is folded may fit
        sys.exit(f"FAILED: no line tells of lines that are not there: {shown[-500:]!r}")
    there = shown.count(b"of very many")
    if not fold and there + sum(map(int, left_out)) != WORKERS * LINES:
        sys.exit(f"FAILED: {there} lines are shown, {left_out} are not")
PY
