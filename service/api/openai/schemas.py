"""Requests and responses; the OpenAPI document contains their schemas."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from service.api.openai.errors import rejected
from service.http.openapi import DocumentedModel, examples
from service.http.validation import ONE, SEVERAL, text_tag

MAX_MESSAGES, MAX_PARTS, MAX_PROPERTIES = 10_000, 1000, 100


def _reject(value: object) -> object:
    if value:
        raise PydanticCustomError("unsupported", "is not supported by a translation server; omit it")
    return value


Unsupported = Annotated[None, BeforeValidator(_reject)]
EmptyList = Annotated[
    Annotated[list[None], Field(max_length=0, fail_fast=True)] | None, BeforeValidator(_reject)
]
EmptyObject = Annotated[
    Annotated[dict[str, None], Field(max_length=0, fail_fast=True)] | None, BeforeValidator(_reject)
]
Off = Annotated[bool | None, BeforeValidator(_reject)]
Zero = Annotated[Annotated[int, Field(ge=0, le=0)] | None, BeforeValidator(_reject)]
Penalty = Annotated[float | None, Field(ge=-2, le=2)]
TokenLimit = Annotated[int | None, Field(ge=-1)]


class ChatPart(DocumentedModel):
    """A part of a message; other fields are ignored."""

    model_config = ConfigDict(strict=True)

    type: str
    """`text`; in the message to translate, all parts must be texts: no images, sounds or files."""
    text: str | None = None
    """The text."""


Content = Annotated[
    Annotated[str, Tag(ONE)]
    | Annotated[list[ChatPart], Field(max_length=MAX_PARTS, fail_fast=True), Tag(SEVERAL)],
    Discriminator(
        text_tag, custom_error_type="text_type", custom_error_message="must be a string or an array of parts"
    ),
]


class ChatMessage(DocumentedModel):
    """A message of a conversation; other fields are ignored."""

    model_config = ConfigDict(strict=True)

    role: str
    """Who says it: `user`, `system`, `developer`, or another one whose messages are ignored."""
    content: Content | None = None
    """Text, or a list of parts of type `text`, which are joined by line breaks."""

    def text(self, parameter: str) -> str:
        """Return the whole text.

        Raises:
            ApiError: there is none, or another kind of part.
        """
        if isinstance(self.content, str):
            return self.content
        if not self.content:
            raise rejected(parameter, "has no text", "invalid_value")
        for index, part in enumerate(self.content):
            if part.type != "text" or part.text is None:
                problem = "is no text; only texts can be translated"
                raise rejected(f"{parameter}[{index}]", problem, "invalid_value")
        return "\n".join(part.text or "" for part in self.content)


class TextProperty(DocumentedModel):
    """A property of the object."""

    type: Literal["string"]
    """Only text."""


class ObjectSchema(DocumentedModel):
    """Schema of an object; other keywords are ignored."""

    type: Literal["object"]
    """Only an object."""
    properties: dict[str, TextProperty] = Field(min_length=1, max_length=MAX_PROPERTIES)
    """The first has the translation, the others are empty."""


class NamedSchema(DocumentedModel):
    """A schema; other fields are ignored."""

    object_schema: ObjectSchema = Field(alias="schema")
    """The object that the completion is."""


class PlainFormat(DocumentedModel):
    """The completion is the translation."""

    type: Literal["text"]


class ObjectFormat(DocumentedModel):
    """The completion is an object with the translation."""

    type: Literal["json_schema"]
    json_schema: NamedSchema
    """The object."""


class StreamOptions(DocumentedModel):
    """Options of a stream; without effect otherwise."""

    model_config = ConfigDict(strict=True)

    include_usage: bool | None = None
    """Whether a last chunk has the number of tokens."""


class ChatCompletionRequest(DocumentedModel):
    """A text to translate, as a chat. Other parameters, such as those for sampling, are ignored."""

    model_config = ConfigDict(
        strict=True,
        **examples(
            {"model": "dragoman-de-en", "messages": [{"role": "user", "content": "Ein Hund rennt."}]},
            {
                "model": "dragoman",
                "messages": [
                    {"role": "system", "content": "Translate from German into English."},
                    {"role": "user", "content": "Ein Hund rennt."},
                ],
            },
        ),
    )

    messages: list[ChatMessage] = Field(min_length=1, max_length=MAX_MESSAGES, fail_fast=True)
    """The user's last one is translated. Those of the system may name languages. Others are ignored."""
    model: str
    """`dragoman`, or names of languages: `dragoman-en`, `dragoman-de-en`, `en`, `de-en`, `auto-en`."""
    stream: bool | None = None
    """Whether to send the translation as it is made, segment by segment."""
    stream_options: StreamOptions | None = None
    """Options of a stream."""
    max_completion_tokens: TokenLimit = None
    """Maximum number of tokens; a longer translation ends before the segment that exceeds it.

    0 and -1 are no limit."""
    max_tokens: TokenLimit = None
    """Former name of `max_completion_tokens`; of both, the lower counts."""
    temperature: float | None = Field(None, ge=0, le=2)
    """Without effect: translations are searched for, not drawn at random."""
    top_p: float | None = Field(None, ge=0, le=1)
    """Without effect, like `temperature`."""
    presence_penalty: Penalty = None
    """Without effect, like `temperature`."""
    frequency_penalty: Penalty = None
    """Without effect, like `temperature`."""
    n: int | None = Field(None, ge=1, le=1)
    """Only one translation."""
    response_format: Annotated[PlainFormat | ObjectFormat, Field(discriminator="type")] | None = None
    """Text, or an object whose first property has it."""
    modalities: Annotated[list[Literal["text"]], Field(max_length=1, fail_fast=True)] | None = None
    """Only text."""
    logprobs: Off = None
    """Only false."""
    store: Off = None
    """Only false: nothing is stored."""
    tool_choice: Literal["none", "auto"] | None = None
    """Without effect: there are no tools."""
    function_call: Literal["none", "auto"] | None = None
    """Without effect: there are no functions."""
    tools: EmptyList = None
    """Not supported; may be empty."""
    functions: EmptyList = None
    """Not supported; may be empty."""
    stop: EmptyList = None
    """Not supported; may be empty."""
    top_logprobs: Zero = None
    """Not supported; may be 0."""
    logit_bias: EmptyObject = None
    """Not supported; may be empty."""
    audio: Unsupported = None
    """Not supported."""
    prediction: Unsupported = None
    """Not supported."""
    web_search_options: Unsupported = None
    """Not supported."""

    @property
    def token_limit(self) -> int | None:
        """Return the maximum number of tokens; None without one."""
        limits = [limit for limit in (self.max_tokens, self.max_completion_tokens) if limit and limit > 0]
        return min(limits, default=None)

    @property
    def property_names(self) -> tuple[str, ...]:
        """Return the properties of the object that the completion is; none if it is a text."""
        form = self.response_format
        return tuple(form.json_schema.object_schema.properties) if isinstance(form, ObjectFormat) else ()


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


class OpenAIErrorBody(DocumentedModel):
    """Description of an error."""

    message: str
    type: str
    param: str | None
    """The parameter at fault."""
    code: str | None


class OpenAIErrorResponse(DocumentedModel):
    """The form of every error."""

    error: OpenAIErrorBody
