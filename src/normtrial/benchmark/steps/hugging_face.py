"""GPT-2 or BERT of transformers, of equal size, in its Trainer, with its progress bar and log lines.

BERT's pooler is a layer on the first token, where ours takes the mean over all. Models are made from
configurations; nothing comes from the hub.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from torch import nn
from torch.utils.data import Dataset

from normtrial.benchmark.steps.shape import Shape
from normtrial.data.batch import Batch

NAME = "transformers, Trainer"
UNLIKE = "BERT is Post-LN, with a pooler, a norm after the embedding and embeddings of segments"
PACKAGES = ("transformers", "accelerate")
QUIET = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "TRANSFORMERS_VERBOSITY": "error"}


def build(shape: Shape) -> nn.Module:
    """From a configuration; dropout where ours is, exact GELU; attention is in torch's fused kernel by default."""
    os.environ.update(QUIET)  # before the import, which reads them
    import transformers  # pyright: ignore[reportMissingImports]

    if shape.is_lm:
        config = transformers.GPT2Config(
            vocab_size=shape.vocab_size,
            n_positions=shape.max_len,
            n_embd=shape.d_model,
            n_layer=shape.num_layers,
            n_head=shape.num_heads,
            n_inner=shape.d_ff,
            activation_function="gelu",
            resid_pdrop=shape.dropout,
            embd_pdrop=shape.dropout,
            attn_pdrop=0.0,
            tie_word_embeddings=shape.tie,
            bos_token_id=0,
            eos_token_id=0,
            use_cache=False,
        )
        return transformers.GPT2LMHeadModel(config)
    config = transformers.BertConfig(
        vocab_size=shape.vocab_size,
        max_position_embeddings=shape.max_len,
        hidden_size=shape.d_model,
        num_hidden_layers=shape.num_layers,
        num_attention_heads=shape.num_heads,
        intermediate_size=shape.d_ff,
        hidden_act="gelu",
        hidden_dropout_prob=shape.dropout,
        attention_probs_dropout_prob=0.0,
        type_vocab_size=1,
        problem_type="single_label_classification",
    )
    config.num_labels = shape.num_outputs
    return transformers.BertForSequenceClassification(config)


class Given(Dataset):
    """Whole batches as the items of a data set, in the order in which they come; whatever number is asked for."""

    def __init__(self, batches: Iterable[Batch], num: int):
        self._batches, self._num = iter(batches), num

    def __len__(self) -> int:
        return self._num

    def __getitem__(self, index: int) -> dict[str, Any]:
        batch = next(self._batches)
        if batch.mask_BL is None:  # a language model: its targets are shifted already
            return {"input_ids": batch.tokens_BL, "labels": batch.targets, "shift_labels": batch.targets}
        return {"input_ids": batch.tokens_BL, "attention_mask": batch.mask_BL.long(), "labels": batch.targets}


def train(shape: Shape, model: nn.Module, batches: Iterable[Batch], folder: Path) -> None:
    """`Trainer.train`, as it stands; an item of its data is a whole batch, and nothing is collated."""
    import transformers  # pyright: ignore[reportMissingImports]

    optim = shape.optim
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        max_steps=shape.steps,
        per_device_train_batch_size=1,
        optim="adamw_torch_fused",
        learning_rate=optim.lr,
        weight_decay=optim.weight_decay,
        adam_beta1=optim.beta1,
        adam_beta2=optim.beta2,
        max_grad_norm=0.0 if optim.clip is None else optim.clip,
        lr_scheduler_type="cosine",
        warmup_steps=shape.steps // 10 if optim.warmup_steps is None else optim.warmup_steps,
        logging_steps=shape.log_every,
        save_strategy="no",
        report_to="none",
        disable_tqdm=False,
        remove_unused_columns=False,
        use_cpu=True,
    )
    transformers.Trainer(
        model,
        arguments,
        data_collator=lambda items: items[0],
        train_dataset=Given(batches, shape.steps),
    ).train()
