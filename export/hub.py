"""Download of models from the Hugging Face hub."""

from pathlib import Path

import huggingface_hub
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)

from export.original import ImportRejectedError

PATTERNS = (
    *("*.json", "*.safetensors", "pytorch_model*.bin", "*.spm", "*.model", "LICENSE*", "README.md"),
    *("model.bin", "*vocabulary.txt"),  # of CTranslate2
)
"""Files that an import reads; weights in formats of other frameworks are not downloaded."""


def download(repository: str) -> tuple[Path, str]:
    """Download a model, or use the local cache if the hub cannot be reached.

    Args:
        repository: `OWNER/NAME`.

    Returns:
        The folder, and the commit of its files.

    Raises:
        ImportRejectedError: no such model, no access, or the hub cannot be reached and nothing is cached.
    """
    try:
        folder = Path(huggingface_hub.snapshot_download(repository, allow_patterns=list(PATTERNS)))
    except (LocalEntryNotFoundError, OfflineModeIsEnabled) as error:
        advice = "download it elsewhere and give its folder"
        problem = f"folder not found, and the hub cannot be reached; {advice}"
        raise ImportRejectedError(repository, (problem,)) from error
    except GatedRepoError as error:
        problem = "accept the terms of this model on the hub, and set HF_TOKEN"
        raise ImportRejectedError(repository, (problem,)) from error
    except RepositoryNotFoundError as error:
        problem = "neither a folder nor a model on the hub has this name"
        raise ImportRejectedError(repository, (problem,)) from error
    except (HfHubHTTPError, HFValidationError) as error:
        raise ImportRejectedError(repository, (f"the hub rejected the request: {error}",)) from error
    return folder, folder.name  # the cache names a snapshot's folder after its commit
