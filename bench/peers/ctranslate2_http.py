"""Plain HTTP server around CTranslate2, for `bench.online`: FastAPI, a pool of threads, no batches.

`python -m bench.peers.ctranslate2_http SETTINGS`. SETTINGS is a JSON object with model, tokenizer, workers
and port.
"""

import json
import sys
from typing import Any

import ctranslate2
import sentencepiece
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

EOS_ID = 3


class TranslateRequest(BaseModel):
    """Body of `POST /v1/translate`, with the names that Dragoman's own API has."""

    text: str
    beam_size: int
    max_length: int


def create_app(settings: dict[str, Any]) -> FastAPI:
    """Return the application, whose model has `workers` replicas of one thread each."""
    processor = sentencepiece.SentencePieceProcessor(model_file=settings["tokenizer"])
    translator = ctranslate2.Translator(
        settings["model"],
        device="cpu",
        compute_type="int8",
        inter_threads=settings["workers"],
        intra_threads=1,
    )
    app = FastAPI()

    @app.get("/readyz")
    def ready() -> str:
        return "ready"

    @app.post("/v1/translate")
    def translate(request: TranslateRequest) -> dict[str, str]:
        source = [str(token) for token in [*processor.encode(request.text), EOS_ID]]
        (result,) = translator.translate_batch(
            [source],
            beam_size=request.beam_size,
            max_decoding_length=request.max_length,
            max_input_length=0,
        )
        return {"translation": processor.decode([int(token) for token in result.hypotheses[0]])}

    return app


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    uvicorn.run(create_app(given), host="127.0.0.1", port=given["port"], log_level="error")
