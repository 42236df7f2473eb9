"""The bare model in Lightning's loop, with its progress bar and its CSV log."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from normtrial.benchmark.steps import bare
from normtrial.benchmark.steps.shape import Shape
from normtrial.data.batch import Batch
from normtrial.training.optim import learning_rate

NAME = "Lightning"
PACKAGES = ("lightning",)

build = bare.build


def train(shape: Shape, model: nn.Module, batches: Iterable[Batch], folder: Path) -> None:
    """`Trainer.fit`, as it stands: clipping, logging every `log_every` steps, the loss beside the bar."""
    import lightning  # pyright: ignore[reportMissingImports]
    from lightning.pytorch.loggers import CSVLogger  # pyright: ignore[reportMissingImports]

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def training_step(self, batch: Batch, index: int) -> Any:
            loss = bare.mean_loss(self.model, batch)
            self.log("train/loss_nats", loss, prog_bar=True, batch_size=len(batch.tokens_BL))
            return loss

        def configure_optimizers(self) -> Any:
            optimizer = bare.optimizer_of(shape, self.model)
            factor = LambdaLR(
                optimizer, lambda step: learning_rate(shape.optim, step + 1, shape.steps) / shape.optim.lr
            )
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": factor, "interval": "step"}}

    lightning.Trainer(
        accelerator="cpu",
        max_steps=shape.steps,
        gradient_clip_val=shape.optim.clip,
        log_every_n_steps=shape.log_every,
        logger=CSVLogger(folder),
        enable_checkpointing=False,
        enable_model_summary=False,
        default_root_dir=folder,
    ).fit(Module(), batches)
