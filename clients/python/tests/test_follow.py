"""Changes and logs as they come: silence, broken connections, timeouts and odd bytes, with and without asyncio."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import httpx
import pytest

import coxswain
from conftest import Parts, Server, frame, problem, stream
from coxswain import Change
from coxswain._events import EventReader
from coxswain._http import cut_after
from coxswain._lines import LineReader

AJob = Callable[..., dict[str, Any]]
JOB_ID = "9a31538c-c53d-43d9-a67a-b81a89471c56"
both = pytest.mark.parametrize("is_async", [False, True], ids=["without asyncio", "with asyncio"])


def changes(server: Server, is_async: bool) -> list[Change]:
    """All changes of the job."""
    if not is_async:
        return list(server.client().job(JOB_ID).changes())

    async def read() -> list[Change]:
        async with server.async_client() as client:
            return [change async for change in (await client.job(JOB_ID)).changes()]

    return asyncio.run(read())


def wait(server: Server, is_async: bool, *, timeout: float | None = None, until: str = "Complete") -> None:
    if not is_async:
        server.client().job(JOB_ID).wait(until, timeout=timeout)
        return

    async def run() -> None:
        async with server.async_client() as client:
            await (await client.job(JOB_ID)).wait(until, timeout=timeout)

    asyncio.run(run())


@both
def test_the_timeout_of_a_wait_ends_it_while_only_comments_come(server: Server, a_job: AJob, is_async: bool) -> None:
    def later() -> None:
        server.now += 15

    body = Parts(b": begin\n\n", frame("job", a_job()), *[later, b": ping\n\n"] * 100)
    server.answers = [a_job(), body.events()]
    with pytest.raises(TimeoutError, match="tiny is Running after 40 s, and not Complete: Trains."):
        wait(server, is_async, timeout=40)
    assert (server.now, body.closed) == (45, 1)


@both
def test_the_timeout_of_a_wait_bounds_a_read_and_a_pause(server: Server, a_job: AJob, is_async: bool) -> None:
    server.answers = [a_job(), httpx.ReadTimeout("silent"), *[httpx.ConnectError("away")] * 9]
    server.slept = Slept(server)
    with pytest.raises(TimeoutError):
        wait(server, is_async, timeout=3)
    assert server.asked[1].extensions["timeout"]["read"] == 3
    assert server.slept == [0.5, 1.0, 1.5]


class Slept(list[float]):
    """Sleeps that move the clock."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._server = server

    def append(self, seconds: float) -> None:
        self._server.now += seconds
        super().append(seconds)


def test_a_read_that_waits_is_cut_at_the_timeout() -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(10)

    class Connection:
        def get_extra_info(self, _name: str) -> socket.socket:
            return ours

    with ours, theirs, cut_after(0.0, httpx.Response(200, extensions={"network_stream": Connection()})):
        assert ours.recv(1) == b""


@both
def test_a_word_that_is_no_state_is_refused_at_once(server: Server, a_job: AJob, is_async: bool) -> None:
    server.answers = [a_job()]
    with pytest.raises(ValueError, match='"Done" is not a state of a job; the states are Queued, '):
        wait(server, is_async, until="Done")


@both
def test_a_broken_event_comes_again_and_leaves_nothing(server: Server, a_job: AJob, is_async: bool) -> None:
    event = {"type": "Placed"}
    broken = frame("event", event, "12")[:-2]
    server.answers = [
        a_job(),
        Parts(frame("event", event, "1"), broken, httpx.ReadError("cut")).events(),
        Parts(b": begin\n\n", frame("event", event, "12"), frame("job", a_job(state="Complete")), b"id: 12\n\n").events(),
    ]
    assert [(change.kind, change.last_event_id) for change in changes(server, is_async)] == [
        ("event", "1"),
        ("event", "12"),
        ("job", "12"),
    ]
    assert server.asked[2].headers["last-event-id"] == "1"


@both
def test_steps_that_were_missed_come_though_the_job_has_ended(server: Server, a_job: AJob, is_async: bool) -> None:
    body = Parts(
        frame("job", a_job(state="Complete")),
        frame("step", {"step": 160}, "1-7"),
        b"id: 1-7\n\n",
        lambda: pytest.fail("nothing comes after this"),
    )
    server.answers = [a_job(), body.events()]
    assert [change.kind for change in changes(server, is_async)] == ["job", "step"]


@both
def test_a_job_that_ends_is_the_end_of_a_stream_that_is_caught_up(server: Server, a_job: AJob, is_async: bool) -> None:
    body = Parts(
        frame("job", a_job()) + b"id: 1\n\n",
        frame("job", a_job(state="Complete")) + frame("step", {"step": 160}, "1-7"),
        lambda: pytest.fail("nothing comes after this"),
    )
    server.answers = [a_job(), body.events()]
    assert [change.kind for change in changes(server, is_async)] == ["job", "job", "step"]


@both
def test_line_ends_within_a_text_are_no_line_ends(server: Server, a_job: AJob, is_async: bool) -> None:
    text = "loss\u2028is\x85nan\x0c"
    server.answers = [a_job(), Parts(frame("job", a_job(state="Failed", summary=text), "1")).events()]
    assert changes(server, is_async)[0].data["summary"] == text


@both
def test_a_deleted_job_is_an_error(server: Server, a_job: AJob, is_async: bool) -> None:
    server.answers = [a_job(), stream(("job", a_job(), "1")), problem(404, "NOT_FOUND", "No such job.")]
    with pytest.raises(coxswain.ApiError, match="No such job"):
        changes(server, is_async)


@both
def test_a_page_in_place_of_a_stream_is_an_error(server: Server, a_job: AJob, is_async: bool) -> None:
    server.answers = [a_job(), httpx.Response(200, text="<html>Sign in</html>")]
    with pytest.raises(coxswain.CoxswainError, match="is not a stream of events"):
        changes(server, is_async)


def test_a_broken_connection_is_logged_once(
    server: Server, a_job: AJob, caplog: pytest.LogCaptureFixture
) -> None:
    end = stream(("job", a_job(state="Complete"), "1"))
    server.answers = [a_job(), *[httpx.ConnectError("away")] * 3, end]
    with caplog.at_level(logging.WARNING, "coxswain"):
        changes(server, is_async=False)
    assert [record.getMessage()[:38] for record in caplog.records] == ["Cannot reach http://api.test: away. Is"]


def test_a_loop_that_is_left_closes_its_connection(server: Server, a_job: AJob) -> None:
    bodies = [Parts(*[frame("job", a_job(), "1")] * 9), Parts(*[frame("job", a_job(), "1")] * 9)]
    server.answers = [a_job(), bodies[0].events(), bodies[1].events()]
    for _change in server.client().job(JOB_ID).changes():
        break
    assert bodies[0].closed == 1

    async def leave() -> int:
        async with server.async_client() as client, aclosing(client.changes("research", JOB_ID)) as following:
            async for _change in following:
                break
        return bodies[1].closed

    assert asyncio.run(leave()) == 1


@both
def test_a_log_stays_as_it_is_and_may_be_silent(server: Server, a_job: AJob, is_async: bool) -> None:
    parts = [b"10%\r20%\r", b"done\n\xff\xfe ", "ü".encode()[:1], "ü".encode()[1:], b"\n", b"last"]
    want = ["10%\r20%\rdone\n", "\ufffd\ufffd ü\n", "last"]
    server.answers = [a_job(), httpx.Response(200, stream=Parts(*parts))]

    async def read() -> list[str]:
        async with server.async_client() as client:
            return [line async for line in (await client.job(JOB_ID)).log_lines()]

    lines = asyncio.run(read()) if is_async else list(server.client().job(JOB_ID).log_lines())
    assert lines == want
    assert server.asked[1].extensions["timeout"]["read"] is None


def test_the_log_of_now_is_read_again_and_stays_as_it_is(server: Server, a_job: AJob) -> None:
    server.answers = [a_job(), problem(503, "BUSY", "Later."), httpx.Response(200, content=b"a\rb\x85\nlast")]
    assert server.client().job(JOB_ID).logs() == "a\rb\ufffd\nlast"


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([b"a\nb\n"], ["a\n", "b\n"]),
        ([b"a", b"", b"b\n\n"], ["ab\n", "\n"]),
        ([b"a\r\n"], ["a\r\n"]),
        ([b"x" * 65_536] * 160 + [b"\n"], ["x" * 10_485_760 + "\n"]),
    ],
    ids=["two at once", "one in parts, and an empty one", "line ends of Windows stay", "10 MiB"],
)
def test_lines(chunks: list[bytes], lines: list[str]) -> None:
    reader = LineReader()
    assert [line for chunk in chunks for line in reader.read(chunk)] == lines
    assert reader.end() == []


def test_an_id_counts_when_its_event_is_complete() -> None:
    reader = EventReader("1")
    assert reader.read(b"event: step\nid: 2\ndata: 1") == []
    assert reader.last_event_id == "1"
    assert reader.read(b"\n\n") == [Change("step", 1, "2")]
