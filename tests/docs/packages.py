"""Tests that need packages of Python run again with the Python that has them."""

import os
import sys
from pathlib import Path

SKIPPED = 77
AGAIN = "DDPRUN_DOCS_TEST_AGAIN"


def run_again_or_skip(missing):
    """`missing` is the ImportError. The environment with PyTorch has what tests need."""
    other = Path(os.environ.get("DDPRUN_TORCH_ENV") or "/nonexistent") / "bin" / "python"
    if other.exists() and AGAIN not in os.environ:
        os.execve(other, [str(other), *sys.argv], os.environ | {AGAIN: "yes"})
    print(f"skipped: there is no {missing.name} (scripts/setup-torch --tests installs it)")
    sys.exit(SKIPPED)
