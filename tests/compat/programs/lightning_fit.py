"""PyTorch Lightning fits a model with DDP; it must see by itself who launched it."""

import gc

import pytorch_lightning as lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

from results import checksum, end, result


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, _):
        inputs, targets = batch
        self.loss = torch.nn.functional.mse_loss(self.layer(inputs), targets)
        return self.loss

    def on_train_epoch_end(self):
        result(f"rank {self.global_rank}: epoch {self.current_epoch} loss {self.loss.item():.6f}")

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    lightning.seed_everything(0)
    inputs = torch.randn(64, 4)
    data = TensorDataset(inputs, inputs.sum(dim=1, keepdim=True))
    model = Regression()
    trainer = lightning.Trainer(
        accelerator="cpu", strategy="ddp", devices=2, max_epochs=3, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, DataLoader(data, batch_size=8))
    environment = type(trainer.strategy.cluster_environment).__name__
    result(f"rank {trainer.global_rank}: {trainer.world_size} ranks of {environment}")
    result(f"rank {trainer.global_rank}: checksum {checksum(model.parameters())}")


main()
gc.collect()  # frees DDP's group: it must not outlive the interpreter
end()
