"""The dashboard and the alerts are about metrics that there are."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.paths import ROOT

DEPLOY = ROOT / "deploy"
DASHBOARD = DEPLOY / "grafana" / "dragoman.json"
ALERTS = DEPLOY / "prometheus" / "alerts.yml"
BY_PROMETHEUS = {"up"}
"""Made by Prometheus itself of every target."""

_METRIC = re.compile(r"\b(?:(?:dragoman|process)_\w+|up)\b")
_SELECTED = re.compile(r"(\w+)\{([^}]*)\}")
_MATCHER = re.compile(r"(\w+)\s*=~?\s*\"([^\"]*)\"")
_GROUPED = re.compile(r"by \(([^)]*)\)")


@pytest.fixture(scope="module")
def exposed(engine_client: httpx.Client) -> dict[str, set[str]]:
    """Names of samples and of their labels, after everything has happened once."""
    engine_client.post("/v1/translate", json={"text": "ab"})
    engine_client.post("/v1/translate", json={})
    families = list(text_string_to_metric_families(engine_client.get("/metrics").text))
    samples: dict[str, set[str]] = {}
    for family in families:
        names = {sample.name for sample in family.samples} or {family.name + "_total"}
        for name in names:
            samples.setdefault(name, set())
        for sample in family.samples:
            samples[sample.name].update(sample.labels)
    return samples


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text(encoding="utf8"))["panels"]
    return found


def rules() -> list[dict[str, Any]]:
    content = yaml.safe_load(ALERTS.read_text(encoding="utf8"))
    return [rule for group in content["groups"] for rule in group["rules"]]


def expressions() -> Iterator[str]:
    for panel in panels():
        for target in panel["targets"]:
            yield target["expr"]
    for rule in rules():
        yield rule["expr"]


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_every_metric_in_the_dashboards_is_exposed(expression: str, exposed: dict[str, set[str]]) -> None:
    names = set(_METRIC.findall(expression))

    assert names
    assert names - BY_PROMETHEUS <= exposed.keys()


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_every_label_in_the_dashboards_exists(expression: str, exposed: dict[str, set[str]]) -> None:
    of_scrape = {"job", "instance"}
    for name, matchers in _SELECTED.findall(expression):
        requested = {label for label, _ in _MATCHER.findall(matchers)} - of_scrape
        assert requested <= exposed.get(name, set()), name
    metrics = set(_METRIC.findall(expression)) - BY_PROMETHEUS
    for labels in _GROUPED.findall(expression):
        for label in {label.strip() for label in labels.split(",")} - of_scrape:
            assert all(label in exposed[name] for name in metrics), label


def test_every_metric_of_dragomans_own_is_on_the_dashboard(exposed: dict[str, set[str]]) -> None:
    shown = {name for expression in expressions() for name in _METRIC.findall(expression)}
    parts = ("_bucket", "_count", "_sum")

    hidden = {name for name in exposed if name.startswith("dragoman_")} - shown
    assert {name for name in hidden if not name.endswith(parts)} == {"dragoman_build_info"}


def test_panels_do_not_overlap_and_have_their_own_numbers() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {
            (column, row)
            for column in range(place["x"], place["x"] + place["w"])
            for row in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(column for column, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in panels()}) == len(panels())


def test_every_alert_says_how_bad_it_is_and_what_to_do() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert {"summary", "description"} <= rule["annotations"].keys()
    assert len({rule["alert"] for rule in rules()}) == len(rules())


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool, of Prometheus, is not installed")
def test_promtool_accepts_the_alerts() -> None:
    subprocess.run(["promtool", "check", "rules", str(ALERTS)], check=True)  # noqa: S607 -- from the path
