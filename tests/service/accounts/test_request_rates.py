"""How many requests pass in how short a time."""

import asyncio
import logging
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits import RateLimitItemPerMinute
from limits.aio.strategies import MovingWindowRateLimiter

from service.accounts import rates as rates_module
from service.accounts.errors import RateLimited, RatesInvalid
from service.accounts.keys import ANONYMOUS, DEFAULT_SCOPES, Caller, KeyLimits
from service.accounts.rates import (
    MemoryWindowStorage,
    RateLimiter,
    RateLimits,
    identity_of,
    parse_rate_limits,
)
from tests.service.accounts.conftest import Times

ANN = Caller("0123abcd", "Ann", DEFAULT_SCOPES, KeyLimits())
ADDRESS = "192.0.2.7"
pytestmark = pytest.mark.anyio


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("redis")
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with subprocess.Popen([program, *options], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        for line in server.stdout:
            if b"Ready to accept connections" in line:
                break
        yield f"redis://127.0.0.1:{port}/0"
        server.terminate()


@pytest.fixture(params=["memory", "redis"])
def storage_url(request: pytest.FixtureRequest) -> str:
    if request.param == "memory":
        return "memory://"
    return str(request.getfixturevalue("redis_url"))


def rates_in_memory(times: Times) -> RateLimiter:
    return RateLimiter(None, None, MovingWindowRateLimiter(MemoryWindowStorage(lambda: times.monotonic_s)))


async def passes(rates: RateLimiter, identity: str, limits: RateLimits) -> bool:
    try:
        await rates.hit(identity, limits)
    except RateLimited:
        return False
    return True


async def test_requests_over_the_limit_are_rejected_with_a_retry_time(storage_url: str) -> None:
    rates, limits = RateLimiter.open(storage_url, None), parse_rate_limits("3 per 1 minute")
    for _ in range(3):
        await rates.hit("some", limits)
    with pytest.raises(RateLimited) as refused:
        await rates.hit("some", limits)
    assert refused.value.limit == "3 per 1 minute"
    assert 1 <= refused.value.retry_after_s <= 60
    assert str(refused.value).startswith("the limit of 3 per 1 minute is exceeded; try again in ")
    await rates.hit("another", limits)
    await rates.close()


async def test_requests_pass_again_when_the_window_has_moved(storage_url: str) -> None:
    rates, limits = RateLimiter.open(storage_url, None), parse_rate_limits("1/second")
    await rates.hit("moving", limits)
    while not await passes(rates, "moving", limits):  # noqa: ASYNC110 -- time alone changes it
        await asyncio.sleep(0.05)
    await rates.close()


async def test_several_servers_count_together_in_redis(redis_url: str) -> None:
    first, second = (RateLimiter.open(redis_url, None) for _ in range(2))
    limits = parse_rate_limits("3/hour")
    passed = [await passes(rates, "shared", limits) for rates in (first, second, first, second)]
    assert passed == [True, True, True, False]
    for rates in (first, second):
        await rates.close()


@given(
    amount=st.integers(1, 4), hits=st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 40)), max_size=40)
)
async def test_no_window_admits_more_than_the_limit_and_none_is_rejected_below_it(
    amount: int, hits: list[tuple[str, int]]
) -> None:
    times = Times()
    rates, limits = rates_in_memory(times), [RateLimitItemPerMinute(amount)]
    passed: list[tuple[str, float]] = []
    for identity, pause_s in hits:
        times.monotonic_s += pause_s
        now = times.monotonic_s
        recent = [at for other, at in passed if other == identity and at > now - 60]
        if len(recent) < amount:
            await rates.hit(identity, limits)
            passed.append((identity, now))
        else:
            with pytest.raises(RateLimited) as refused:
                await rates.hit(identity, limits)
            wait_s = recent[0] + 60 - now
            assert abs(refused.value.retry_after_s - wait_s) <= 2  # the real clock ran on between


async def test_a_request_rejected_by_a_short_window_does_not_count_in_a_long_one() -> None:
    times = Times()
    rates, limits = rates_in_memory(times), parse_rate_limits("3/hour; 1/minute")
    await rates.hit("some", limits)
    for _ in range(10):
        assert not await passes(rates, "some", limits)
    for _ in range(2):
        times.monotonic_s += 61
        await rates.hit("some", limits)
    times.monotonic_s += 61
    with pytest.raises(RateLimited) as refused:
        await rates.hit("some", limits)
    assert refused.value.limit == "3 per 1 hour"


async def test_expired_identities_take_no_memory() -> None:
    times = Times()
    windows = MemoryWindowStorage(lambda: times.monotonic_s)
    for number in range(100):
        await windows.acquire_entry(f"some {number}", 5, 60)
    times.monotonic_s += 30
    await windows.acquire_entry("another", 5, 60)
    times.monotonic_s += 31
    await windows.acquire_entry("another", 5, 60)
    assert set(windows._entry_times) == {"another"} == set(windows._empty_at)


def test_the_rate_of_a_key_overrides_the_default() -> None:
    async def count(caller: Caller) -> int:
        rates, num_passed = RateLimiter.open(None, "2/minute"), 0
        while num_passed < 9:
            try:
                await rates.admit(caller, ADDRESS)
            except RateLimited:
                break
            num_passed += 1
        return num_passed

    assert asyncio.run(count(ANONYMOUS)) == 2
    assert asyncio.run(count(ANN)) == 2
    assert asyncio.run(count(replace(ANN, limits=KeyLimits(requests_per_minute=1)))) == 1
    assert asyncio.run(count(replace(ANN, limits=KeyLimits(requests_per_minute=5)))) == 5


async def test_without_a_default_only_keys_with_a_rate_are_limited() -> None:
    rates = RateLimiter.open(None, None)
    for _ in range(100):
        await rates.admit(ANN, ADDRESS)


def test_keys_are_counted_by_key_and_others_by_address() -> None:
    other = replace(ANN, key_id="89abcdef")
    assert identity_of(ANN, ADDRESS) == identity_of(ANN, "192.0.2.8")
    assert identity_of(ANN, ADDRESS) != identity_of(other, ADDRESS)
    assert identity_of(ANONYMOUS, ADDRESS) != identity_of(ANONYMOUS, "192.0.2.8")
    assert identity_of(ANONYMOUS, f"key:{ANN.key_id}") != identity_of(ANN, ADDRESS)


def test_a_network_of_ipv6_counts_as_one_client() -> None:
    first = identity_of(ANONYMOUS, "2001:db8:0:1::1")
    assert first == identity_of(ANONYMOUS, "2001:db8:0:1:ffff::2%eth0")
    assert first != identity_of(ANONYMOUS, "2001:db8:0:2::1")
    assert identity_of(ANONYMOUS, "::ffff:192.0.2.7") == identity_of(ANONYMOUS, "192.0.2.7")


@pytest.mark.parametrize(
    "text", ["", "many", "20", "20/fortnight", "0/minute", "5 per 0 minutes", "20/minute;", "-1/hour"]
)
def test_an_invalid_rate_is_rejected_at_startup(text: str) -> None:
    with pytest.raises(RatesInvalid) as refused:
        RateLimiter.open(None, text)
    assert refused.value.field == "rate_limit"
    assert "`20/minute; 1000/hour`" in str(refused.value) or "contains 0" in str(refused.value)


@pytest.mark.parametrize(
    "url", ["hunter2", "memcached://user:hunter2@host", "redis://user:hunter2@host:hunter2"]
)
def test_an_unsupported_storage_is_rejected_without_quoting_it(url: str) -> None:
    with pytest.raises(RatesInvalid) as refused:
        RateLimiter.open(url, None)
    assert refused.value.field == "rate_storage_url"
    assert "hunter2" not in str(refused.value)


async def test_rates_are_counted_per_process_while_redis_is_unreachable(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    rates = RateLimiter.open(f"redis://:hunter2@127.0.0.1:{port}", None)
    limits = parse_rate_limits("3/hour")
    passed = [await passes(rates, "some", limits) for _ in range(4)]
    assert passed == [True, True, True, False]
    await rates.close()
    assert [record.levelno for record in caplog.records] == [logging.ERROR]  # and not one for each request
    assert "Redis failed" in caplog.text
    assert "hunter2" not in caplog.text


async def test_waiting_for_redis_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates_module, "REDIS_TIMEOUT_S", 0.05)

    with socket.create_server(("127.0.0.1", 0)) as silent:
        rates = RateLimiter.open(f"redis://127.0.0.1:{silent.getsockname()[1]}", None)
        limits = parse_rate_limits("1/hour")
        assert await passes(rates, "some", limits)
        assert not await passes(rates, "some", limits)
        await rates.close()


async def test_redis_is_retried_after_a_pause(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates_module, "REDIS_TIMEOUT_S", 0.0)

    rates, limits = RateLimiter.open(redis_url, None), parse_rate_limits("1/hour")
    assert await passes(rates, "rest", limits)  # counted here
    monkeypatch.setattr(rates_module, "REDIS_TIMEOUT_S", 5.0)
    assert not await passes(rates, "rest", limits)
    rates._redis_retry_at_s = 0.0
    assert await passes(rates, "rest", limits)  # counted there
    await rates.close()
