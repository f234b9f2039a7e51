#!/usr/bin/env bash
# A Python training loses the node that coordinates it, in the middle, and comes to the same end.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/nodes_training.sh"

need_torch
train_through_a_lost_head "$(realpath "$(dirname "$0")/../../worker_sdk/examples/train_digits.py")"
