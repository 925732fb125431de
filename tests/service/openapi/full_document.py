"""Write the OpenAPI document: `python -m tests.service.openapi.full_document docs/reference/openapi.json`.

This opens no model. A server's own document, at `/openapi.json`, has only the routes that are enabled.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from fastapi import FastAPI

from dragoman.routing.router import Router
from service.server.app import create_app
from service.settings.groups import APIS
from service.settings.settings import Settings


def full_document() -> dict[str, Any]:
    """Return the document with all APIs and all optional routes, whatever the environment sets."""
    return full_app().openapi()


def full_app() -> FastAPI:
    """Return an application with the same routes."""
    fields = Settings.model_fields
    with TemporaryDirectory() as folder, Router(dict, _never, _never) as router:
        given: dict[str, Any] = {
            **{name: field.get_default(call_default_factory=True) for name, field in fields.items()},
            "apis": ",".join(APIS),
            "reload_endpoint": True,
            "database_url": f"sqlite:///{folder}/dragoman.db",
            "jobs_files": folder,
        }
        return create_app(router, Settings(**given), ())


def _never(_: object) -> NoReturn:
    raise AssertionError("no model can be opened or measured here")


def to_text(document: dict[str, Any]) -> str:
    """Format the document as it is stored in a file."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def main(arguments: list[str]) -> None:
    """Write the document to the file in `arguments`, or to stdout."""
    text = to_text(full_document())
    if arguments:
        Path(arguments[0]).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
