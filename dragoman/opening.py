"""What a translator is made of besides its graphs: read from a bundle, or chosen for where it runs."""

from dragoman.batching.policy import Capacity
from dragoman.batching.scheduler import SchedulerOptions
from dragoman.bundle import Bundle
from dragoman.contract import SHORTLIST_PRECISIONS
from dragoman.cpus import available_cpus
from dragoman.errors import BundleError
from dragoman.graphs.session import SessionOptions
from dragoman.shortlist import SHORTLIST_FILE, Shortlist
from dragoman.text.tokenise import Tokenizer

GPU_CAPACITY = Capacity(max_rows=1024, max_sources=256, budget_tokens=32768, encoder_tokens=8192)
"""A guess, never measured: a step of few rows leaves most of a GPU idle."""


def scheduler_options(session: SessionOptions, replicas: int | None, queue_size: int) -> SchedulerOptions:
    """How much runs and waits.

    Args:
        session: where graphs run.
        replicas: None for one on a GPU, else for as many as there are CPUs for their threads.
        queue_size: segments of submitted texts that may wait.
    """
    if replicas is None:
        replicas = 1 if session.is_gpu else max(1, available_cpus() // session.threads)
    return SchedulerOptions(replicas, queue_size, GPU_CAPACITY if session.is_gpu else Capacity())


def open_tokenizers(bundle: Bundle) -> tuple[Tokenizer, Tokenizer]:
    """The source's and the target's.

    Raises:
        BundleError: one has another number of pieces than the model, so that its ids would mean nothing.
    """
    manifest, sizes = bundle.manifest, bundle.manifest.sizes
    source = Tokenizer.load(bundle.file(manifest.source_tokenizer))
    target = Tokenizer.load(bundle.file(manifest.target_tokenizer))
    found = {
        manifest.source_tokenizer: (source.vocab_size, sizes.source_vocab),
        manifest.target_tokenizer: (target.vocab_size, sizes.target_vocab),
    }
    problems = [
        f"{name} has {has} pieces, the manifest says {wanted}"
        for name, (has, wanted) in found.items()
        if has != wanted
    ]
    if problems:
        raise BundleError(str(bundle.path), tuple(problems))
    return source, target


def open_shortlist(bundle: Bundle) -> Shortlist | None:
    """The bundle's, if it has one.

    Raises:
        BundleError: it has one that its graphs cannot use.
    """
    manifest = bundle.manifest
    if SHORTLIST_FILE not in manifest.files:
        return None
    if manifest.precision not in SHORTLIST_PRECISIONS:
        precisions = " and ".join(SHORTLIST_PRECISIONS)
        problem = f"{SHORTLIST_FILE} is for {precisions} bundles, this one is {manifest.precision}"
        raise BundleError(str(bundle.path), (problem,))
    sizes = manifest.sizes
    path = bundle.file(SHORTLIST_FILE)
    return Shortlist.load(path, sizes.source_vocab, sizes.target_vocab, manifest.special_ids.eos)
