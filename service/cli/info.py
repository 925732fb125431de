"""`dragoman info`: versions and a bundle's properties."""

from dragoman.bundle import read_bundle
from dragoman.search_model import find_kernels
from service.cli import options as cli_options
from service.cli.tables import print_facts, print_versions
from service.models.engine import find_models, translator_options
from service.settings.settings import SettingsError, load_settings

app = cli_options.new_command()


@app.command()
def info(*, model: cli_options.ModelOption = None, config: cli_options.ConfigOption = None) -> None:
    """Show the installed versions and the properties of each bundle."""
    settings = load_settings(config, {"model": model})
    print_versions()
    folders = find_models(settings)
    if not folders:
        raise SettingsError(f"model: there is none in {settings.model_folders}")
    for folder in folders.values():
        bundle = read_bundle(folder)
        kernels, why_not_native = find_kernels(bundle, translator_options(settings).session, settings.kernels)
        reason = why_not_native and f", as the engine's own kernels cannot run it: {why_not_native}"
        print_facts(bundle, f"{kernels}{reason}")
