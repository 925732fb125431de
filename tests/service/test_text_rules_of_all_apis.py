"""The rules for texts through each API, the commands and jobs, with a model that is bad at copying.

`tests/text/protection/test_text_rules.py` has the same rules at the plan.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dragoman import Translator
from dragoman.bundle import open_bundle
from dragoman.types import Splitting
from tests.engine.routing.doubles import write_bundle
from tests.jobs.conftest import run_job
from tests.service.apis import APIS, DEEPL, GOOGLE, LIBRETRANSLATE, NATIVE, OPENAI, Api
from tests.service.conftest import Run, events_of, ready_client, router_of
from tests.service.doubles import BadTranslator, open_bad
from tests.text.protection.test_text_rules import WORDS

Texts = Sequence[str]
PAIR = {"source": "de", "target": "en"}


class Way(NamedTuple):
    """A way to have texts translated: of a page's paragraphs, `is_html`."""

    translate: Callable[[httpx.Client, Run, Texts], Texts]
    is_html: bool


def posted(client: httpx.Client, path: str, body: object) -> httpx.Response:
    response = client.post(path, json=body, headers={"Authorization": "DeepL-Auth-Key any"})
    assert response.status_code == httpx.codes.OK, response.text
    return response


def native(client: httpx.Client, _run: Run, texts: Texts) -> Texts:
    found = posted(client, "/v1/translate", {"text": texts, **PAIR}).json()["translations"]
    assert not any("failed_checks" in each for each in found)
    return [each["text"] for each in found]


def streamed(client: httpx.Client, _run: Run, texts: Texts) -> Texts:
    *segments, (_, done) = events_of(posted(client, "/v1/translate/stream", {"text": texts, **PAIR}))
    whole = [each["text"] for each in done["translations"]]
    assert all(segment["text"] in whole[segment["item"]] for _, segment in segments)
    return whole


def through(api: Api, **options: str) -> Callable[[httpx.Client, Run, Texts], Texts]:
    return lambda client, _run, texts: [api.translate(client, text, **options) for text in texts]


def command(_client: httpx.Client, run: Run, texts: Texts) -> Texts:
    finished = run("translate", "--source", "de", "--target", "en", stdin="\n".join(texts).encode())
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.decode().split("\n")[: len(texts)]


def batch(suffix: str) -> Callable[[httpx.Client, Run, Texts], Texts]:
    def translate(_client: httpx.Client, run: Run, texts: Texts) -> Texts:
        Path("in" + suffix).write_text("\n".join(texts), encoding="utf-8")
        options = ("--source", "de", "--target", "en", "--force")
        finished = run("batch", "in" + suffix, "-o", "out" + suffix, *options)
        assert finished.returncode == 0, finished.stderr
        return Path("out" + suffix).read_text(encoding="utf-8").split("\n")

    return translate


def job(suffix: str) -> Callable[[httpx.Client, Run, Texts], Texts]:
    def translate(client: httpx.Client, _run: Run, texts: Texts) -> Texts:
        done = run_job(client, "\n".join(texts).encode(), f"in{suffix}", **PAIR)
        assert (done["state"], done["progress"]["failed"]) == ("done", 0)
        return client.get(f"/v1/jobs/{done['id']}/result").text.split("\n")

    return translate


WAYS = {
    "native": Way(native, is_html=False),
    "native stream": Way(streamed, is_html=False),
    "libretranslate": Way(through(LIBRETRANSLATE), is_html=False),
    "libretranslate html": Way(through(LIBRETRANSLATE, format="html"), is_html=True),
    "deepl": Way(through(DEEPL), is_html=False),
    "deepl html": Way(through(DEEPL, tag_handling="html"), is_html=True),
    "google": Way(through(GOOGLE), is_html=False),
    "google html": Way(through(GOOGLE, format="html"), is_html=True),
    "openai": Way(through(OPENAI), is_html=False),
    "command": Way(command, is_html=False),
    "batch": Way(batch(".txt"), is_html=False),
    "batch html": Way(batch(".html"), is_html=True),
    "job": Way(job(".txt"), is_html=False),
    "job html": Way(job(".html"), is_html=True),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Of a server whose only model copies badly."""
    bundle = write_bundle(tmp_path_factory.mktemp("models") / "tiny", "tiny-de-en")
    bad = BadTranslator(open_bundle(bundle).manifest)
    with router_of(bad, bundle) as router, ready_client(router) as found:
        yield found


@pytest.fixture
def run_badly(run_engine: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The commands with this model."""
    monkeypatch.setattr(Translator, "open", open_bad)
    return run_engine


NUMBERS = st.integers(100, 10**8).map(str)
WORDINGS = st.lists(
    st.sampled_from([*WORDS, "{app}", "{app}", "{app}"]) | NUMBERS, min_size=2, max_size=7
).filter(lambda words: any(word in WORDS for word in words))
MANY_WORDINGS = st.lists(WORDINGS, min_size=4, max_size=8)
QUICK = [Phase.explicit, Phase.generate]
"""Shrinking would have files translated for minutes."""
ANY_FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=4, phases=QUICK, suppress_health_check=ANY_FIXTURES)
@given(wordings=MANY_WORDINGS)
def test_rules_hold_for_random_sentences(
    client: httpx.Client, run_badly: Run, way: str, wordings: list[list[str]]
) -> None:
    texts = [f"Wir {' '.join(words)}." for words in wordings]
    sent = texts
    if WAYS[way].is_html:
        sent = [f"<p>{text.replace('{app}', '<code>ls</code>')}</p>" for text in texts]

    translated = WAYS[way].translate(client, run_badly, sent)

    if WAYS[way].is_html:  # an element is translated as a placeholder is
        assert all(text.startswith("<p>") and text.endswith("</p>") for text in translated)
        translated = [text[3:-4].replace("<code>ls</code>", "{app}") for text in translated]
    assert translated == native(client, run_badly, texts)
    for text, found in zip(texts, translated, strict=True):
        assert found.count("{app}") == text.count("{app}")
        assert not re.search(r"\w\{app|app\}\w| \.", found)
        assert Counter(re.findall(r"\d+", found)) == Counter(re.findall(r"\d+", text))


TOUCHING = {
    "Klicken Sie %1$shier%2$s.": r"(?=.*%1\$s\w+%2\$s)[^%]*%1\$s[^%]*%2\$s[^%]*",
    "Das ist *wichtig* heute.": r"[^*]*\*\w+\*[^*]*",
    "Erste Zeile\\nDie Datei": None,
    "Erste Zeile<br>Die Datei": None,
}
"""Texts, and what their translations are like; without such a pattern, their lines are texts."""


@pytest.mark.parametrize("way", [name for name, way in WAYS.items() if not way.is_html])
def test_marks_that_touch_words_and_line_breaks_are_kept(
    client: httpx.Client, run_badly: Run, way: str
) -> None:
    alone = native(client, run_badly, ["Erste Zeile", "Die Datei"])

    translated = WAYS[way].translate(client, run_badly, list(TOUCHING))

    for (text, pattern), found in zip(TOUCHING.items(), translated, strict=True):
        if pattern is None:
            [separator] = re.findall(r"<br>|\\n", text)
            assert found == separator.join(alone)
        else:
            assert re.fullmatch(pattern, found)


LINKS = "<p><a>Haus</a><a>Die Hunde</a></p>"
MARKED = "<p>Wir <b>öffnen <i>die</i> Datei</b> {app}.<br>Sehr <!-- c -->nicht &amp; Haus</p>"


@pytest.mark.parametrize("way", [name for name, way in WAYS.items() if way.is_html])
def test_touching_links_part_and_marks_are_there_once_and_nest(
    client: httpx.Client, run_badly: Run, way: str
) -> None:
    house, dogs = native(client, run_badly, ["Haus", "Die Hunde"])

    links, marked = WAYS[way].translate(client, run_badly, [LINKS, MARKED])

    assert links == f"<p><a>{house}</a><a>{dogs}</a></p>"
    assert re.fullmatch(r"<p>.*<b>.*<i>.*</i>.*</b>.*<br>.*</p>", marked)
    assert Counter(re.findall(r"<[^>]+>|\{app\}", marked)) == Counter(re.findall(r"<[^>]+>|\{app\}", MARKED))
    assert html.unescape(marked).count("&") == 1


WITHOUT_WORDS = [" ", "\n", "\\n", "<br>", "{app}", "{n, plural, one {} other {{app}}}"]
OPTIONS: list[tuple[Api, dict[str, str]]] = [
    *[(NATIVE, {"splitting": splitting.value}) for splitting in Splitting],
    *[(DEEPL, {"split_sentences": splitting}) for splitting in ("0", "1", "nonewlines")],
    *[(api, {}) for api in APIS],
]


@pytest.mark.parametrize(("api", "options"), OPTIONS)
def test_texts_without_words_stay_however_a_request_has_them_split(
    client: httpx.Client, api: Api, options: dict[str, str]
) -> None:
    for text in WITHOUT_WORDS:
        assert api.translate(client, text, **options) == text


@pytest.mark.parametrize("splitting", Splitting)
def test_texts_without_words_take_no_other_text_of_a_request_with_them(
    client: httpx.Client, run_badly: Run, splitting: Splitting
) -> None:
    [dogs] = native(client, run_badly, ["Die Hunde"])
    texts = [*WITHOUT_WORDS, "", "Die Hunde"]
    body = {"text": texts, "splitting": splitting, **PAIR}
    found = posted(client, "/v1/translate", body).json()
    _, streamed_last = events_of(posted(client, "/v1/translate/stream", body))[-1]
    for answer in (found, streamed_last):
        assert [each["text"] for each in answer["translations"]] == [*texts[:-1], dogs]


@pytest.mark.parametrize("way", [name for name, way in WAYS.items() if way.is_html])
def test_paragraphs_without_words_stay(client: httpx.Client, run_badly: Run, way: str) -> None:
    [dogs] = native(client, run_badly, ["Die Hunde"])
    for text in ("", " ", "\\n", "<br>", "{app}"):
        [translated] = WAYS[way].translate(client, run_badly, [f"<p>Die Hunde</p><p>{text}</p>"])
        assert translated == f"<p>{dogs}</p><p>{text}</p>"


FLAGGED = "Der Zusatz sehr."
"""Its translation has a number that it has not, after all tries."""


def test_a_failed_check_is_in_the_native_body_and_in_no_other(client: httpx.Client) -> None:
    texts = [FLAGGED, "Das Haus."]
    first, second = posted(client, "/v1/translate", {"text": texts, **PAIR}).json()["translations"]
    stream = events_of(posted(client, "/v1/translate/stream", {"text": FLAGGED, **PAIR}))
    [last] = stream[-1][1]["translations"]

    assert [failed["check"] for failed in first["failed_checks"]] == ["numbers"]
    assert "54321 is not in the source" in first["failed_checks"][0]["problem"]
    assert "failed_checks" not in second
    assert last["failed_checks"] == first["failed_checks"]
    for api in APIS:
        assert api.translate(client, FLAGGED) == first["text"]


def test_commands_count_what_failed_a_check_and_end_with_its_status(run_badly: Run) -> None:
    Path("in.txt").write_text(f"{FLAGGED}\nDas Haus.\n{FLAGGED}", encoding="utf-8")

    finished = run_badly("batch", "in.txt", "-o", "out.txt", "--source", "de", "--target", "en")
    lines = run_badly("translate", "--source", "de", "--target", "en", stdin=FLAGGED.encode())

    assert (finished.returncode, lines.returncode) == (1, 1)
    assert b"2 failed a check and should be reviewed" in finished.stderr
    errors = Path("out.txt.errors.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(error)["place"] for error in errors] == ["line 1", "line 3"]
    assert b"check numbers" in lines.stderr
    assert lines.stdout.decode() == Path("out.txt").read_text(encoding="utf-8").split("\n")[0]


def test_a_job_counts_what_failed_a_check(client: httpx.Client) -> None:
    done = run_job(client, f"{FLAGGED}\nDas Haus.".encode(), "in.txt", **PAIR)

    assert (done["state"], done["progress"]["failed"], done["progress"]["flagged"]) == ("done", 0, 1)
    [error] = client.get(f"/v1/jobs/{done['id']}/errors").text.splitlines()
    assert json.loads(error)["place"] == "line 1"
