"""A program that the type checker has to accept; nothing runs it."""

from __future__ import annotations

import coxswain
from coxswain import operations, types


def names_of_running(client: coxswain.Client) -> list[str]:
    """Types of generated requests reach the caller."""
    page = client.call(operations.jobs_list("research", state="Running", page_size=10))
    jobs: list[types.JobSummary] = page["items"]
    return [job["name"] for job in jobs]


async def last_loss(client: coxswain.AsyncClient) -> float | None:
    """Methods of jobs are typed with and without asyncio."""
    job = await client.submit("job.yaml", gpus=8)
    points = await (await job.wait()).step_points(max_points=1)
    return points[-1]["loss"]
