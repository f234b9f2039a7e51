"""Starts the program ddprun that was installed with this module: python -m ddprun, and ddprun-torchrun."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import metadata
from typing import NoReturn


def find_program() -> str:
    """The path of the program ddprun. Raises FileNotFoundError where there is none."""
    try:
        for file in metadata.files("ddprun") or []:  # also with --user, --target and --prefix
            if file.name == "ddprun" and file.parent.name == "bin":
                path = os.path.realpath(str(file.locate()))
                if os.access(path, os.X_OK):
                    return path
    except metadata.PackageNotFoundError:
        pass  # the module of a checkout
    found = shutil.which("ddprun")
    if found is None:
        raise FileNotFoundError("the program ddprun was not installed with this module, and is not in PATH either")
    return found


def _become(name: str) -> NoReturn:
    try:
        program = find_program()
    except FileNotFoundError as error:
        sys.exit(f"ddprun: {error}")
    sys.stdout.flush()
    os.execv(program, [name, *sys.argv[1:]])


def main() -> NoReturn:
    """Runs ddprun in place of this process, with its arguments."""
    _become("ddprun")


def torchrun() -> NoReturn:
    """Does the same with torchrun's command line: a first word such as "server" is the name of a script."""
    _become("ddprun-torchrun")


if __name__ == "__main__":
    main()
