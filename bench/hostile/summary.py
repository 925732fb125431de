"""Summaries of a load: memory over time, and latencies, rates and memory of equal intervals."""

import statistics
from collections.abc import Sequence
from typing import Any

from bench.clients import RequestOutcome, latencies_s, percentiles_ms
from bench.processes import MIB, MemorySample

WARM_UP_SHARE = 0.1
"""Share of the time in which memory still grows to what the load needs; the slope is taken after it."""


def summarise_memory(seen: Sequence[MemorySample]) -> dict[str, Any]:
    """Return memory at the start, after a minute, at the end and at most, and its growth after warm-up."""
    warm_s = WARM_UP_SHARE * seen[-1].at_s
    sizes = {
        "start": seen[0].size_bytes,
        "one_minute": min(seen, key=lambda one: abs(one.at_s - 60)).size_bytes,
        "end": seen[-1].size_bytes,
        "most": max(one.size_bytes for one in seen),
    }
    slope = slope_bytes_per_s([one for one in seen if one.at_s >= warm_s])
    return {
        **{f"{name}_mib": round(size_bytes / MIB, 1) for name, size_bytes in sizes.items()},
        "slope_mib_per_hour": round(slope * 3600 / MIB, 2),
        "slope_after_s": round(warm_s, 1),
    }


def slope_bytes_per_s(seen: Sequence[MemorySample]) -> float:
    """Return the growth of memory by least squares; 0 for fewer than two times."""
    times, sizes = [one.at_s for one in seen], [float(one.size_bytes) for one in seen]
    return statistics.linear_regression(times, sizes).slope if len({*times}) > 1 else 0.0


def timeline(
    answered: Sequence[RequestOutcome], seen: Sequence[MemorySample], bins: int
) -> list[dict[str, Any]]:
    """Return latencies, rate and memory of equal intervals; one without responses has no latencies."""
    width_s = max([one.at_s for one in answered] + [seen[-1].at_s]) / bins
    rows = []
    for number in range(bins):
        begins_s, middle_s = number * width_s, (number + 0.5) * width_s
        good = latencies_s([one for one in answered if begins_s < one.at_s <= begins_s + width_s])
        nearest = min(seen, key=lambda one: abs(one.at_s - middle_s))
        row: dict[str, Any] = {"at_s": round(middle_s, 2), "texts_per_s": round(len(good) / width_s, 1)}
        row |= percentiles_ms(good, 50, 95, 99)
        rows.append(row | {"resident_mib": round(nearest.size_bytes / MIB, 1)})
    return rows
