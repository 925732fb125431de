"""The build steps that pyproject.toml cannot describe: the kernels' library, and the bundled models.

The models become data of `service`. They stay in models/, where every command of a checkout finds them, and
are copied into wheels only. The container image builds where there is no models/, because it has them in a
folder of its own.

The library is optional: without a C++ compiler, the package is installed without it, and int8 bundles run on
onnxruntime like all others. It does not use Python's own interface, so one wheel serves every version.
"""

import platform
import shutil
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import BaseError, CompileError, LinkError

MODELS = Path("models")
BUNDLED = ("de-en", "en-de")
"""Models of a release. A checkout may have others, which are not ours to distribute."""
TARGET = Path("service", "bundled_models")

SOURCES = Path("dragoman", "native", "src")
LIBRARY = "dragoman.native._kernels"
FLAGS = (
    "-O3",
    "-g0",
    "-std=c++17",
    "-ffp-contract=off",  # sums and products are fused only where the code says so
    "-fno-math-errno",
    "-Wall",
    "-Wextra",
)
GCC_FLAGS = ("-fno-tree-pre", "-fno-gcse", "-Wno-uninitialized", "-Wno-maybe-uninitialized")
"""The first two: otherwise GCC 12 keeps sums of products in memory instead of registers. The others: it warns
of its own headers."""
PORTABLE = ("self_check", "model", "steps", "search", "api")
AVX512_FLAGS = ("-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512vnni", "-mfma")
X86_FLAGS = {
    "avx2": ("-mavx2", "-mfma"),
    "avx_vnni": ("-mavx2", "-mfma", "-mavxvnni"),
    "avx512": AVX512_FLAGS,
    "amx": AVX512_FLAGS,  # the source names AMX for its own functions, where the compiler knows it
}
ARM_FLAGS: dict[str, tuple[str, ...]] = {"neon": (), "dotprod": ("-march=armv8.2-a+dotprod",)}


class BuildWithModels(build_py):
    """`build_py` that also copies the bundled models, except into an editable installation."""

    def run(self) -> None:
        super().run()
        if self.editable_mode or not MODELS.exists():
            return
        target = Path(self.build_lib) / TARGET
        shutil.rmtree(target, ignore_errors=True)  # of an earlier build
        for name in BUNDLED:
            shutil.copytree(MODELS / name, target / name)


class BuildKernels(build_ext):
    """`build_ext` with flags for each source; without a compiler the package is built all the same."""

    def run(self) -> None:
        try:
            super().run()
        except (BaseError, CompileError, LinkError, OSError) as error:
            for extension in self.extensions:  # of an earlier build
                Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
            print(  # noqa: T201 -- there is no logging in a build
                f"The kernels were not built, so int8 models run on onnxruntime: {error}", file=sys.stderr
            )

    def build_extension(self, ext: Extension) -> None:
        is_gcc = "clang" not in " ".join(getattr(self.compiler, "compiler_cxx", []))
        # A Python for two kinds of processors would compile each source for both.
        only_own = ["-arch", platform.machine()] if sys.platform == "darwin" else []
        flags = [*FLAGS, *only_own, *(GCC_FLAGS if is_gcc and sys.platform == "linux" else ())]
        objects: list[str] = []
        for source in ext.sources:
            own = {**X86_FLAGS, **ARM_FLAGS}.get(Path(source).stem, ())
            objects += self.compiler.compile(
                [source], self.build_temp, extra_postargs=[*flags, *own], depends=ext.depends
            )
        path = self.get_ext_fullpath(ext.name)
        self.compiler.link_shared_object(objects, path, extra_postargs=only_own, target_lang="c++")

    def get_ext_filename(self, fullname: str) -> str:
        return str(Path(*fullname.split("."))) + ".so"


class PlatformWheel(bdist_wheel):
    """`bdist_wheel` whose wheel serves every version of Python, on one platform if it has the library."""

    def get_tag(self) -> tuple[str, str, str]:
        _, _, system = super().get_tag()
        has_library = any(Path(self.bdist_dir or "build").rglob("_kernels*.so"))
        return "py3", "none", system if has_library else "any"


def kernels() -> list[Extension]:
    """Return the library for this processor; none where there are no kernels for it."""
    by_machine = {"x86_64": X86_FLAGS, "amd64": X86_FLAGS, "aarch64": ARM_FLAGS, "arm64": ARM_FLAGS}
    own = by_machine.get(platform.machine().lower())
    if own is None or sys.platform == "win32":
        return []
    sources = [str(SOURCES / f"{name}.cpp") for name in (*PORTABLE, *own)]
    headers = [str(path) for path in sorted(SOURCES.glob("*.h"))]
    return [Extension(LIBRARY, sources, depends=headers, language="c++")]


setup(
    cmdclass={"build_py": BuildWithModels, "build_ext": BuildKernels, "bdist_wheel": PlatformWheel},
    ext_modules=kernels(),
)
