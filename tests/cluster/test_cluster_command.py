"""`dragoman batch --engine ray`: what is wished for holds on the cluster's nodes too."""

from pathlib import Path

import pytest

from dragoman.decoding.options import DecodingOptions
from service.batch.job_directory import StartMode
from service.batch.planning import LanguageOptions
from service.batch.texts import OnFailure
from service.cli.batch_job import BatchArguments, run_batch
from service.cluster import ClusterOptions
from service.protection.modes import PlaceholderMode
from service.settings import Settings
from tests.service.conftest import forget_settings

pytestmark = [
    pytest.mark.usefixtures("two_cpus"),
    # Ray's of its own settings, and of partitions fewer than workers.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray"),
    pytest.mark.filterwarnings("ignore::UserWarning:ray"),
]
TINY = Path(__file__).parents[1] / "tiny"
ON_RAY = ClusterOptions(None, 1, 1)


@pytest.mark.parametrize(("in_settings", "as_a_wish"), [("second", None), (None, "second")])
def test_the_model_that_is_named_translates_on_nodes_as_it_does_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_settings: str | None, as_a_wish: str | None
) -> None:
    forget_settings(monkeypatch)
    for name, bundle in (
        ("first", "bundle-int4"),
        ("second", "bundle-int8"),
    ):  # of two alike the first is best
        (tmp_path / "models" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "models" / name).symlink_to(TINY / bundle)
    settings = Settings(models_dir=tmp_path / "models", model=in_settings, replicas=1)
    source = tmp_path / "in.txt"
    source.write_text("Guten Morgen!\nGute Nacht!\n", encoding="utf8")

    def status_of(output: str, cluster: ClusterOptions | None) -> int:
        options = BatchArguments(
            (str(source),),
            str(tmp_path / output),
            LanguageOptions("de", "en", model=as_a_wish),
            DecodingOptions(return_scores=False),
            OnFailure.SOURCE,
            StartMode.NEW,
            PlaceholderMode.AUTO,
            cluster,
        )
        return run_batch(options, settings)

    assert status_of("alone.txt", None) == 0
    assert status_of("together.txt", ON_RAY) == 0
    assert (tmp_path / "together.txt").read_bytes() == (tmp_path / "alone.txt").read_bytes()
