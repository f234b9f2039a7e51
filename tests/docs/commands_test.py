#!/usr/bin/env python3
"""Runs or parses every ddprun command in a code block of README.md and docs/: commands_test.py DDPRUN

docs/internals/contributing.md, "The documents", has the rules for pages."""

import os
import re
import sys
import tempfile
from pathlib import Path

from markdown import PROJECT, blocks, pages
from shell import Stage, commands, ddprun_calls, difference

BEGINS_WITH_DDPRUN = re.compile(r"^\s*(\$ )?(\S+=\S+ )*((srun|mpirun|flux|jsrun) .*|\S*/)?ddprun(\s|$)", re.MULTILINE)


class Checker:
    def __init__(self, stage, torch_env):
        self.stage = stage
        self.python = torch_env / "bin" / "python"
        self.done = {"run": 0, "parsed": 0, "excused": 0}
        self.excuses, self.failures = [], []

    def check(self, page):
        found = blocks(page)
        for block, below in zip(found, [*found[1:], None]):
            output = below if below and "output" in below.remarks else None
            calls = ddprun_calls(block.text) if block.language == "sh" else \
                len(BEGINS_WITH_DDPRUN.findall(block.text))
            if not (calls or output):
                continue
            if self.is_excused(block, calls or 1):
                continue
            if block.language != "sh":
                self.failures.append(f"{block}: is a command, and the block is not marked sh")
            elif output:
                self.run(block, output, calls or 1)
            else:
                self.parse(block)

    def is_excused(self, block, amount):
        """Whether the block is neither run nor parsed; that is counted."""
        reason = block.remarks.get("not run")
        if block.remarks.get("needs") == "torch" and not self.python.exists():
            reason = "needs PyTorch, which is not here"
        if block.remarks.get("needs") == "sdk" and not (
                self.stage.folder / "build" / "step1_single_process").exists():
            reason = "needs the worker SDK, which is not built"
        if reason:
            self.done["excused"] += amount
            self.excuses.append(f"{block}: {reason}")
        return bool(reason)

    def run(self, block, output, amount):
        python = self.python if block.remarks.get("needs") == "torch" else None
        printed = self.stage.run(block.text, python)
        self.done["run"] += amount
        if differs := difference(output.text.splitlines(), printed):
            self.failures.append("\n    ".join([f"{block}: {differs}", "it printed:", *printed]))

    def parse(self, block):
        for command in commands(block.text):
            if not ddprun_calls(command):
                continue
            self.done["parsed"] += ddprun_calls(command)
            if why := self.stage.parse(command):
                self.failures.append(f"{block}: {command.strip()}\n    {why}")


def main():
    torch_env = Path(os.environ.get("DDPRUN_TORCH_ENV") or "/nonexistent")
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(Stage(folder, sys.argv[1]), torch_env)
        for page in pages():
            checker.check(page)
    print("commands:", ", ".join(f"{count} {what}" for what, count in checker.done.items()))
    for excuse in checker.excuses:
        print(f"  excused: {excuse}")
    for failure in checker.failures:
        print(f"FAILED {failure}")
    assert checker.done["run"] > 0 and checker.done["parsed"] > 0, f"no commands found below {PROJECT}"
    sys.exit(1 if checker.failures else 0)


if __name__ == "__main__":
    main()
