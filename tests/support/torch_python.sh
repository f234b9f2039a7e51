#!/usr/bin/env bash
# torch_python.sh ARGUMENTS...: runs the Python that has the PyTorch of workers. It is chosen when a test
# runs, not when the build is configured, so that one build is tested with several versions of torch.
python=${DDPRUN_WORKERS_TORCH_ENV:-${DDPRUN_TORCH_ENV:-}}/bin/python
[ -x "$python" ] || {
  echo "skipped: there is no PyTorch: run scripts/setup --tests"
  exit 77
}
exec "$python" "$@"
