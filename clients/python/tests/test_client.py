"""What the client asks, and what it makes of the answers."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import coxswain
from coxswain import Client, operations
from conftest import Server, problem, stream

AJob = Callable[..., dict[str, Any]]
SPEC = {"engine": {"name": "command", "image": "i", "command": ["true"]}, "layout": {"dataParallelDegree": 1}}


def test_a_submitted_job_has_a_key_so_that_a_repeated_request_creates_nothing_twice(
    server: Server, a_job: AJob
) -> None:
    server.answers = [httpx.ConnectError("broken"), problem(503, "BUSY", "Later."), a_job()]
    job = server.client().submit({"name": "tiny", "spec": SPEC})
    assert job.name == "tiny"
    keys = {request.headers["idempotency-key"] for request in server.asked}
    assert len(keys) == 1
    assert [json.loads(request.content)["name"] for request in server.asked] == ["tiny"] * 3


def test_a_change_without_a_key_is_sent_once(server: Server, a_job: AJob) -> None:
    server.answers = [a_job(), problem(503, "BUSY", "Later.")]
    job = server.client().job("9a31538c-c53d-43d9-a67a-b81a89471c56")
    with pytest.raises(coxswain.ApiError, match="Later"):
        job.suspend()
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("answers", "slept"),
    [
        ([problem(429, "RATE_LIMITED", "Slow down.", headers={"retry-after": "7"})], [7.0]),
        ([problem(503, "BUSY", "Later.")] * 2, [0.5, 1.0]),
        ([problem(503, "BUSY", "Later.", headers={"retry-after": "Sun, 29 Nov 2026 09:00:00 GMT"})], [0.5]),
        ([problem(503, "BUSY", "Later.", headers={"retry-after": "nan"})], [0.5]),
        ([httpx.ReadTimeout("silent")], [0.5]),
    ],
    ids=[
        "a limit is waited for as long as it says",
        "pauses double",
        "a date as a pause counts as none",
        "a pause that is no number counts as none",
        "an answer that does not come is asked for again",
    ],
)
def test_reading_is_repeated(server: Server, answers: list[Any], slept: list[float]) -> None:
    server.answers = [*answers, {"items": []}]
    assert server.client().jobs() == []
    assert server.slept == slept


def test_a_long_pause_is_left_to_the_caller(server: Server) -> None:
    server.answers = [problem(429, "RATE_LIMITED", "3 of 3 jobs.", headers={"retry-after": "60"})]
    with pytest.raises(coxswain.ApiError, match="3 of 3 jobs"):
        server.client().submit({"name": "tiny", "spec": SPEC})
    assert server.slept == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (httpx.Response(308, headers={"location": "https://api.test/v1"}), "redirects to https://api.test/v1"),
        (httpx.Response(200), "is not JSON"),
        (httpx.Response(200, text="<html>"), "is not JSON"),
        (httpx.DecodingError("incorrect header check"), "Cannot reach http://api.test: incorrect header check"),
        (httpx.ReadTimeout(""), "Cannot reach http://api.test: ReadTimeout"),
        (
            httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate"),
            "is not trusted.*Set SSL_CERT_FILE",
        ),
    ],
    ids=[
        "a redirect",
        "an empty answer",
        "a page",
        "a body that cannot be unpacked",
        "an error without a text",
        "an unknown CA",
    ],
)
def test_what_stands_between_is_an_error_of_the_package(server: Server, answer: Any, message: str) -> None:
    server.answers = [answer] * 5
    with pytest.raises(coxswain.CoxswainError, match=message):
        server.client().jobs()


def test_errors_pass_between_processes(a_job: AJob) -> None:
    errors = [
        coxswain.ApiError(400, "INVALID", "Wrong.", [{"pointer": "/a", "detail": "b"}]),
        coxswain.JobEndedError(a_job(state="Failed"), "Complete"),  # type: ignore[arg-type]
    ]
    assert [str(pickle.loads(pickle.dumps(error))) for error in errors] == [str(error) for error in errors]


@pytest.mark.parametrize("stream_it", [False, True], ids=["a request", "a stream"])
def test_a_token_file_that_was_renewed_is_read_again(
    server: Server, a_job: AJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stream_it: bool
) -> None:
    path = tmp_path / "token"
    path.write_text("old")
    monkeypatch.setenv("COXSWAIN_TOKEN_FILE", str(path))
    monkeypatch.delenv("COXSWAIN_TOKEN", raising=False)
    client = Client("http://api.test", project="p", transport=httpx.MockTransport(server.answer))
    path.write_text("new")
    refused = problem(401, "UNAUTHENTICATED", "The token has expired.")
    end = stream(("job", a_job(state="Complete"), "1"))
    server.answers = [refused, end if stream_it else {"items": []}, problem(401, "UNAUTHENTICATED", "Gone.")]
    assert len(list(client.changes("p", "1"))) == 1 if stream_it else client.jobs() == []
    assert [request.headers["authorization"] for request in server.asked] == ["Bearer old", "Bearer new"]
    with pytest.raises(coxswain.ApiError, match="Gone"):
        client.jobs()


def test_an_api_that_stays_away_is_an_error_that_names_it(server: Server) -> None:
    server.answers = [httpx.ConnectError("refused")] * 5
    with pytest.raises(coxswain.UnreachableError, match="Cannot reach http://api.test: refused"):
        server.client().jobs()


def test_a_refusal_names_every_wrong_field(server: Server) -> None:
    errors = [{"pointer": "/spec/gpus", "detail": "at least 1"}]
    server.answers = [problem(400, "INVALID", "The job is wrong.", errors=errors)]
    with pytest.raises(coxswain.ApiError) as caught:
        server.client().submit({"name": "tiny", "spec": SPEC})
    assert str(caught.value) == "The job is wrong. (INVALID)\n  /spec/gpus: at least 1"
    assert (caught.value.status, caught.value.code, caught.value.errors) == (400, "INVALID", errors)


def test_an_answer_of_another_program_asks_for_the_address(server: Server) -> None:
    server.answers = [httpx.Response(404, text="<html>nginx</html>")]
    with pytest.raises(coxswain.ApiError, match="Is the address that of a Coxswain API"):
        server.client().jobs()


def test_lists_are_read_page_by_page(server: Server) -> None:
    server.answers = [{"items": [{"name": "b"}], "nextPageToken": "n/2"}, {"items": [{"name": "a"}]}]
    assert [job["name"] for job in server.client().jobs(state="Running")] == ["b", "a"]
    assert server.paths[1] == "GET /v1/projects/research/jobs?pageSize=100&pageToken=n%2F2&state=Running" or (
        "pageToken=n%2F2" in server.paths[1] and "state=Running" in server.paths[1]
    )


def test_a_list_ends_at_its_limit(server: Server) -> None:
    server.answers = [{"items": [{"name": "b"}, {"name": "a"}], "nextPageToken": "2"}]
    assert len(server.client().jobs(limit=1)) == 1


def test_a_job_is_found_by_name_and_a_refused_one_gives_way(server: Server, a_job: AJob) -> None:
    found = [
        {"id": "1", "name": "tiny-2", "state": "Running"},
        {"id": "2", "name": "tiny", "state": "Refused"},
        {"id": "3", "name": "tiny", "state": "Complete"},
    ]
    server.answers = [{"items": found}, a_job(id="3")]
    assert server.client().job("tiny").id == "3"
    assert server.paths[1].endswith("/jobs/3")


def test_pages_are_read_until_the_job_is_found(server: Server, a_job: AJob) -> None:
    server.answers = [{"items": [{"id": "1", "name": "tiny", "state": "Running"}], "nextPageToken": "2"}, a_job(id="1")]
    assert server.client().job("tiny").id == "1"


def test_a_refused_job_is_found_if_there_is_no_other(server: Server, a_job: AJob) -> None:
    server.answers = [{"items": [{"id": "1", "name": "tiny", "state": "Refused"}]}, a_job(id="1")]
    assert server.client().job("tiny").id == "1"


def test_a_job_that_is_not_there_is_named(server: Server) -> None:
    server.answers = [{"items": []}]
    with pytest.raises(coxswain.NotFoundError, match='No job named "tyni" in project research'):
        server.client().job("tyni")


def test_the_project_of_a_token_is_asked_once(server: Server) -> None:
    server.answers = [{"project": "vision", "memberships": []}, {"items": []}, {"items": []}]
    client = server.client(project=None)
    client.jobs()
    client.jobs()
    assert [path.split("?")[0] for path in server.paths] == ["GET /v1/whoami", *["GET /v1/projects/vision/jobs"] * 2]


def test_a_token_of_several_projects_asks_for_one(server: Server) -> None:
    server.answers = [{"project": None, "memberships": [{"project": "a"}, {"project": "b"}]}]
    with pytest.raises(coxswain.SettingsError, match="You belong to a, b: name one"):
        server.client(project=None).jobs()


def test_names_in_paths_are_quoted(server: Server) -> None:
    server.answers = [{}]
    server.client().call(operations.jobs_get("a/b", "c?d"))
    assert server.paths == ["GET /v1/projects/a%2Fb/jobs/c%3Fd"]


def test_changes_go_on_after_a_broken_stream(server: Server, a_job: AJob) -> None:
    server.answers = [
        a_job(),
        stream(("job", a_job(), "1"), ("event", {"type": "Placed"}, "2")),
        httpx.ReadError("cut"),
        stream(("job", a_job(state="Complete"), "3")),
    ]
    job = server.client().job("9a31538c-c53d-43d9-a67a-b81a89471c56")
    assert [change.kind for change in job.changes()] == ["job", "event", "job"]
    assert [request.headers.get("last-event-id") for request in server.asked[1:]] == [None, "2", "2"]


def test_a_stream_that_is_refused_is_not_asked_for_again(server: Server, a_job: AJob) -> None:
    server.answers = [a_job(), problem(403, "FORBIDDEN", "No.")]
    with pytest.raises(coxswain.ApiError, match="No"):
        list(server.client().job("9a31538c-c53d-43d9-a67a-b81a89471c56").changes())


def test_waiting_ends_at_the_state(server: Server, a_job: AJob) -> None:
    server.answers = [a_job(), stream(("job", a_job(), "1"), ("job", a_job(state="Suspended"), "2"))]
    assert server.client().job("9a31538c-c53d-43d9-a67a-b81a89471c56").wait("Suspended").state == "Suspended"


def test_waiting_for_what_cannot_come_any_more_is_an_error(server: Server, a_job: AJob) -> None:
    server.answers = [a_job(), stream(("job", a_job(state="Failed", summary="Rank 1 ended."), "1"))]
    with pytest.raises(coxswain.JobEndedError, match="tiny is Failed, and will not be Complete: Rank 1 ended"):
        server.client().job("9a31538c-c53d-43d9-a67a-b81a89471c56").wait()


def test_all_events_are_read(server: Server, a_job: AJob) -> None:
    server.answers = [a_job(), {"items": [{"id": at} for at in range(1, 10_001)]}, {"items": [{"id": 10_001}]}]
    assert len(server.client().job("9a31538c-c53d-43d9-a67a-b81a89471c56").events()) == 10_001
    assert server.paths[2].endswith("/events?after=10000")


def test_all_incidents_are_read(server: Server, a_job: AJob) -> None:
    server.answers = [a_job(), {"items": [{"id": "2"}], "nextPageToken": "n"}, {"items": [{"id": "1"}]}]
    found = server.client().job("9a31538c-c53d-43d9-a67a-b81a89471c56").incidents()
    assert [incident["id"] for incident in found] == ["2", "1"]


def test_a_server_may_have_a_path(server: Server) -> None:
    server.answers = [{"items": []}]
    address = "https://example.com/coxswain/"
    Client(address, "t", project="a/b", transport=httpx.MockTransport(server.answer)).jobs()
    assert str(server.asked[0].url).startswith("https://example.com/coxswain/v1/projects/a%2Fb/jobs?")


def test_a_long_curve_is_read_in_pages(server: Server, a_job: AJob) -> None:
    pages = [[{"step": step} for step in range(1, 2001)], [{"step": 2001}]]
    server.answers = [a_job(), *({"items": page, "gaps": []} for page in pages)]
    points = server.client().job("9a31538c-c53d-43d9-a67a-b81a89471c56").step_points()
    assert len(points) == 2001
    assert "fromStep=2001" in server.paths[2]


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        ({}, {}),
        ({"gpus": 2}, {"gpus": 2}),
        ({"layout": {"tensorParallelDegree": 2}}, {"layout": {"tensorParallelDegree": 2}}),
        ({"from_": "tiny-d1ff3a84-e1-s40"}, {"from": "tiny-d1ff3a84-e1-s40"}),
    ],
    ids=["on its layout", "on fewer GPUs", "on another layout", "from an earlier checkpoint"],
)
def test_a_job_resumes(server: Server, a_job: AJob, arguments: dict[str, Any], body: dict[str, Any]) -> None:
    server.answers = [a_job(state="Suspended"), a_job()]
    server.client().job("9a31538c-c53d-43d9-a67a-b81a89471c56").resume(**arguments)
    assert json.loads(server.asked[1].content) == body


def test_a_followed_log_comes_line_by_line(server: Server, a_job: AJob) -> None:
    server.answers = [a_job(), httpx.Response(200, text="one\ntwo")]
    job = server.client().job("9a31538c-c53d-43d9-a67a-b81a89471c56")
    assert list(job.log_lines(3, tail=2)) == ["one\n", "two"]
    assert server.paths[1].endswith("/logs?rank=3&tailLines=2&follow=true")


def test_a_plan_names_its_best_layout(server: Server) -> None:
    plan = {
        "layout": {"tensorParallelDegree": 2, "dataParallelDegree": 4},
        "gpus": 8,
        "microBatchSize": 1,
        "prediction": {"stepTimeS": 1.5},
    }
    server.answers = [{"answer": {"best": plan, "plans": [plan]}}]
    answer = server.client().plan("llama-3.1-8b", gpu="h100-80gb", gpus=8, global_batch_size=64, sequence_length=4096)
    assert repr(answer) == "<Plan tp2 x dp4 on 8 GPUs, 1.50 s a step; 1 layouts>"
    assert "<td>tp2 x dp4</td>" in answer._repr_html_()
    sent = json.loads(server.asked[0].content)
    assert sent == {
        "model": "llama-3.1-8b",
        "cluster": {"gpu": "h100-80gb", "gpus": 8},
        "globalBatchSize": 64,
        "sequenceLength": 4096,
    }


def test_asyncio_does_the_same(server: Server, a_job: AJob) -> None:
    server.answers = [
        problem(503, "BUSY", "Later."),
        a_job(),
        stream(("job", a_job(state="Complete"), "1")),
        {"items": [{"step": 1, "loss": 1.0}], "gaps": []},
        httpx.Response(200, text="one\n"),
    ]

    async def use() -> None:
        async with server.async_client() as client:
            job = await client.job("9a31538c-c53d-43d9-a67a-b81a89471c56")
            assert (await job.wait()).state == "Complete"
            assert (await job.step_points(max_points=10))[0]["loss"] == 1.0
            assert await job.logs() == "one\n"

    asyncio.run(use())
    assert server.slept == [0.5]
