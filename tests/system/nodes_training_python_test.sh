#!/usr/bin/env bash
# A Python training goes on from its checkpoint when a node is killed, and when another comes.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/nodes_training.sh"

python=${DDPRUN_TORCH_ENV:-}/bin/python
[ -x "$python" ] || skip "no PyTorch: DDPRUN_TORCH_ENV names no virtual environment"
export PYTHON_EXEC=$python
train_through_changes "$(realpath "$(dirname "$0")/../../worker_sdk/examples/train_digits.py")"
