"""A job's end is told: signed, again when it fails, and never where it must not."""

import asyncio
import base64
import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.jobs.addresses import (
    Peer,
    parse_webhook_url,
    reject_private_literal,
    require_public,
    resolve_peer,
)
from service.jobs.errors import AddressRejected
from service.jobs.webhooks import (
    MAX_TRIES,
    DeliveryFailed,
    WebhookMessage,
    WebhookOptions,
    deliver,
    key_secret,
    read_secret,
    retry_delay_s,
    signature,
    signatures,
    write_secret,
)
from service.settings import SettingsError
from tests.jobs.conftest import SECRET, ServeJobs, ended, look, post, send
from tests.routing.doubles import TIMEOUT_S, until
from tests.service.conftest import fields_of

PRIVATE = (
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1",
    "0.0.0.0", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "fd00::1", "fec0::1", "ff02::1",  # noqa: S104 -- not to be sent to
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "2002:7f00:1::", "64:ff9b::a00:1",
    "192.0.0.9", "192.0.0.170", "192.88.99.1", "198.18.0.1", "203.0.113.9", "3fff::1", "2001::1",
    "2001:db8::1", "2002:101:101::", "5f00::1", "64:ff9b:1::1", "100::1", "4000::1",
)  # fmt: skip
PUBLIC = ("1.1.1.1", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101")


@dataclass
class Receiver:
    """Another's server, as it saw its requests."""

    url: str
    statuses: list[int]
    """Of its answers, the last one for ever."""
    seen: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@contextmanager
def receiving(*statuses: int) -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.seen.append((headers | {"path": self.path}, body))
            status = receiver.statuses[min(len(receiver.seen), len(receiver.statuses)) - 1]
            self.send_response(status)
            if status == 302:
                self.send_header("Location", receiver.url + "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = Receiver(f"http://127.0.0.1:{server.server_address[1]}", list(statuses))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def is_signed(headers: dict[str, str], body: bytes, secret: bytes) -> bool:
    """As a receiver that has the standard's text checks it."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    return headers["webhook-signature"] == f"v1,{expected}"


OPTIONS = WebhookOptions(b"x" * 16, allows_private=True)


def send_message(url: str, options: WebhookOptions = OPTIONS) -> None:
    asyncio.run(deliver(url, WebhookMessage("id", b"{}"), options, 0.0))


def test_a_signed_webhook_is_sent_when_a_job_ends(serve_double: ServeJobs) -> None:
    with receiving(500, 200) as receiver:
        client = serve_double(webhook_secret=SECRET, webhook_private=True)
        job = send(client, b"eins\n", webhook_url=f"{receiver.url}/ended?a=b")
        until(lambda: look(client, job["id"])["webhook"]["problem"] is not None)
        reported = ended(client, job["id"])

    headers, body = receiver.seen[0]
    webhook = reported.pop("webhook")
    assert (webhook["state"], webhook["tries"], webhook["next_try_at"] is None) == ("pending", 1, False)
    assert "500" in webhook["problem"]
    assert is_signed(headers, body, SECRET.encode())
    assert headers["webhook-id"] == job["id"]
    assert json.loads(body) == {"type": "job.ended", "job": reported}


def test_a_failed_delivery_can_be_retried_and_a_redirect_is_not_followed() -> None:
    with receiving(500, 302, 204) as receiver:
        for status in ("500", "302"):
            with pytest.raises(DeliveryFailed, match=status):
                send_message(receiver.url)
        send_message(receiver.url)

    assert [headers["webhook-id"] for headers, _ in receiver.seen] == ["id"] * 3
    assert all(is_signed(headers, body, OPTIONS.secret) for headers, body in receiver.seen)


@pytest.mark.parametrize(
    ("piece", "pause_s"), [(b"HTTP/1.1 200 OK\r\nX", 0.02), (b"HTTP/1.1 100 Continue\r\n\r\n", 0.0)]
)
def test_a_delivery_ends_however_slow_or_long_the_response_is(piece: bytes, pause_s: float) -> None:
    def answer() -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):  # it is left
            while True:
                connection.sendall(piece)
                time.sleep(pause_s)

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as threads:
        answering = threads.submit(answer)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        with pytest.raises(DeliveryFailed):
            send_message(url, replace(OPTIONS, max_attempt_s=0.5))
        answering.result(TIMEOUT_S)


def test_each_key_has_its_own_secret_and_the_previous_one_still_signs() -> None:
    old, new = b"o" * 16, b"n" * 16
    message = WebhookMessage("id", b"{}", "63ec77ec")

    sent = signatures(WebhookOptions(new, old), message, 5).split(" ")
    expected = [key_secret(new, "63ec77ec"), new, key_secret(old, "63ec77ec"), old]
    assert sent == [signature(secret, message, 5) for secret in expected]
    assert key_secret(new, "63ec77ed") not in expected
    assert signatures(WebhookOptions(new), WebhookMessage("id", b"{}"), 5) == signature(new, message, 5)


def test_pauses_between_retries_grow_up_to_a_maximum_number_of_tries() -> None:
    *pauses, last = [retry_delay_s(num_tries) for num_tries in range(1, MAX_TRIES + 1)]

    assert pauses[:3] == [5.0, 20.0, 80.0]
    assert last is None
    assert None not in pauses


@pytest.mark.parametrize("address", [*PRIVATE, *PUBLIC])
def test_only_public_addresses_are_accepted(address: str) -> None:
    with nullcontext() if address in PUBLIC else pytest.raises(AddressRejected):
        require_public(address)


@given(st.ip_addresses(v=4, network="10.0.0.0/8"))
def test_private_addresses_embedded_in_ipv6_are_rejected(address: object) -> None:
    for spelling in (f"::ffff:{address}", f"64:ff9b::{address}"):
        with pytest.raises(AddressRejected):
            require_public(spelling)


def test_a_host_with_any_private_address_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    url = parse_webhook_url("https://example.com/")
    public, private = (
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in ("1.1.1.1", "10.0.0.1")
    )
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [public, private])
    with pytest.raises(AddressRejected):
        resolve_peer(url, allows_private=False)

    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [public])
    assert resolve_peer(url, allows_private=False) == Peer("1.1.1.1", 443)


def test_the_connection_uses_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve, looked_up = socket.getaddrinfo, []

    def by_name(host: str, *arguments: Any, **named: Any) -> object:
        if host != "hook.test":
            return resolve(host, *arguments, **named)
        looked_up.append(host)
        return resolve("127.0.0.1" if len(looked_up) == 1 else "192.0.2.1", *arguments, **named)

    with receiving(200) as receiver:
        monkeypatch.setattr(socket, "getaddrinfo", by_name)
        send_message(receiver.url.replace("127.0.0.1", "hook.test"))

    assert looked_up == ["hook.test"]
    assert receiver.seen[0][0]["host"] == receiver.url.replace("http://127.0.0.1", "hook.test")


def test_a_webhook_needs_a_secret(serve_double: ServeJobs) -> None:
    response = post(serve_double(jobs_at_a_time=0), b"x\n", webhook_url="https://example.com/")

    assert fields_of(response) == ["webhook_url"]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "https://",
        "https://user:password@example.com/",
        "https://example.com/#part",
        "https://example.com/ x",
        "https://exämple.com/",
        "https://example.com:99999/",
        "https://[::1/",
        "https://example.com/" + "x" * 2000,
        "https://a..example.com/x",
        "https://.example.com/",
        "https://" + "a" * 64 + ".example.com/",
        "https://" + "a." * 130 + "example.com/",
        "https://-a.example.com/",
        "https://exa$mple.com/",
        "https://exa%6dple.com/",
        "http://127.0.0.1:8000/",
        "http://localhost/",
        "http://[::ffff:10.0.0.1]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://localhost./",
        "http://127.0.0.1./",
    ],
)
def test_a_url_that_is_invalid_or_of_a_private_host_is_rejected(url: str) -> None:
    with pytest.raises(AddressRejected):
        reject_private_literal(parse_webhook_url(url))


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com./",
        "https://a_b.xn--exmple-cua.com/",
        "https://1.1.1.1/",
        "https://[2606:4700::1]/",
    ],
)
def test_a_public_host_is_accepted(url: str) -> None:
    reject_private_literal(parse_webhook_url(url))


def test_a_secret_that_is_short_or_malformed_is_rejected() -> None:
    key = key_secret(b"x" * 16, "63ec77ec")
    assert read_secret(write_secret(key)) == read_secret("whsec_" + base64.b64encode(key).decode()) == key
    for secret in ("short", "whsec_!", "whsec_AAAA"):
        with pytest.raises(SettingsError):
            read_secret(secret)
