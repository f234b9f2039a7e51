# All is well.
# outcome: finished
# ddprun_exit: 0
