"""Counts add up over threads; what metrics say, who may read them, and what they never say."""

import io
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from dragoman.scheduling.metrics import SegmentOutcome, SegmentRecord
from dragoman.types import FinishReason, Method, SearchKind
from service.http.errors import ErrorKind
from service.server.telemetry import ServerMetrics, Telemetry
from service.telemetry.counters import EngineMetricsCollector, Histogram, LabeledCounter
from service.telemetry.logs import configure_logs
from service.translation.inference import Inference
from tests.engine.routing.doubles import until
from tests.paths import ROOT
from tests.service.conftest import router_of
from tests.service.doubles import DoubleTranslator
from tests.service.telemetry.conftest import Exposed, Observe, read, value

BOUNDS = (1.0, 2.0, 5.0)
MOST_PID = 2**22
"""Largest id of a process."""
VALUES = st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 5.0, 5.5, 100.0]), max_size=30)


def distribution(values: list[float]) -> Histogram:
    made = Histogram(BOUNDS)
    for each in values:
        made.add(each)
    return made


@given(VALUES)
def test_a_bucket_counts_all_values_that_are_no_larger_than_its_bound(values: list[float]) -> None:
    ordered = sorted(values)
    expected = {str(bound): sum(value <= bound for value in ordered) for bound in BOUNDS}

    assert dict(distribution(values).buckets()) == expected | {"+Inf": len(values)}
    assert distribution(values).total == sum(values)


@given(VALUES, VALUES)
def test_distributions_add_up(some: list[float], others: list[float]) -> None:
    both = distribution(some)
    both.merge(distribution(others))

    assert both.buckets() == distribution(some + others).buckets()
    assert both.total == sum(some) + sum(others)


def test_counts_add_up() -> None:
    counts, others = LabeledCounter(), LabeledCounter()
    counts.add("a", "b")
    others.add("a", "b", amount=2)
    others.add("c", "d")
    counts.merge(others)

    assert counts.by_labels == {("a", "b"): 3, ("c", "d"): 1}


def in_a_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_only_the_counts_of_a_thread_outlive_it() -> None:
    engine_metrics = EngineMetricsCollector()
    for _ in range(50):
        in_a_thread(engine_metrics.cache_hit)
        in_a_thread(lambda: engine_metrics.step_done(3, 2, 10, 0.001))

    total = engine_metrics.total()
    assert (total.cache_hit, total.capacity_row_steps) == (50, 500)
    assert total.step_rows.total == 150
    assert total.step_rows.buckets()[-1] == ("+Inf", 50)
    in_a_thread(engine_metrics.cache_hit)
    assert len(engine_metrics._by_thread) <= 1  # though nobody has asked in the meantime


def test_counts_of_concurrent_threads_are_all_kept() -> None:
    engine_metrics = EngineMetricsCollector()

    def reject() -> None:
        for _ in range(1000):
            engine_metrics.rejected(2)

    with ThreadPoolExecutor(4) as threads:
        for _ in range(4):
            threads.submit(reject)
        engine_metrics.total()  # while they count

    assert engine_metrics.total().refused == 8000


def passage(method: Method, ending: SegmentOutcome, reason: FinishReason | None) -> SegmentRecord:
    return SegmentRecord(SearchKind(1, method=method), ending, 1.0, 2.0, 3.0, 10, 20, reason)


def test_tokens_are_those_of_translations_that_were_found() -> None:
    engine_metrics = EngineMetricsCollector()
    engine_metrics.segments_left(
        [
            passage(Method.SEARCH, SegmentOutcome.DONE, FinishReason.STOP),
            passage(Method.SAMPLE, SegmentOutcome.DONE, FinishReason.LENGTH),
            passage(Method.SCORE, SegmentOutcome.DONE, FinishReason.STOP),  # a target that was given
            passage(Method.SEARCH, SegmentOutcome.CANCELLED, None),
        ]
    )

    total = engine_metrics.total()
    assert (total.source_tokens, total.target_tokens) == (20, 40)
    assert total.finished.by_labels == {("stop",): 1, ("length",): 1}
    assert total.segments.by_labels == {
        ("search", "done"): 1,
        ("sample", "done"): 1,
        ("score", "done"): 1,
        ("search", "cancelled"): 1,
    }


def test_waits_of_alignment_are_not_queue_time() -> None:
    engine_metrics = EngineMetricsCollector()
    engine_metrics.segments_joined(SearchKind(1, method=Method.ALIGN), [0.5])
    assert engine_metrics.total().queue_s.total == 0

    engine_metrics.segments_joined(SearchKind(4), [0.5, 0.25])
    assert engine_metrics.total().queue_s.total == 0.75


SECRETS = ("geheim", "Zwiebel", "xx-unserved", "nowhere")


def grown(before: Exposed, after: Exposed, name: str, **labels: str) -> float:
    return value(after, name, **labels) - value(before, name, **labels)


def test_a_translation_is_counted_from_its_request_to_its_tokens(engine_client: httpx.Client) -> None:
    before = read(engine_client)
    response = engine_client.post("/v1/translate", json={"text": "ab cd ef", "beam_size": 1})
    assert response.status_code == 200
    after = read(engine_client)

    labels = {"api": "native", "route": "/v1/translate", "status": "2xx"}
    assert grown(before, after, "dragoman_request_seconds_count", **labels) == 1
    assert grown(before, after, "dragoman_request_seconds_sum", **labels) > 0
    assert grown(before, after, "dragoman_characters_total", api="native") == len("ab cd ef")
    assert grown(before, after, "dragoman_queue_seconds_count") == 1
    assert grown(before, after, "dragoman_first_token_seconds_count") == 1
    assert grown(before, after, "dragoman_segments_total", method="search", ending="done") == 1
    assert grown(before, after, "dragoman_source_tokens_total") > 2
    num_target_tokens = grown(before, after, "dragoman_target_tokens_total")
    assert num_target_tokens >= 1
    finished = sum(
        grown(before, after, "dragoman_segments_finished_total", reason=reason)
        for reason in ("stop", "length")
    )
    assert finished == 1
    until(lambda: grown(before, read(engine_client), "dragoman_step_rows_sum") >= num_target_tokens)
    assert value(after, "dragoman_step_capacity_rows_total") >= value(after, "dragoman_step_rows_sum")


def test_a_cached_segment_is_counted_and_not_searched(engine_client: httpx.Client) -> None:
    body = {"text": "gh ij"}
    engine_client.post("/v1/translate", json=body)
    before = read(engine_client)
    engine_client.post("/v1/translate", json=body)
    after = read(engine_client)

    assert grown(before, after, "dragoman_segments_from_cache_total") == 1
    assert grown(before, after, "dragoman_queue_seconds_count") == 0


def test_the_servers_state_is_reported(engine_client: httpx.Client) -> None:
    exposed = read(engine_client)

    assert value(exposed, "dragoman_ready") == 1
    assert value(exposed, "dragoman_models", state="open") == 1
    assert value(exposed, "dragoman_models", state="closed") == 0
    assert value(exposed, "dragoman_models_memory_bytes") > 10**6
    assert value(exposed, "dragoman_memory_budget_bytes") == 10**10
    assert value(exposed, "dragoman_queue_size") == 4096
    assert value(exposed, "process_resident_memory_bytes") > 10**6
    assert value(exposed, "dragoman_requests_in_flight") == 1  # this one


def test_a_request_is_in_flight_until_it_is_answered(observe: Observe, translator: DoubleTranslator) -> None:
    client = observe(Telemetry())
    with httpx.Client(base_url=client.base_url, timeout=0.3) as impatient, pytest.raises(httpx.ReadTimeout):
        impatient.post("/v1/translate", json={"text": "wait"})
    until(lambda: value(read(client), "dragoman_requests_in_flight") == 1)

    labels = {"api": "native", "route": "/v1/translate", "status": "4xx"}
    assert value(read(client), "dragoman_request_seconds_count", **labels) == 1
    assert not translator.released.is_set()


def test_every_rejection_is_counted_by_its_reason(observe: Observe) -> None:
    client = observe(Telemetry(), max_body_bytes=200, rate_limit="5/hour")
    for body, reason in (
        (b'{"text": "full"}', ErrorKind.OVERLOADED),
        (b'{"text": "late"}', ErrorKind.TIMEOUT),
        (b'{"text": "explode"}', ErrorKind.INTERNAL),
        (b'{"text": "unusable"}', ErrorKind.INVALID_INPUT),
        (b'{"text": ', ErrorKind.MALFORMED),
        (b'{"text": "' + b"a" * 300 + b'"}', ErrorKind.TOO_LARGE),
        (b'{"text": "a"}', ErrorKind.RATE_LIMITED),
    ):
        before = read(client)
        response = client.post("/v1/translate", content=body, headers={"Content-Type": "application/json"})

        assert response.json()["error"]["type"] == reason
        after = read(client)
        changed = {
            series
            for series, number in after.items()
            if "rejections" in series[0] and number != before.get(series)
        }
        assert changed == {("dragoman_rejections_total", (("reason", reason.value),))}


def test_clients_cannot_make_up_series(observe: Observe) -> None:
    client = observe(Telemetry())
    client.get("/geheim?q=Zwiebel")
    client.request("GEHEIM", "/v1/translate")
    client.post("/v1/translate", json={"text": "Zwiebel", "source": "xx-unserved", "model": "nowhere"})
    client.post(
        "/v1/translate",
        json={"text": "explode Zwiebel"},
        headers={"X-API-Key": "geheim", "X-Request-ID": "geheim"},
    )
    read(client)  # which is a request of its own
    before = set(read(client))
    for number in range(20):
        client.get(f"/geheim/{number}")
        client.request(f"GEHEIM{number}", "/v1/translate")

    exposed = client.get("/metrics").text
    assert set(read(client)) == before
    assert not [secret for secret in SECRETS if secret.lower() in exposed.lower()]


def test_each_metric_family_appears_once_with_its_help(engine_client: httpx.Client) -> None:
    families = list(text_string_to_metric_families(engine_client.get("/metrics").text))

    names = [family.name for family in families]
    assert len(names) == len(set(names))
    assert all(family.documentation and family.type != "unknown" for family in families)


@pytest.mark.parametrize(("access", "status"), [("open", 200), ("off", 404)])
def test_anybody_can_read_metrics_unless_they_are_off(observe: Observe, access: str, status: int) -> None:
    client = observe(Telemetry(), metrics=access)
    response = client.get("/metrics")

    assert response.status_code == status
    plain = response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    is_documented = "/metrics" in client.get("/openapi.json").json()["paths"]
    assert plain is is_documented is (access == "open")


PAGE = (ROOT / "docs" / "guides" / "observing.md").read_text(encoding="utf8")


def documented() -> dict[str, tuple[str, set[str]]]:
    """Kind and labels of each metric on the page."""
    rows = re.findall(r"^\| `(dragoman_\w+)` \| (\w+) \| ([^|]*)\|", PAGE, re.MULTILINE)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


def test_every_metric_is_on_the_page_with_its_kind_and_labels(
    translator: DoubleTranslator, models_dir: Path
) -> None:
    observer = Telemetry()
    # One of each, as a family without samples does not tell its labels.
    observer.requests.count("native", "/", "2xx", 1.0)
    observer.requests.rejections.add("timeout")
    observer.requests.characters.add("native")
    observer.workers.beat("sweep")
    observer.workers.restarts.add("sweep")
    observer.workers.jobs.add("done")
    with router_of(translator, models_dir / "tiny") as router:
        families = observer.metrics(Inference(router, 1.0, ())).families()
    found = {
        family.name: (family.type, {name for sample in family.samples for name in sample.labels} - {"le"})
        for family in families
        if family.name.startswith("dragoman_")
    }

    # Their labels need an engine: tests/service/telemetry/test_deploy.py has one.
    of_engine = {"dragoman_segments", "dragoman_segments_finished", "dragoman_open_models"}
    assert documented().keys() == found.keys()
    assert {name: of for name, of in documented().items() if name not in of_engine} == {
        name: of for name, of in found.items() if name not in of_engine
    }


def test_counters_of_processes_add_up_and_stay_and_gauges_end_with_their_process(
    translator: DoubleTranslator, models_dir: Path, tmp_path: Path
) -> None:
    with router_of(translator, models_dir / "tiny") as router:

        def start(number: int, num_requests: int) -> ServerMetrics:
            observer = Telemetry()
            observer.share(tmp_path, number)
            for _ in range(num_requests):
                observer.requests.count("native", "/", "2xx", 1.0)
            return observer.metrics(Inference(router, 1.0, ()))

        processes = [start(0, 3), start(1, 4)]
        first, both = (process.exposition().decode() for process in processes)
        ended = tmp_path / "1.json"
        ended.write_text(re.sub(r"^\[\d+", f"[{MOST_PID + 1}", ended.read_text()))
        after = processes[0].exposition().decode()
        replaced = start(1, 2).exposition().decode()

    count = 'dragoman_request_seconds_count{api="native",route="/",status="2xx"} '
    assert [float(text.partition(count)[2].split()[0]) for text in (first, both, after, replaced)] == [
        3, 7, 7, 9,
    ]  # fmt: skip
    assert [re.findall(r'dragoman_ready\{process="(\d)"\}', text) for text in (both, after, replaced)] == [
        ["0", "1"], ["0"], ["0", "1"],
    ]  # fmt: skip


def test_the_page_shows_a_line_as_it_is(observe: Observe, logged: io.StringIO) -> None:
    configure_logs("text", "info", logged)
    observe(Telemetry()).post("/v1/translate", json={"text": "Hallo"})
    until(lambda: "service.access" in logged.getvalue())

    (shown,) = re.findall(r"^    (INFO: service\.access: .*)$", PAGE, re.MULTILINE)
    names = [re.findall(r" (\w+)=", line) for line in (shown, logged.getvalue().splitlines()[-1])]
    assert names[0] == names[1]
