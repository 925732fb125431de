"""docs/guides/observing.md keeps step with the metrics and the log's lines."""

import io
import re
from pathlib import Path

from service.server_telemetry import Telemetry
from service.telemetry.logs import configure_logs
from service.translation.inference import Inference
from tests.routing.doubles import until
from tests.service.conftest import router_of
from tests.service.doubles import DoubleTranslator
from tests.telemetry.conftest import Observe

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "observing.md").read_text(encoding="utf8")


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
    observer.workers.webhooks.add("delivered")
    with router_of(translator, models_dir / "tiny") as router:
        families = observer.metrics(Inference(router, 1.0, ())).families()
    found = {
        family.name: (family.type, {name for sample in family.samples for name in sample.labels} - {"le"})
        for family in families
        if family.name.startswith("dragoman_")
    }

    # Their labels need an engine: tests/telemetry/test_deploy.py has one.
    of_engine = {"dragoman_segments", "dragoman_segments_finished", "dragoman_open_models"}
    assert documented().keys() == found.keys()
    assert {name: of for name, of in documented().items() if name not in of_engine} == {
        name: of for name, of in found.items() if name not in of_engine
    }


def test_the_page_shows_a_line_as_it_is(observe: Observe, logged: io.StringIO) -> None:
    configure_logs("text", "info", logged)
    observe(Telemetry()).post("/v1/translate", json={"text": "Hallo"})
    until(lambda: "service.access" in logged.getvalue())

    (shown,) = re.findall(r"^    (INFO: service\.access: .*)$", PAGE, re.MULTILINE)
    names = [re.findall(r" (\w+)=", line) for line in (shown, logged.getvalue().splitlines()[-1])]
    assert names[0] == names[1]
