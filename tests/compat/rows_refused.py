"""Bad input: both fail, and ddprun says why in one line; or only torchrun minds. And help."""

from row import refused, row, tolerated

DUMP = "{programs}/dump_env.py"
NO_PLUG_INS = "there are no Python plug-ins: a warning says that the option has no effect"

ROWS = [
    row("--help names every option of torchrun", "--help", ignore=("stdout",), help=True),
    refused("an unknown option", "--nproc-per-host=2", DUMP, names="--nproc-per-host", code=2),
    refused("the beginning of several options' names", "--m=1", DUMP, names="--m", code=2),
    refused("an option without its value", "--nproc-per-node", names="--nproc-per-node", code=2),
    refused("no script", "--standalone", names="script", code=2),
    refused("PET_MAX_RESTARTS=x", DUMP, names="MAX_RESTARTS", code=2,
            environment={"PET_MAX_RESTARTS": "x"}),
    refused("--numa-binding=nope", "--numa-binding=nope", DUMP, names="--numa-binding", code=2),
    refused("--nnodes=a", "--nnodes=a", DUMP, names="--nnodes"),
    refused("--nnodes=0", "--nnodes=0", DUMP, names="--nnodes"),
    refused("--nproc-per-node=foo", "--nproc-per-node=foo", DUMP, names="--nproc-per-node"),
    refused("--nproc-per-node=0", "--nproc-per-node=0", DUMP, names="--nproc-per-node"),
    refused("--nproc-per-node=gpu without one", "--nproc-per-node=gpu", DUMP,
            names="--nproc-per-node", environment={"CUDA_VISIBLE_DEVICES": ""}),
    refused("--max-restarts=-1", "--max-restarts=-1", DUMP, names="--max-restarts"),
    refused("--monitor-interval=0", "--monitor-interval=0", DUMP, names="--monitor-interval"),
    refused("-m with --no-python", "-m", "--no-python", DUMP, names="--no-python"),
    refused("launch with --no-python, without --use-env", "--no-python", DUMP, launch=True,
            names="--use-env"),
    refused("an unknown back-end", "--rdzv-backend=nope", "--rdzv-endpoint=localhost:0", DUMP,
            names="use c10d"),
    refused("a port that cannot be", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:70000", DUMP,
            names="--rdzv-endpoint"),
    refused("--rdzv-conf without a value", "--rdzv-conf=abc", DUMP, names="--rdzv-conf"),
    refused("--rdzv-conf with a time that is none", "--rdzv-backend=c10d",
            "--rdzv-endpoint=localhost:0", "--rdzv-conf=join_timeout=x", DUMP, names="--rdzv-conf"),
    refused("--local-ranks-filter=a", "--local-ranks-filter=a", DUMP, names="--local-ranks-filter"),
    refused("-r 4", "-r", "4", DUMP, names="-r"),
    refused("-t 0:4", "-t", "0:4", DUMP, names="-t"),
    tolerated("local ranks may have two digits", "-t 10:1", "-t", "10:1", DUMP),
    tolerated(NO_PLUG_INS, "--logs-specs=nope", "--logs-specs=nope", DUMP, one_line="use --log-dir"),
    refused("--event-log-handler=foo", "--event-log-handler=foo", "--master-port={port}", DUMP,
            names="use --event-log FILE"),
    refused("--log-dir is a file", "--log-dir={programs}/talk.py", DUMP, names="--log-dir"),
    refused("a command that does not exist", "--standalone", "--no-python", "{scratch}/nothing",
            names="nothing", ddprun=127),
    refused("a script that does not exist", "--standalone", "{scratch}/nothing.py", names="nothing.py",
            ddprun=127),
    refused("too few visible devices", "--standalone", "--nproc-per-node=2", "--virtual-local-rank",
            DUMP, names="CUDA_VISIBLE_DEVICES", environment={"CUDA_VISIBLE_DEVICES": "3"}),
]
