import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import InputError
from dragoman.text.validity import check_text


@given(st.text())
def test_every_text_that_has_utf8_passes(text: str) -> None:
    check_text(text, None)


@pytest.mark.parametrize("surrogate", ["\ud800", "\udbff", "\udc00", "\udfff", "\ud83d\ude00"])
def test_a_surrogate_is_refused_with_its_position(surrogate: str) -> None:
    with pytest.raises(InputError) as caught:
        check_text("😀ab" + surrogate + "c", 7)

    assert caught.value.field == "text"
    assert caught.value.item == 7
    assert f"U+{ord(surrogate[0]):04X} at character 3" in caught.value.problem


def test_without_a_list_the_error_names_no_item() -> None:
    with pytest.raises(InputError) as caught:
        check_text("\udcff", None)

    assert caught.value.item is None
