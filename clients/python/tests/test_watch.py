"""A job that is watched to its end, in a terminal and in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Parts, Server, frame
from coxswain import _watch

AJob = Callable[..., dict[str, Any]]
JOB_ID = "9a31538c-c53d-43d9-a67a-b81a89471c56"
AT = "2026-11-29T07:00:05.000Z"
both = pytest.mark.parametrize("is_async", [False, True], ids=["without asyncio", "with asyncio"])


def watch(server: Server, is_async: bool) -> None:
    if not is_async:
        server.client().job(JOB_ID).watch()
        return

    async def run() -> None:
        async with server.async_client() as client:
            await (await client.job(JOB_ID)).watch()

    asyncio.run(run())


def step(number: int, loss: float | None) -> bytes:
    point = {"step": number, "loss": loss, "tokensPerSecond": None, "stepTimeMs": 500, "at": AT}
    return frame("step", point, f"1-{number}")


@both
def test_a_terminal_shows_the_last_step_before_the_end(
    server: Server, a_job: AJob, capsys: pytest.CaptureFixture[str], is_async: bool
) -> None:
    end = frame("job", a_job(state="Complete", summary="All ranks finished.")) + step(160, 1.5)
    server.answers = [a_job(), Parts(frame("job", a_job()), b"id: 1\n\n", end).events()]
    watch(server, is_async)
    assert capsys.readouterr().out == (
        "07:00:05  step 160 of 160, loss 1.5000, 0.0 s left\ntiny: Complete. All ranks finished.\n"
    )


@both
def test_a_step_without_a_loss_is_shown_with_the_last_one(
    server: Server, a_job: AJob, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_async: bool
) -> None:
    monkeypatch.setattr(_watch, "_SHOWN_EVERY_SECONDS", 0.0)
    end = step(10, 1.5) + step(11, None) + frame("job", a_job(state="Complete", summary="All ranks finished."))
    server.answers = [a_job(), Parts(frame("job", a_job()), b"id: 1\n\n", end).events()]
    watch(server, is_async)
    assert "step 11 of 160, loss 1.5000" in capsys.readouterr().out


@both
def test_a_card_has_the_curve_from_the_first_step_and_again_after_a_gap(
    server: Server, a_job: AJob, monkeypatch: pytest.MonkeyPatch, is_async: bool
) -> None:
    cards: list[str] = []
    monkeypatch.setattr(_watch, "notebook_card", lambda: cards.append)
    body = Parts(
        frame("job", a_job()),
        b"id: 1\n\n",
        step(40, 4.0),
        frame("resync", {}),
        frame("job", a_job(state="Complete")) + step(160, 1.5),
    )
    first = {"items": [{"step": 1, "loss": 5.0}, {"step": 39, "loss": 4.1}], "gaps": []}
    again = {"items": [{"step": 1, "loss": 5.5}, {"step": 159, "loss": 1.6}], "gaps": []}
    server.answers = [a_job(), first, body.events(), again]
    watch(server, is_async)
    assert "Loss from 5.0000 at step 1 to 4.1000 at step 39" in cards[0]
    assert "Loss from 5.5000 at step 1 to 1.5000 at step 160" in cards[-1]
    assert "Complete" in cards[-1]
