"""Requests are validated by the models that document them, whether they come as JSON, a form or a URL."""

import pytest
from pydantic import BaseModel, ConfigDict, Field

from service.http.errors import ApiError
from service.http.fields import Fields
from service.http.validation import Count, Flag, Records, Texts, read_records


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str


class Sent(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: Texts
    """Any texts."""
    title: str = ""
    flag: Flag = False
    count: Count = Field(0, ge=0, le=9)
    items: Records[Item] = Field([])
    listed: list[Item] = Field([], fail_fast=True)


KNOWN = "text, title, flag, count, items, listed"


def problems_of(fields: Fields) -> dict[str, str]:
    with pytest.raises(ApiError) as rejected:
        fields.read(Sent)
    return {each.field: each.problem for each in rejected.value.fields}


@pytest.mark.parametrize("flag", [True, "1", "true", "ON", "yes"])
@pytest.mark.parametrize("count", [7, "7", " 7 "])
def test_json_and_strings_have_the_same_values(flag: object, count: object) -> None:
    sent = Fields(json={"text": "a", "flag": flag, "count": count}).read(Sent)

    assert (sent.text, sent.flag, sent.count) == ("a", True, 7)


def test_a_repeated_field_of_a_form_is_a_list_where_texts_are_expected_and_nowhere_else() -> None:
    assert Fields(form={"text": ["a", ""]}).read(Sent).text == ["a", ""]
    repeated = Fields(form={"text": ["a"], "title": ["b", "c"], "count": ["1", "2"]})
    assert problems_of(repeated) == dict.fromkeys(("title", "count"), "occurs 2 times; send it once")


def test_null_and_empty_strings_are_missing_but_texts_may_be_empty() -> None:
    sent = Fields(json={"text": "", "count": None}, form={"title": [""]}).read(Sent)

    assert (sent.text, sent.title, sent.count) == ("", "", 0)
    assert problems_of(Fields(json={"text": None})) == {"text": "is missing"}


@pytest.mark.parametrize(
    ("json", "problems"),
    [
        ({"flag": 1, "count": True}, {"flag": "must be true or false", "count": "must be a whole number"}),
        ({"count": "9" * 19, "title": 1}, {"count": "must be a whole number", "title": "must be a string"}),
        ({"count": "", "flag": ""}, {"count": "must be a whole number", "flag": "must be true or false"}),
        ({"count": 10}, {"count": "must be at most 9"}),
        ({"text": ["a", 1, 2]}, {"text[1]": "must be a string"}),
        ({"text": {}}, {"text": "must be a string or an array of strings"}),
        ({"more": 1}, {"more": f"is not known; known are {KNOWN}"}),
        ({"": None, "more": ""}, dict.fromkeys(("body", "more"), f"is not known; known are {KNOWN}")),
        ({"listed": [{}] * 9}, {"listed[0].name": "is missing"}),
        ({"listed": [{"name": "a", "x": 1}, 1]}, {"listed[0].x": "is not known"}),
        ({"items": {}}, {"items": "must be an array"}),
    ],
)
def test_an_error_names_the_item_the_field_and_the_limit(
    json: dict[str, object], problems: dict[str, str]
) -> None:
    assert problems_of(Fields(json={"text": "a", **json})) == problems


def test_records_are_validated_only_when_they_are_reached() -> None:
    sent = Fields(json={"text": "a", "items": [{"name": "a"}, {"name": 1}, {}]}).read(Sent)

    records = read_records(sent.items, "items")

    assert next(records).name == "a"
    with pytest.raises(ApiError) as rejected:
        next(records)
    assert [each.field for each in rejected.value.fields] == ["items[1].name"]
