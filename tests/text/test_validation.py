import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import InputError
from dragoman.text.validation import check_text


@given(st.text())
def test_every_text_that_has_utf8_passes(text: str) -> None:
    check_text(text, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        *((f"😀ab{chr(code)}c", f"U+{code:04X} at character 3") for code in (0xD800, 0xDBFF, 0xDC00, 0xDFFF)),
        ("\ud83d\ude00", "U+D83D at character 0"),  # a pair of them is two
    ],
)
@pytest.mark.parametrize("item", [7, None])
def test_a_surrogate_is_rejected_with_its_position_and_item(
    text: str, problem: str, item: int | None
) -> None:
    with pytest.raises(InputError) as caught:
        check_text(text, item)

    assert (caught.value.field, caught.value.item) == ("text", item)
    assert problem in caught.value.problem
