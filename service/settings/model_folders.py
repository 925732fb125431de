"""Folders in which models are found: the one of the settings, or `models` here and the bundled models."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dragoman.bundled import bundled_models
from dragoman.manifest import MANIFEST_FILE
from dragoman.routing.bundle_scan import bundle_folders


@dataclass(frozen=True, slots=True)
class ModelFolders:
    """The folder of an operator's models, and that of the bundled ones if these are served too."""

    own: Path
    """Folder for new models: never that of an installed package, which an update replaces."""
    bundled: Path | None = None
    """Folder whose models serve what none in `own` serves; None for none."""

    @classmethod
    def of(cls, models_dir: Path | None) -> Self:
        """Return the folders for a value of the setting `models_dir`."""
        if models_dir is not None:
            return cls(models_dir)
        own = Path("models")
        bundled = bundled_models()
        return cls(own, None if bundled == own.resolve() else bundled)

    def __str__(self) -> str:
        return str(self.own) if self.bundled is None else f"{self.own} and {self.bundled}"

    @property
    def exists(self) -> bool:
        """Return whether there is at least one of the folders."""
        return self.own.is_dir() or (self.bundled is not None and self.bundled.is_dir())

    def find(self) -> dict[str, Path]:
        """Return the folders of all models by name, sorted; of two with the same name, the one in `own`.

        Next to bundled models, a folder in `own` counts only if it has a manifest: many projects have a
        folder `models` with something else in it.
        """
        found = bundle_folders(self.own)
        if self.bundled is None:
            return found
        found = {name: path for name, path in found.items() if (path / MANIFEST_FILE).is_file()}
        return dict(sorted({**bundle_folders(self.bundled), **found}.items()))

    def replaced(self) -> list[str]:
        """Return the names of bundled models in whose place one in `own` is used, sorted."""
        if self.bundled is None:
            return []
        found = self.find()
        return [name for name, folder in bundle_folders(self.bundled).items() if found[name] != folder]
