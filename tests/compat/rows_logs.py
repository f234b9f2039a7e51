"""Log files, tee, filters and prefixes."""

from row import ends_with, row

JOB = ("--master-port={port}", "--rdzv-id=job", "--nproc-per-node=2")
LOGS = "--log-dir={logs}"
TALK = "{programs}/talk.py"
FAIL = "{programs}/fail.py"
STREAMS = r"std(out|err)\.log"

ROWS = [
    row("without files and filters", *JOB, TALK),
    row("--log-dir alone", *JOB, LOGS, TALK),
    row("--log-dir with --standalone", "--standalone", LOGS, "-r", "3", TALK),
    row("--redirects=1", *JOB, LOGS, "--redirects=1", TALK),
    row("-r 2", *JOB, LOGS, "-r", "2", TALK),
    row("-r3", *JOB, LOGS, "-r3", TALK),
    row("-r for some ranks", *JOB, LOGS, "-r", "0:1,1:2", TALK),
    row("-r without --log-dir", *JOB, "-r", "3", TALK, keeps=STREAMS),
    row("-t 1", *JOB, LOGS, "-t", "1", TALK),
    row("-t 2", *JOB, LOGS, "-t", "2", TALK),
    row("--tee=3, with the role in the prefix", *JOB, LOGS, "--role=trainer", "--tee=3", TALK),
    row("-t for some ranks", *JOB, LOGS, "-t", "0:1,1:3", TALK),
    row("-r 3 with -t 1", *JOB, LOGS, "-r", "3", "-t", "1", TALK),
    row("a prefix of one's own", *JOB, LOGS, "-t", "3", TALK, environment={
        "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": "<${role_name}-${rank}-${local_rank}-${other}>"}),
    row("an empty prefix", *JOB, LOGS, "-t", "3", TALK,
        environment={"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": ""}),
    row("--local-ranks-filter", *JOB, "--local-ranks-filter=1", TALK),
    row("--local-ranks-filter with -t", *JOB, LOGS, "-t", "3", "--local-ranks-filter=0", TALK),
    row("--local-ranks-filter with -r", *JOB, LOGS, "-r", "1", "--local-ranks-filter=1", TALK),
    row("--duplicate-stdout-filters and --duplicate-stderr-filters", *JOB, LOGS, "-t", "3",
        "--duplicate-stdout-filters=apple,orange", "--duplicate-stderr-filters=apple", TALK),
    row("a comma in --duplicate-stdout-filters", *JOB, LOGS, "-t", "3",
        "--duplicate_stdout_filters=pear,, green,größe", TALK),
    row("filters without -t", *JOB, LOGS, "-r", "3", "--duplicate-stdout-filters=apple", TALK,
        differs="a warning names an option without effect, which leaves no empty file",
        instead={"log files": [f"job_{{random}}/attempt_0/{rank}/{stream}.log"
                               for rank in "01" for stream in ["stderr", "stdout"]]}),
    row("filters with --local-ranks-filter", *JOB, LOGS, "-t", "3", "--local-ranks-filter=0",
        "--duplicate-stdout-filters=apple", TALK),
    row("the null device as --log-dir", *JOB, "--log-dir=/dev/null", TALK),
    row("the null device as --log-dir, with -t", *JOB, "--log-dir=/dev/null", "-t", "3", TALK),
    row("PET_LOG_DIR, PET_REDIRECTS and PET_TEE", *JOB, TALK,
        environment={"PET_LOG_DIR": "{logs}", "PET_REDIRECTS": "2", "PET_TEE": "0:1"}),
    row("a folder of logs for each attempt", *JOB, LOGS, "-t", "3", "--max-restarts=1",
        FAIL, "1", "0", "1"),
    ends_with(3, "the logs of a job that failed", *JOB, LOGS, "-r", "3", FAIL, "3", "0", "1"),
    row("the error file lies among the logs", "--master-port={port}", "--rdzv-id=job", LOGS,
        "{programs}/record.py", code=1, reports="the disk is full"),
]
