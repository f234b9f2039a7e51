# The agent of the second node is killed: its node is lost, and no other comes.
# kind: node_lost
# nodes: 2
# workers: 1
# ranks: 1
# outcome: too_few_nodes
# ddprun_exit: 75
# arguments: --rdzv-conf join_timeout=15
# reports: 0
import os
import signal

import meet

meet.everybody_is_there()
if meet.RANK == 1:
    os.kill(os.getppid(), signal.SIGKILL)
meet.sleep_for_ever()
