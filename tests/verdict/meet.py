"""How the workers of a case wait for each other without torch: by files in the folder $CASE_DIR."""

import os
import pathlib
import time

RANK = int(os.environ.get("RANK", "0"))
WORLD_SIZE = int(os.environ.get("WORLD_SIZE", "1"))
ATTEMPT = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
_folder = pathlib.Path(os.environ.get("CASE_DIR", "/tmp")) / f"attempt_{ATTEMPT}"


def tell(name):
    _folder.mkdir(exist_ok=True)
    (_folder / name).touch()


def wait_for(name, seconds=150):
    deadline = time.monotonic() + seconds
    while not (_folder / name).exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"nobody has told {name}")
        time.sleep(0.002)


def everybody_is_there():
    are_there(range(WORLD_SIZE), "started")


def are_there(ranks, what):
    """These ranks, this one among them, wait for each other."""
    tell(f"rank_{RANK}_{what}")
    for rank in ranks:
        wait_for(f"rank_{rank}_{what}")


def sleep_for_ever():
    while True:
        time.sleep(60)
