"""Facts about the machine of a run."""

import platform
from collections.abc import Mapping
from pathlib import Path

import torch

from training.config import Precision

CPU_INFO = Path("/proc/cpuinfo")

BF16_CAPABILITIES = ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")
"""Names, as torch gives them, of the instructions that multiply bfloat16 on x86-64 and ARM64."""


def layer_dtype(
    precision: Precision, device: torch.device, capabilities: Mapping[str, object]
) -> torch.dtype:
    """Return the dtype in which layers are computed.

    A CPU without instructions for bfloat16 takes thirty times as long with it as with float32.

    Args:
        precision: what the recipe asks for.
        device: where the layers are computed.
        capabilities: of the CPU, as `torch.cpu.get_capabilities` returns them.
    """
    multiplies_bf16 = device.type != "cpu" or any(capabilities.get(name) for name in BF16_CAPABILITIES)
    return torch.bfloat16 if precision == "bf16-mixed" and multiplies_bf16 else torch.float32


def describe_machine(device: torch.device, threads: int) -> str:
    """Return, say, `AMD EPYC 9R14 (x86_64), 2 threads, torch 2.9.0`, after the GPU's name if there is one."""
    host = f"{_cpu_name()} ({platform.machine()}), {threads} threads, torch {torch.__version__}"
    if device.type == "cuda":
        return f"{torch.cuda.get_device_name(device)}, {host}"
    return host if device.type == "cpu" else f"{device.type}, {host}"


def _cpu_name() -> str:
    """Return the CPU's name from /proc/cpuinfo on Linux, from `platform` elsewhere."""
    if CPU_INFO.exists():
        for line in CPU_INFO.read_text(encoding="utf8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "CPU"
