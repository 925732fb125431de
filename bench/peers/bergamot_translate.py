"""Bergamot's translations, by a Python with its package: `python -m bench.peers.bergamot_translate`.

Reads a JSON object from standard input: `config`, a path, and `lines`. Writes the translation of each line.
Each line is a request of its own, since Marian makes one shortlist for all sentences of a batch. The
package's own module looks for models in the internet; the engine beneath it does not.
"""

import importlib.util
import json
import sys
import sysconfig
from pathlib import Path
from typing import Any


def open_engine() -> Any:
    """Import the engine without the package's own module."""
    folder = Path(sysconfig.get_paths()["platlib"]) / "bergamot"
    (path,) = folder.glob("_bergamot*.so")
    spec = importlib.util.spec_from_file_location("_bergamot", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    engine = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(engine)
    return engine


def translate(request: dict[str, Any]) -> list[str]:
    """Return the translation of each line."""
    engine = open_engine()
    service = engine.Service(engine.ServiceConfig(numWorkers=1, logLevel="off"))
    model = service.modelFromConfigPath(request["config"])
    options = engine.ResponseOptions(alignment=False, qualityScores=False, HTML=False)
    return [
        service.translate(model, engine.VectorString([line]), options)[0].target.text
        for line in request["lines"]
    ]


if __name__ == "__main__":
    json.dump(translate(json.load(sys.stdin)), sys.stdout)
