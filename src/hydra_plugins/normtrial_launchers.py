"""Room for conf/hydra/launcher/: Hydra knows each launcher's options under the name that our preset of it has.

Two of one name would be merged behind a warning; so the options become a schema, which the preset begins with, as
every file in conf/ does.
"""

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.plugins.search_path_plugin import SearchPathPlugin

PRESETS = ("joblib", "submitit_local", "submitit_slurm", "ray")


class LauncherSchemas(SearchPathPlugin):
    """Hydra calls it before it reads a file, when every launcher is registered."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Move `hydra/launcher/<name>` to `schema/launcher/<name>`, once."""
        store = ConfigStore.instance()
        launchers = store.repo["hydra"]["launcher"]
        for name in PRESETS:
            if options := launchers.pop(f"{name}.yaml", None):
                store.store(group="schema/launcher", name=name, node=options.node, provider=options.provider)
