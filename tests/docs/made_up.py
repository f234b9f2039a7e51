#!/usr/bin/env python3
"""Stands in for ddprun, srun, mpirun, flux or jsrun, whichever it is called as, so that a command of the documents can be
parsed by the real ddprun without its cluster. It notes how that ended."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SLURM = {"SLURM_JOB_ID": "42", "SLURM_JOB_NUM_NODES": "2", "SLURM_STEP_ID": "0", "SLURM_NODEID": "0",
         "SLURM_STEP_NODELIST": "h[1-2]", "SLURM_GTIDS": "0"}
OPEN_MPI = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "1",
            "PMIX_NAMESPACE": "42", "OMPI_MCA_orte_hnp_uri": "42.0;tcp://127.0.0.1:49301"}
FLUX = {"FLUX_JOB_ID": "f42", "FLUX_JOB_SIZE": "2", "FLUX_JOB_NNODES": "2", "FLUX_TASK_RANK": "0"}
JSRUN = {"LSB_JOBID": "42", "LSB_MCPU_HOSTS": "h1 4 h2 4", "JSM_NAMESPACE_SIZE": "2", "JSM_NAMESPACE_RANK": "0"}
DDPRUN = os.environ["MADE_UP_DDPRUN"]


def listen(words):
    """`ddprun server` and `store` listen: at a free port, and not for long."""
    words = ["0" if before == "--port" else word for before, word in zip(["", *words], words)]
    with subprocess.Popen([DDPRUN, *words], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        begins = process.stdout.readline().startswith("listening on ")
        process.terminate()
        return 0 if process.wait() == 0 and begins else 1, process.stderr.read()


def dry_run(words):
    at = 1 if words[:1] == ["launch"] else 0
    words = [*words[:at], "--dry-run", *words[at:]]
    if words[-1] in ("--help", "--man", "--version"):
        words.remove("--dry-run")
    done = subprocess.run([DDPRUN, *words], text=True, capture_output=True)
    sys.stdout.write(done.stdout)
    return done.returncode, done.stderr


def nodes(words):
    """In place of the shared folder that the words name, with one in which h2 has failed."""
    failure = {"schema": "ddprun-node-failure-1", "host": "h2", "time_unix_ms": 0, "kind": "exit_code",
               "fingerprint": "exit code 1", "run_id": "job", "sentence": "rank 1 exited with code 1"}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, ".node-failure.0000000000000.00000000.json").write_text(json.dumps(failure))
        done = subprocess.run([DDPRUN, "nodes", folder, *words[2:]], text=True, capture_output=True)
    return done.returncode, done.stderr


def ddprun(words):
    if words[:1] in (["server"], ["store"]) and "--help" not in words:
        code, err = listen(words)
    elif words[:1] in (["checkpoint"], ["topo"]):
        done = subprocess.run([DDPRUN, *words], text=True, capture_output=True)
        code, err = done.returncode, done.stderr
    elif words[:1] == ["doctor"]:  # the machine of the test may be ill
        done = subprocess.run([DDPRUN, *words], text=True, capture_output=True)
        code, err = (0 if done.returncode == 1 else done.returncode), done.stderr
    elif words[:1] == ["nodes"]:
        code, err = nodes(words)
    elif words[:1] == ["secret"]:  # which looks at the file that its output goes to
        code, err = subprocess.run([DDPRUN, *words]).returncode, ""
    else:
        code, err = dry_run(words)
    with open(os.environ["MADE_UP_REPORT"], "a") as report:
        print(json.dumps({"words": words, "code": code, "err": err}), file=report)
    return code


def start_by(scheduler, words):
    """The command behind the scheduler's own options, with the variables that the scheduler sets."""
    at = next(i for i, word in enumerate(words) if Path(word).name == "ddprun")
    os.execvpe(words[at], words[at:], os.environ | scheduler)


name, words = Path(sys.argv[0]).name, sys.argv[1:]
if name == "ddprun":
    sys.exit(ddprun(words))
if name == "flux" and words[:2] == ["job", "info"]:
    print(json.dumps({"execution": {"nodelist": ["h[1-2]"]}}))
    sys.exit(0)
start_by({"srun": SLURM, "mpirun": OPEN_MPI, "flux": FLUX, "jsrun": JSRUN}[name], words)
