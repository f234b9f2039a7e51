"""Programs, sizes, jobs, failures and signals."""

from row import ends_with, row, stopped_by

ALONE = "--standalone"
TWO = "--nproc-per-node=2"
STATIC = ("--master-addr=127.0.0.1", "--master-port={port}")
DUMP = "{programs}/dump_env.py"
FAIL = "{programs}/fail.py"
WAIT = "{programs}/wait.py"
CONF = "join_timeout=60,last_call_timeout=1,read_timeout=30,is_host=true"

# What only a process that the launcher forks into has, and multiprocessing changes.
OF_A_NEW_PROCESS = ("session leader", "open files", "unbuffered", "stdin", "ignored signals",
                    "first folder of imports")

PROGRAMS = [
    row("a script and nothing else", DUMP, environment={"PET_MASTER_PORT": "{port}"}),
    row("a script with arguments", ALONE, DUMP, "one", "two words", ""),
    row("arguments of the script look like options", ALONE, DUMP, "--nproc-per-node", "5",
        "--standalone", "-m", "--help"),
    row("-- among the arguments of the script", ALONE, DUMP, "one", "--", "--lr", "1"),
    row("-- right after the script", ALONE, DUMP, "--", "--lr", "1",
        differs="all that follows the script is the script's; argparse takes this -- away",
        instead={"arguments": [DUMP, "--", "--lr", "1"], "stdout": ["says: rank 0 has -- --lr 1"]}),
    row("-- before the script", ALONE, "--", DUMP, "--lr", "1"),
    row("${local_rank} in arguments", ALONE, TWO, DUMP, "--to=${local_rank}", "${local_rank}/${rank}"),
    row("$local_rank without braces, and dollars of others", ALONE, DUMP, "$local_rank", "${rank}",
        "$HOME", "5$", "$local_rank2", "$LOCAL_RANK", "${local_rank"),
    row("two dollars keep a name from being replaced", ALONE, DUMP, "$$local_rank", "$${local_rank}"),
    row("two dollars are the shell's", ALONE, "--no-python", "sh", "-c", "echo says: '$$'",
        differs="$$ is a shell's process id; it means something to ddprun before local_rank only",
        instead={"stdout": ["says: $$"]}),
    row("a module", ALONE, TWO, "-m", "dump_env", "-m", environment={"PYTHONPATH": "{programs}"}),
    row("a program that is not Python", ALONE, "--no-python", "sh", "-c",
        'echo "says: $RANK $0 $1"', "zero", "${local_rank}"),
    row("Python as any program", ALONE, TWO, "--no_python", "python", DUMP, "one"),
    row("--run-path, which wins over --no-python", ALONE, TWO, "--run-path", "--no-python", DUMP, "one",
        ignore=OF_A_NEW_PROCESS),
    row("PYTHON_EXEC", ALONE, DUMP, environment={"PYTHON_EXEC": "{programs}/python_exec.sh"}),
    row("launch gives every worker --local-rank", ALONE, TWO, DUMP, "one", launch=True),
    row("launch with --use-env", ALONE, TWO, "--use-env", DUMP, "one", launch=True),
    row("launch with --use_env and a program that is not Python", ALONE, "--use_env", "--no-python",
        "python", DUMP, launch=True),
]

SPELLINGS = [
    row("underscores", ALONE, "--nproc_per_node=2", "--max_restarts=1", "--rdzv_conf=timeout=60", DUMP),
    row("values as words of their own", ALONE, "--nproc-per-node", "3", "--max-restarts", "1", DUMP),
    row("the beginning of an option's name", "--standal", TWO, "--max-r=2", DUMP),
    row("an option twice: the last one counts", ALONE, "--nproc-per-node=3", TWO, DUMP),
    row("PET_MAX_RESTARTS", ALONE, FAIL, "1", "0", "1", environment={"PET_MAX_RESTARTS": "1"}),
    row("PET_STANDALONE, PET_MODULE and PET_NPROC_PER_NODE", "dump_env", environment={
        "PET_STANDALONE": "1", "PET_MODULE": "1", "PET_NPROC_PER_NODE": "2",
        "PYTHONPATH": "{programs}"}),
    row("PET_RDZV_ID and PET_ROLE, and PET_STANDALONE=0 is no", *STATIC, DUMP,
        environment={"PET_STANDALONE": "0", "PET_RDZV_ID": "job", "PET_ROLE": "trainer"}),
    row("the command line wins over PET_", ALONE, TWO, DUMP, environment={"PET_NPROC_PER_NODE": "3"}),
]

SIZES_AND_JOBS = [
    row("as many workers as CPUs", ALONE, "--nproc-per-node=cpu", DUMP),
    row("as many workers as the machine is good for", ALONE, "--nproc-per-node=auto", DUMP,
        environment={"CUDA_VISIBLE_DEVICES": ""}),
    row("--standalone has its own id", ALONE, "--rdzv-id=job", "--rdzv-backend=static",
        "--role=trainer", DUMP),
    row("--rdzv-backend=c10d on a free port", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0",
        "--rdzv-id=job", TWO, DUMP),
    row("--rdzv-backend=c10d on a fixed port", "--rdzv-backend=c10d",
        "--rdzv-endpoint=localhost:{port}", "--rdzv-conf=" + CONF, DUMP,
        ignore=("MASTER_ADDR", "MASTER_PORT")),  # c10d gives workers a port beside that one
    row("static, with an endpoint", "--rdzv-backend=static", "--rdzv-endpoint=127.0.0.1:{port}", DUMP),
    row("static, with all there is to say", *STATIC, "--nnodes=1", "--node-rank=0", "--rdzv-id=job", TWO,
        DUMP),
    row("options that a single node does not show", ALONE, "--nnodes=1:1", "--local-addr=127.0.0.1",
        "--monitor-interval=0.5", "--event-log-handler=null", "--start-method=fork", DUMP),
    row("variables of the libraries are passed on", ALONE, TWO, DUMP, environment={
        "OMP_NUM_THREADS": "3", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0", "CUDA_VISIBLE_DEVICES": "3,5"}),
    row("a pipe for workers' timers", ALONE, TWO, DUMP, environment={"TORCHELASTIC_ENABLE_FILE_TIMER": "1"}),
    row("a pipe for workers' timers in a place of the user's", ALONE, TWO, DUMP, environment={
        "TORCHELASTIC_ENABLE_FILE_TIMER": "1", "TORCHELASTIC_TIMER_FILE": "{scratch}/timers"}),
    row("--virtual-local-rank with visible devices", ALONE, TWO, "--virtual-local-rank", DUMP,
        environment={"CUDA_VISIBLE_DEVICES": "3,5"}),
    row("--virtual-local-rank without", ALONE, TWO, "--virtual_local_rank", DUMP, "${local_rank}"),
    row("variables of an outer torchrun are replaced", ALONE, DUMP, environment={
        "RANK": "7", "LOCAL_RANK": "7", "WORLD_SIZE": "9", "MASTER_PORT": "1", "MASTER_ADDR": "outer",
        "TORCHELASTIC_RUN_ID": "outer", "TORCHELASTIC_RESTART_COUNT": "4",
        "TORCHELASTIC_USE_AGENT_STORE": "False", "GROUP_RANK": "3", "ROLE_RANK": "7"}),
]

FAILURES = [
    row("a second attempt that ends well", ALONE, TWO, "--max-restarts=1", FAIL, "1", "1", "1"),
    row("a third attempt that ends well", *STATIC, "--max-restarts=3", FAIL, "SIGKILL", "0", "2"),
    ends_with(3, "no restarts left", ALONE, TWO, "--max-restarts=2", FAIL, "3", "0", "9"),
    row("exit code 1", ALONE, TWO, FAIL, "1", "0", "1", code=1),
    ends_with(3, "exit code 3", ALONE, "--nproc-per-node=3", FAIL, "3", "2", "1"),
    ends_with(255, "exit code 255", ALONE, FAIL, "255", "0", "1"),
    ends_with(139, "death by SIGSEGV", ALONE, TWO, FAIL, "SIGSEGV", "1", "1"),
    ends_with(137, "death by SIGKILL", ALONE, TWO, FAIL, "SIGKILL", "0", "1"),
    ends_with(134, "death by SIGABRT", ALONE, TWO, FAIL, "SIGABRT", "1", "1"),
    ends_with(3, "failure under --run-path", ALONE, "--run-path", FAIL, "3", "0", "1",
              environment={"PYTHONPATH": "{programs}"},  # where torchrun's runpy does not look by itself
              ignore=OF_A_NEW_PROCESS),
    row("rank 0 ends while the others go on", ALONE, TWO, "{programs}/early.py"),
    row("an exception recorded by torch", ALONE, "{programs}/record.py", code=1,
        reports="the disk is full", keeps=r"error\.json"),
    ends_with(7, "an error file with a plain message", ALONE, "{programs}/error_file.py",
              reports="the disk is full", keeps=r"error\.json"),
]

SIGNALS = [
    stopped_by("SIGTERM", 15, "SIGTERM", ALONE, TWO, WAIT, ready=2),
    stopped_by("SIGINT", 2, "SIGINT", ALONE, TWO, WAIT, ready=2),
    stopped_by("SIGHUP", 1, "SIGHUP", ALONE, TWO, WAIT, ready=2),
    stopped_by("SIGTERM", 15, "SIGTERM with restarts left", *STATIC, "--max-restarts=3", WAIT, ready=1),
    stopped_by("SIGUSR1", 10, "a signal of --signals-to-handle", ALONE, TWO,
               "--signals-to-handle=SIGUSR1,SIGTERM", WAIT, ready=2),
]

ROWS = PROGRAMS + SPELLINGS + SIZES_AND_JOBS + FAILURES + SIGNALS
