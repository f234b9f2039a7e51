"""A sweep of Hydra in which each job is a job of ddprun:

    python with_hydra.py --multirun lr=0.1,0.01 ddprun.nproc_per_node=4

It works with each of Hydra's launchers, so `hydra/launcher=submitit_slurm` gives each job of the sweep a node of its
own. The options of ddprun are part of the configuration. The logs and the report are in the job's folder.
"""

import os
from dataclasses import dataclass, field

import hydra
import torch
import torch.distributed as dist
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from omegaconf import OmegaConf
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import ddprun


@dataclass
class Config:
    lr: float = 0.01
    steps: int = 100
    ddprun: dict = field(default_factory=lambda: {"nproc_per_node": 2, "max_restarts": 3})


ConfigStore.instance().store(name="config", node=Config)


def train(config):
    """Runs in each worker, which has the configuration as a dictionary. Hydra itself is not there."""
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
    for step in range(config["steps"]):
        numbers = torch.randn(32, 16, generator=torch.Generator().manual_seed(step * 1000 + int(os.environ["RANK"])))
        loss = nn.functional.mse_loss(model(numbers), numbers.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ddprun.heartbeat(step + 1, loss=loss, steps=config["steps"])
    dist.destroy_process_group()
    return loss.item()


@hydra.main(version_base="1.3", config_path=None, config_name="config")
def main(config):
    settings, folder = OmegaConf.to_container(config), HydraConfig.get().runtime.output_dir
    losses = ddprun.launch(train, settings, log_dir=folder, **settings["ddprun"])
    return losses[0]  # the value that a sweeper such as Optuna's minimizes


if __name__ == "__main__":
    main()
