# The agent of the first node, which hosts the coordinator, is killed.
# kind: node_lost
# outcome: coordinator_lost
# nodes: 2
# workers: 1
# ddprun_exit: 69
# arguments: --rdzv-conf join_timeout=20,heartbeat_timeout=10
# reports: 1
import os
import signal

import meet

meet.everybody_is_there()
if meet.RANK == 0:
    os.kill(os.getppid(), signal.SIGKILL)
meet.sleep_for_ever()
