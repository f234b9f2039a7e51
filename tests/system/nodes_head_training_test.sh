#!/usr/bin/env bash
# A C++ training loses the node that coordinates it, in the middle, and comes to the same end.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/nodes_training.sh"

train_digits=$(dirname "$DDPRUN")/train_digits
[ -x "$train_digits" ] || skip "built without the worker SDK: there is no train_digits"
train_through_a_lost_head --no-python "$train_digits"
