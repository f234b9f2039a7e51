"""Does ddprun know what the newest torchrun knows?

    python3 newest_torch_test.py DDPRUN recorded   against newest_torch.json, which is in the repository
    python3 newest_torch_test.py DDPRUN wheel      against the newest wheel of torch; 77 without a network
    python3 newest_torch_test.py --record          writes newest_torch.json

Every option must be there, with and without a value as torchrun has it, with its letters and choices;
and every key of --rdzv-conf must be accepted. What they do is compat_test.py's to compare.
"""

import json
import subprocess
import sys
from pathlib import Path

import torch_source

RECORD = Path(__file__).resolve().parent / "newest_torch.json"
SKIP = 77


def newest_table():
    version, sources = torch_source.newest()
    table = {"version": version} | torch_source.table_of(sources)
    if len(table["options"]) < 30 or len(table["rendezvous_keys"]) < 10:
        sys.exit(f"torch {version} is written in another way: torch_source.py finds only {table}")
    return table

VALUES = {"protocol": "http"}  # keys of --rdzv-conf that do not take a 1


def run(ddprun, *words):
    done = subprocess.run([ddprun, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.returncode, done.stderr


def complaints(ddprun, table):
    """What is not as in torchrun; nothing is started."""
    for name, option in table["options"].items():
        for spelling in ["--" + name] + ["-" + letter for letter in option["letters"]]:
            if name == "help":
                continue
            if option["flag"]:
                code, words = run(ddprun, spelling, "--version")
                if code != 0:
                    yield f"{spelling}: {words}"
            else:
                code, words = run(ddprun, spelling)
                if "needs a value" not in words:
                    yield f"{spelling}: it has a value in torchrun; ddprun: {words}"
        for choice in option["choices"]:
            code, words = run(ddprun, "--" + name, choice, "--version")
            if code != 0:
                yield f"--{name} {choice}: {words}"
    for key in table["rendezvous_keys"]:
        entry = f"{key}={VALUES.get(key, 1)}"
        code, words = run(ddprun, "--no-slurm", "--rdzv-conf", entry, "--dry-run", "--no-python", "true")
        if code != 0:
            yield f"--rdzv-conf {entry}: {words}"


def main(arguments):
    if arguments == ["--record"]:
        RECORD.write_text(json.dumps(newest_table(), indent=1) + "\n")
        return 0
    if len(arguments) != 2 or arguments[1] not in ("recorded", "wheel"):
        sys.exit(__doc__)
    ddprun = str(Path(arguments[0]).absolute())
    if arguments[1] == "recorded":
        table = json.loads(RECORD.read_text())
    else:
        try:
            table = newest_table()
        except Exception as error:  # no network, no pip, or one that works in another way
            print(f"skipped: the newest wheel of torch cannot be read: {type(error).__name__}: {error}")
            return SKIP
    found = list(complaints(ddprun, table))
    print("\n".join(found))
    print(f"torch {table['version']}: {len(table['options'])} options and "
          f"{len(table['rendezvous_keys'])} keys, {len(found)} complaints")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
