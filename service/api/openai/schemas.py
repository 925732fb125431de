"""Requests and responses; the OpenAPI document contains their schemas."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from service.api.native.requests import StrictRequest, text_tag
from service.http.openapi import DocumentedModel, examples

MAX_MESSAGES, MAX_PARTS = 10_000, 1000
MAX_METADATA = 16
"""As with OpenAI."""


def _reject(value: object) -> object:
    if value is not None:
        raise PydanticCustomError("unsupported", "is not supported by a translation server; omit it")
    return None


Unsupported = Annotated[None, BeforeValidator(_reject)]
Zero = Annotated[float | None, Field(ge=0, le=0)]


class TextPart(StrictRequest):
    """A part of a message."""

    type: Literal["text"]
    """Only text can be translated: no images, sounds or files."""
    text: str
    """The text."""


Content = Annotated[
    Annotated[str, Tag("one")]
    | Annotated[list[TextPart], Field(min_length=1, max_length=MAX_PARTS, fail_fast=True), Tag("several")],
    Discriminator(
        text_tag,
        custom_error_type="text_type",
        custom_error_message="Input should be a string or a list of parts of the type `text`",
    ),
]


class ChatMessage(DocumentedModel):
    """A message of a conversation; other fields are ignored."""

    model_config = ConfigDict(strict=True)

    role: Literal["system", "developer", "user", "assistant"]
    """Who says it. The last message must be the user's."""
    content: Content
    """Text, or a list of parts of type `text`, which are joined by line breaks."""

    @property
    def text(self) -> str:
        """Return the whole text."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content)


class ResponseFormat(StrictRequest):
    """The form of the completion."""

    type: Literal["text"]
    """Only text."""


class StreamOptions(StrictRequest):
    """Options of a stream."""

    include_usage: bool | None = None
    """Whether a last chunk has the number of tokens."""
    include_obfuscation: bool | None = None
    """Without effect: no chunk is padded."""


class ChatCompletionRequest(StrictRequest):
    """A text to translate, as a chat. Unknown parameters are rejected."""

    model_config = examples(
        {"model": "dragoman-de-en", "messages": [{"role": "user", "content": "Ein Hund rennt."}]},
        {
            "model": "dragoman",
            "messages": [
                {"role": "system", "content": "Translate from German into English."},
                {"role": "user", "content": "Ein Hund rennt."},
            ],
        },
    )

    messages: list[ChatMessage] = Field(min_length=1, max_length=MAX_MESSAGES, fail_fast=True)
    """The last one is translated. Messages of the system may name the languages. Others are ignored."""
    model: str
    """`dragoman`, or names of languages: `dragoman-en`, `dragoman-de-en`, `en`, `de-en`, `auto-en`."""
    stream: bool | None = None
    """Whether to send the translation as it is made, segment by segment."""
    stream_options: StreamOptions | None = None
    """Options of a stream; only with `stream`."""
    max_completion_tokens: int | None = Field(None, ge=1)
    """Maximum number of tokens; a longer translation ends before the segment that exceeds it."""
    max_tokens: int | None = Field(None, ge=1)
    """Former name of `max_completion_tokens`; send one of them."""
    temperature: float | None = Field(None, ge=0, le=2)
    """Without effect: translations are searched for, not drawn at random."""
    top_p: float | None = Field(None, ge=0, le=1)
    """Without effect, like `temperature`."""
    seed: int | None = None
    """Without effect: the same request gives the same translation."""
    n: Literal[1] | None = None
    """Only one translation."""
    presence_penalty: Zero = None
    """Only 0."""
    frequency_penalty: Zero = None
    """Only 0."""
    response_format: ResponseFormat | None = None
    """Only text."""
    modalities: Annotated[list[Literal["text"]], Field(max_length=1, fail_fast=True)] | None = None
    """Only text."""
    logprobs: Literal[False] | None = None
    """Only false."""
    store: Literal[False] | None = None
    """Only false: nothing is stored."""
    service_tier: Literal["auto", "default"] | None = None
    """Without effect: there is one."""
    tool_choice: Literal["none", "auto"] | None = None
    """Without effect: there are no tools."""
    parallel_tool_calls: bool | None = None
    """Without effect: there are no tools."""
    reasoning_effort: str | None = None
    """Without effect: nothing is reasoned."""
    verbosity: str | None = None
    """Without effect: a translation is as long as it is."""
    user: str | None = None
    """Without effect: keys tell users apart."""
    safety_identifier: str | None = None
    """Without effect."""
    metadata: Annotated[dict[str, str], Field(max_length=MAX_METADATA, fail_fast=True)] | None = None
    """Without effect: nothing is stored."""
    prompt_cache_key: str | None = None
    """Without effect."""
    tools: Unsupported = None
    """Not supported."""
    functions: Unsupported = None
    """Not supported."""
    function_call: Unsupported = None
    """Not supported."""
    stop: Unsupported = None
    """Not supported."""
    top_logprobs: Unsupported = None
    """Not supported."""
    logit_bias: Unsupported = None
    """Not supported."""
    audio: Unsupported = None
    """Not supported."""
    prediction: Unsupported = None
    """Not supported."""
    web_search_options: Unsupported = None
    """Not supported."""


class CompletionMessage(DocumentedModel):
    """The translation."""

    role: Literal["assistant"]
    content: str


FinishReasonName = Literal["stop", "length"]


class CompletionChoice(DocumentedModel):
    """The only choice."""

    index: Literal[0]
    message: CompletionMessage
    finish_reason: FinishReasonName
    """`length` if a limit of tokens cut the translation, otherwise `stop`."""
    logprobs: None = None


class TokenUsage(DocumentedModel):
    """Pieces of the models' vocabularies; 0 for text that no model translated."""

    prompt_tokens: int
    """Tokens of the text."""
    completion_tokens: int
    """Tokens of the translation."""
    total_tokens: int


class ChatCompletion(DocumentedModel):
    """A translation."""

    id: str
    object: Literal["chat.completion"]
    created: int
    """Unix time in seconds."""
    model: str
    """As in the request."""
    choices: list[CompletionChoice]
    usage: TokenUsage


class OpenAIModel(DocumentedModel):
    """A name that `model` of a request may be."""

    id: str
    object: Literal["model"]
    created: int
    """Always 0."""
    owned_by: str


class OpenAIModels(DocumentedModel):
    """All such names, but those of pairs that need a multilingual model or two."""

    object: Literal["list"]
    data: list[OpenAIModel]


class OpenAIErrorBody(DocumentedModel):
    """What went wrong."""

    message: str
    type: str
    param: str | None
    """The parameter at fault."""
    code: str | None


class OpenAIErrorResponse(DocumentedModel):
    """The form of every error."""

    error: OpenAIErrorBody
