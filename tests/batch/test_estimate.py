"""What is counted before a job is begun."""

from pathlib import Path

from dragoman.types import Pair
from service.batch.estimate import SAMPLE_ENTRIES, count_contents, measure_rate
from tests.batch.doubles import UpperCase, lines_file


def test_entries_that_occur_again_are_counted_as_duplicates_across_files(tmp_path: Path) -> None:
    files = [
        lines_file(tmp_path, "a.txt", ["eins", "zwei", "eins"]),
        lines_file(tmp_path, "b.txt", ["zwei. drei."]),
        lines_file(tmp_path, "c.txt", ["eins"], Pair("nl", "en")),
    ]

    contents = count_contents(files)

    assert (contents.num_files, contents.num_entries, contents.num_characters) == (3, 5, 27)
    assert (contents.num_distinct, contents.num_duplicates, contents.distinct_characters) == (4, 1, 23)
    assert len(contents.sample) == 4


def test_a_sample_is_drawn_from_the_whole_of_the_files(tmp_path: Path) -> None:
    lines = [f"satz {number}" for number in range(5000)]

    contents = count_contents([lines_file(tmp_path, "a.txt", lines)])

    drawn = sorted(int(entry.text.split()[1]) for _, entry in contents.sample)
    assert len(set(drawn)) == SAMPLE_ENTRIES
    # With 256 of 5000 drawn alike, a fifth without any would come about once in 10**25 times.
    assert {number // 1000 for number in drawn} == {0, 1, 2, 3, 4}


def test_the_rate_is_that_of_the_sample(tmp_path: Path) -> None:
    contents = count_contents([lines_file(tmp_path, "a.txt", [f"satz {number}" for number in range(300)])])
    translator = UpperCase()

    assert measure_rate(contents, translator) > 0
    assert translator.requested == [contents.sample[0][1].text, *(entry.text for _, entry in contents.sample)]


def test_nothing_to_translate_has_no_rate(tmp_path: Path) -> None:
    assert measure_rate(count_contents([lines_file(tmp_path, "a.txt", [])]), UpperCase()) == 0.0
