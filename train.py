"""Train a Transformer, or sweep over many: `python train.py norm=bn placement=pre`; `--help` lists the choices."""

import hydra
from omegaconf import DictConfig

from normtrial.help import help_is_wanted, help_text


@hydra.main(version_base="1.3", config_path="conf", config_name="config")
def main(cfg: DictConfig) -> float | None:
    """One run of the configured trial; returns its outcome."""
    from normtrial import run

    return run.main(cfg)


if __name__ == "__main__":
    if help_is_wanted():
        print(help_text())
    else:
        from normtrial import config  # and with it torch, for which --help need not wait

        config.register()
        config.explained(main)
