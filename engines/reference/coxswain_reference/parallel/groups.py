"""The process groups of a layout, with collectives that are timed, and that cost nothing in a group of one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from coxswain_agent import StepTimer

from coxswain_reference.errors import AddressTaken, NoDevice
from coxswain_reference.layout import Layout

COLLECTIVE_TIMEOUT = timedelta(minutes=10)


class Group:
    """The ranks that share one axis of the layout, in the order of that axis."""

    def __init__(self, ranks: list[int], rank: int, timer: StepTimer) -> None:
        self.ranks = ranks
        self.size = len(ranks)
        self.index = ranks.index(rank)
        self._timer = timer
        self._group = _process_group(ranks)

    def all_reduce(self, tensor: torch.Tensor, op: dist.ReduceOp.RedOpType = dist.ReduceOp.SUM) -> torch.Tensor:
        """Reduces `tensor` in place over the group and returns it."""
        if self.size > 1:
            with self._timer.phase('communication'):
                dist.all_reduce(tensor, op, group=self._group)
        return tensor

    def reduce_scatter(self, whole: torch.Tensor) -> torch.Tensor:
        """The sum over the group of this member's equal part of the flat tensor `whole`."""
        if self.size == 1:
            return whole
        part = torch.empty(whole.numel() // self.size, dtype=whole.dtype, device=whole.device)
        with self._timer.phase('communication'):
            dist.reduce_scatter_single(part, whole, group=self._group)
        return part

    def all_gather(self, part: torch.Tensor) -> torch.Tensor:
        """The flat parts of all members, one after another."""
        if self.size == 1:
            return part
        whole = torch.empty(part.numel() * self.size, dtype=part.dtype, device=part.device)
        with self._timer.phase('communication'):
            dist.all_gather_single(whole, part, group=self._group)
        return whole

    def exchange(
        self, *, send: list[tuple[torch.Tensor, int]], receive: list[tuple[torch.Tensor, int]]
    ) -> list[dist.Work]:
        """Starts sends to and receives from members (by index) as one batch, awaits the receives, returns the sends.

        As one batch, because two neighbours that each send first would wait for each other for ever on NCCL.
        """
        operations = [dist.P2POp(dist.isend, tensor, self.ranks[to], self._group) for tensor, to in send]
        operations += [dist.P2POp(dist.irecv, tensor, self.ranks[source], self._group) for tensor, source in receive]
        if not operations:
            return []
        with self._timer.phase('communication'):
            works = dist.batch_isend_irecv(operations)
            if len(works) < len(operations):  # NCCL gives one handle for the whole batch
                for work in works:
                    work.wait()
                return []
            for work in works[len(send) :]:
                work.wait()
        return works[: len(send)]


@dataclass(frozen=True)
class Groups:
    """All groups that one rank belongs to."""

    tensor: Group
    data: Group
    pipeline: Group
    world: Group


def device_of(local_rank: int, gpus: int) -> torch.device:
    """This rank's own of the `gpus` that CUDA shows this process; the CPU where it shows none."""
    if gpus == 0:
        return torch.device('cpu')
    if local_rank >= gpus:
        raise NoDevice(
            f'LOCAL_RANK {local_rank} has no GPU: CUDA shows {gpus}, and each rank needs one of its own. '
            'Start fewer ranks here, or make the missing GPU visible.'
        )
    return torch.device('cuda', local_rank)


def join(layout: Layout, device: torch.device, timer: StepTimer) -> Groups:
    """Meets the other ranks at MASTER_ADDR:MASTER_PORT, which rank 0 opens, and forms the groups of the layout."""
    backend = 'nccl' if device.type == 'cuda' else 'gloo'
    try:
        dist.init_process_group(backend, init_method='env://', timeout=COLLECTIVE_TIMEOUT)
    except dist.DistNetworkError as error:
        if 'EADDRINUSE' in str(error) or 'already in use' in str(error):
            raise AddressTaken(f'MASTER_PORT is taken by another process: {_first_line(error)}') from error
        raise
    return Groups(
        tensor=Group(layout.tensor_group, layout.rank, timer),
        data=Group(layout.data_group, layout.rank, timer),
        pipeline=Group(layout.pipeline_group, layout.rank, timer),
        world=Group(list(range(layout.world_size)), layout.rank, timer),
    )


def _process_group(ranks: list[int]) -> dist.ProcessGroup | None:
    if len(ranks) == 1:
        return None
    if len(ranks) == dist.get_world_size():
        return dist.group.WORLD
    return dist.new_group(ranks, timeout=COLLECTIVE_TIMEOUT, use_local_synchronization=True)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
