"""The cell magic %%ddprun for IPython and Jupyter: each worker of a job runs the code of the cell."""

from __future__ import annotations

import os
import pickle
import re
import shlex
import sys
import tempfile
import types
from typing import Any

from ddprun._call import Call
from ddprun._job import SHUTDOWN_SECONDS, STOP_SECONDS, Job, _seconds


def run_cell(path: str) -> None:
    """Runs it in a worker, as Python runs a script."""
    main = types.ModuleType("__main__")
    main.__file__ = path  # other processes of the worker import from it, and reports show its lines
    sys.modules["__main__"] = main
    try:
        with open(path, encoding="utf-8") as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        exec(code, main.__dict__)
    except SystemExit as end:
        if end.code not in (None, 0):
            raise


def load_ipython_extension(shell: Any) -> None:
    """%load_ext ddprun calls it."""
    from IPython.core.error import UsageError

    def ddprun(line: str, cell: str) -> None:
        """Runs the cell's code on each worker of a new job: %%ddprun --nproc-per-node 2

        The options are those of the command line. The code is a program of its own: it has none of the notebook's
        variables, and the notebook gets none of its. A failure is raised as LaunchError, as by ddprun.launch().
        """
        words = shlex.split(line)
        if any(re.match("--host", word) for word in words):
            raise UsageError("a cell runs on this machine: ddprun.launch(function, hosts=...) runs a job on others")
        limit = re.search(r"--shutdown[-_]timeout[= ]+(\S+)", line)
        seconds = (_seconds(limit[1]) if limit else SHUTDOWN_SECONDS) + STOP_SECONDS
        with tempfile.TemporaryDirectory(prefix="ddprun_") as folder:
            path = os.path.join(folder, "cell.py")
            source = "\n" + cell  # so that a line has the number that it has in the cell
            compile(source, path, "exec", dont_inherit=True)  # a SyntaxError comes before anything starts
            with open(path, "w", encoding="utf-8") as file:
                file.write(source)
            call = Call(list(sys.path), None, False, pickle.dumps((run_cell, (path,))))
            with Job(call, words, {}, None, None, seconds) as job:
                if not job.wait():
                    print("ddprun: no worker has run this cell", file=sys.stderr)  # as with --dry-run

    shell.register_magic_function(ddprun, "cell")
