#!/usr/bin/env bash
# A Python training goes on from its checkpoint when a node is killed, and when another comes.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/nodes_training.sh"

need_torch
train_through_changes "$(realpath "$(dirname "$0")/../../worker_sdk/examples/train_digits.py")"
