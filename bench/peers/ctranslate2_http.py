"""Plain HTTP server around CTranslate2, for `bench.online`: FastAPI, a pool of threads, no batches.

`python -m bench.peers.ctranslate2_http SETTINGS`. SETTINGS is a JSON object with model, tokenizer, workers
and port.
"""

import json
import sys
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from bench.peers.ctranslate2_worker import CTranslate2
from bench.peers.protocol import Search, Setup


class PeerRequest(BaseModel):
    """Body of `POST /v1/translate`, with the names that Dragoman's own API has."""

    text: str
    beam_size: int
    max_length: int


def create_app(settings: dict[str, Any]) -> FastAPI:
    """Return the application, whose model has `workers` replicas of one thread each."""
    options = {"tokenizer": settings["tokenizer"]}
    engine = CTranslate2(Setup(settings["model"], settings["workers"], "int8", options))
    translate_text = engine.text_translator()
    app = FastAPI()

    @app.get("/readyz")
    def ready() -> str:
        return "ready"

    @app.post("/v1/translate")
    def translate(request: PeerRequest) -> dict[str, str]:
        search = Search(request.beam_size, max_length=request.max_length)
        return {"translation": translate_text(request.text, search)}

    return app


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    uvicorn.run(create_app(given), host="127.0.0.1", port=given["port"], log_level="error")
