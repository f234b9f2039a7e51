#!/usr/bin/env bash
# A C++ training goes on from its checkpoint when a node is killed, and when another comes.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/nodes_training.sh"

train_digits=$(dirname "$DDPRUN")/train_digits
[ -x "$train_digits" ] || skip "built without the worker SDK: there is no train_digits"
train_through_changes --no-python "$train_digits"
