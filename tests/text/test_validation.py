import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import InputError
from dragoman.text.validation import check_text


@given(st.text())
def test_every_text_that_has_utf8_passes(text: str) -> None:
    check_text(text, None)


@pytest.mark.parametrize("code_point", [0xD800, 0xDBFF, 0xDC00, 0xDFFF])
def test_a_surrogate_is_refused_with_its_position(code_point: int) -> None:
    with pytest.raises(InputError) as caught:
        check_text(f"😀ab{chr(code_point)}c", 7)

    assert caught.value.field == "text"
    assert caught.value.item == 7
    assert f"U+{code_point:04X} at character 3" in caught.value.problem


def test_a_pair_of_surrogates_is_two_of_them() -> None:
    with pytest.raises(InputError, match=r"U\+D83D at character 0"):
        check_text("\ud83d\ude00", None)


def test_without_a_list_the_error_names_no_item() -> None:
    with pytest.raises(InputError) as caught:
        check_text("\udcff", None)

    assert caught.value.item is None
