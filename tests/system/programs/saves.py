# Saves checkpoint-N in the folder OUT for N = 1 to STEPS, as trainers do: a folder with a file of each rank, cut off
# where a variable says so. Each save of rank R waits for a line in the named pipe $next.R.
#   KILLED_AT=N  rank 1 kills itself in the midst of that save, in the first round
#   ON_TERM=save  SIGTERM: a last checkpoint, and exit code 0
import os
import signal
import sys

rank, attempt = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
out = os.environ["OUT"]
os.makedirs(out, exist_ok=True)


def bytes_of(step):
    return bytes([step]) * 1_000_000


def save(step):
    folder = f"{out}/checkpoint-{step}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/rank_{rank}.bin", "wb") as file:
        file.write(bytes_of(step)[:300_000])
        file.flush()
        if rank == 1 and attempt == 0 and os.environ.get("KILLED_AT") == str(step):
            os.kill(os.getpid(), signal.SIGKILL)
        file.write(bytes_of(step)[300_000:])


def wait_for_line():
    """The writer of the last line may still have the pipe open: then there is an end of file and no line."""
    line = ""
    while not line:
        with open(f"{os.environ['next']}.{rank}") as pipe:
            line = pipe.readline()


def last_save(*_):
    save(99)
    sys.exit(0)


def newest():
    steps = [int(name.split("-")[1]) for name in os.listdir(out) if name.startswith("checkpoint-")]
    return max(steps, default=0)


if os.environ.get("ON_TERM") == "save":
    signal.signal(signal.SIGTERM, last_save)
begin = newest()
files = []
if begin:  # a damaged checkpoint would end the training, or one that lacks what another rank has saved
    files = os.listdir(f"{out}/checkpoint-{begin}")
    assert f"rank_{rank}.bin" in files, files
    for name in files:
        with open(f"{out}/checkpoint-{begin}/{name}", "rb") as file:
            assert file.read() == bytes_of(begin), (begin, name)
print(f"rank {rank} begins at {begin} with {len(files)} files", flush=True)
for step in range(begin + 1, int(os.environ["STEPS"]) + 1):
    wait_for_line()
    save(step)
    if rank == 0:
        with open(f"{out}/train.log", "a") as log:
            log.write(f"{step}\n")
