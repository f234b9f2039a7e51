"""One run of MLflow over all restarts of a job:

    MLFLOW_TRACKING_URI=... ddprun --nproc-per-node 2 --max-restarts 3 --rdzv-id digits-7 with_mlflow.py

MLflow gives each run an id of its own, so the run is found by a tag that has the job's name.
"""

import mlflow
from training import train


def begin(job, first_step, restarts):
    mlflow.set_experiment("ddprun")
    found = mlflow.search_runs(filter_string=f"tags.ddprun_job = '{job}'", max_results=1, output_format="list")
    mlflow.start_run(run_id=found[0].info.run_id if found else None, run_name=job, tags={"ddprun_job": job})
    if restarts:
        mlflow.log_metric("restart", restarts, step=first_step)  # a point for each restart, where the training went on
        mlflow.set_tag("restarts", restarts)
    return lambda step, loss: mlflow.log_metric("loss", loss, step=step)


train(begin)
if mlflow.active_run():  # only on rank 0
    mlflow.end_run()
