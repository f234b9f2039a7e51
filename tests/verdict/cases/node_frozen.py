# The second node freezes: its agent neither says anything nor closes its connection.
# kind: node_lost
# nodes: 2
# workers: 1
# ranks: 1
# outcome: too_few_nodes
# ddprun_exit: 75
# arguments: --rdzv-conf join_timeout=4,heartbeat_timeout=3
# reports: 0
import os
import signal
import subprocess

import meet

meet.everybody_is_there()
if meet.RANK == 1:
    agent = os.getppid()
    # The process that ends this test is none of the job's.
    end = f"sleep 12; kill -9 {agent}"
    subprocess.Popen(["env", "-i", "/bin/sh", "-c", end], start_new_session=True)
    os.kill(agent, signal.SIGSTOP)
meet.sleep_for_ever()
