"""Do unmodified torch workers meet in our store?

    python store_gloo.py COMMAND...      e.g.  python store_gloo.py build/dev/ddprun_store_main 0

needs torch. COMMAND, with the number of ranks behind it, starts a server and prints `listening on
HOST:PORT`. Groups of gloo workers find it as they would find the store of an agent.
"""

import os
import sys
import time
import traceback
from datetime import timedelta

import torch
import torch.distributed as dist

from store_server_process import serving

REPEATED_INITS = 50


def check_sum(world_size, group=None):
    tensor = torch.ones(3)
    dist.all_reduce(tensor, group=group)
    assert tensor.tolist() == [float(world_size)] * 3, tensor
    return tensor


def init():
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))


def collectives(rank, world_size):
    init()
    check_sum(world_size)
    pair = dist.new_group([0, 1])
    if rank < 2:
        check_sum(2, pair)
    dist.barrier()
    gathered = [None] * world_size
    dist.all_gather_object(gathered, {"rank": rank})
    assert [entry["rank"] for entry in gathered] == list(range(world_size))
    dist.monitored_barrier()
    # torch 2.4 and 2.7 may hang here: they wait for a thread of Gloo's that drops its last tensor, and for
    # that the thread waits for Python's lock, which they hold. (2.11 was not seen to hang.)
    if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 11):
        dist.destroy_process_group()


def repeated_inits(rank, world_size):
    for _ in range(REPEATED_INITS):
        init()
        tensor = check_sum(world_size)
        dist.destroy_process_group()
        del tensor  # not earlier, for the same reason


def repeated_inits_with_kept_stores(rank, world_size):
    """The connections of all inits stay open, and stores made by hand come between them."""
    kept = []
    for k in range(10):
        init()
        kept.append(dist.distributed_c10d._get_default_store())
        kept.append(check_sum(world_size))
        dist.destroy_process_group()
        port = int(os.environ["MASTER_PORT"])
        by_hand = dist.TCPStore("127.0.0.1", port, world_size if rank == 0 else None, False)
        by_hand.set(f"by_hand/{k}/{rank}", "x")
        for other in range(world_size):
            assert by_hand.get(f"by_hand/{k}/{other}") == b"x"
        kept.append(by_hand)


def child(work, rank, world_size, port, variables):
    os.environ.update(
        RANK=str(rank), WORLD_SIZE=str(world_size), LOCAL_RANK=str(rank),
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
        TORCHELASTIC_USE_AGENT_STORE="True", TORCHELASTIC_RUN_ID="store_gloo",
        TORCHELASTIC_RESTART_COUNT="0", **variables)  # torch before 2.6 puts the count into its keys
    if "TORCH_DISTRIBUTED_DEBUG" in variables:
        dist.set_debug_level_from_env()
    try:
        torch.set_num_threads(1)
        work(rank, world_size)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def run(work, world_size, command, **variables):
    begin = time.monotonic()
    with serving(*command, str(world_size)) as port:
        children = []
        for rank in range(world_size):
            pid = os.fork()
            if pid == 0:
                child(work, rank, world_size, port, variables)
            children.append(pid)
        failed = [pid for pid in children if os.waitpid(pid, 0)[1] != 0]
    what = f"{work.__name__}, {world_size} ranks {variables or ''}"
    if failed:
        sys.exit(f"failed: {what}")
    print(f"passed: {what} ({time.monotonic() - begin:.1f} s)", flush=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    command = sys.argv[1:]
    for world_size in range(2, 9):
        run(collectives, world_size, command)
    run(collectives, 4, command, TORCH_DISTRIBUTED_DEBUG="DETAIL")
    run(collectives, 4, command, TORCH_DIST_INIT_BARRIER="1")
    run(collectives, 4, command, TORCH_GLOO_LAZY_INIT="1")  # 2.4 and 2.7 take no notice of it
    run(collectives, 2, command, USE_LIBUV="0")
    run(repeated_inits, 2, command)
    run(repeated_inits, 4, command)
    run(repeated_inits, 2, command, TORCH_DISTRIBUTED_DEBUG="DETAIL")
    run(repeated_inits, 3, command, TORCH_DIST_INIT_BARRIER="1")
    run(repeated_inits_with_kept_stores, 3, command)


if __name__ == "__main__":
    main()
