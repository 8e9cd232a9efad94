"""The ranks meet once, before the first step, on the port that the launcher of rank 0 chose."""

from __future__ import annotations

import errno
import socket
import time

from coxswain_sleeper.endings import Ending, PortTaken


def meet(*, rank: int, world_size: int, host: str, port: int, timeout_seconds: float) -> None:
    """Returns once every rank is there."""
    if rank == 0:
        _gather(world_size, port, timeout_seconds)
    else:
        _join(rank, host, port, timeout_seconds)


def _gather(world_size: int, port: int, timeout_seconds: float) -> None:
    deadline = time.monotonic() + timeout_seconds
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) if socket.has_dualstack_ipv6() else socket.socket() as listener:
        if listener.family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(('', port))
            listener.listen(world_size)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise PortTaken(f'port {port} is taken by another process.') from error
            raise
        connections = []
        while len(connections) < world_size - 1:
            listener.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                connections.append(listener.accept()[0])
            except TimeoutError:
                missing = world_size - 1 - len(connections)
                raise Ending(f'{missing} of {world_size} ranks did not come within {timeout_seconds:.0f} s.') from None
        for connection in connections:
            connection.sendall(b'!')
            connection.close()


def _join(rank: int, host: str, port: int, timeout_seconds: float) -> None:
    deadline = time.monotonic() + timeout_seconds
    while True:
        try:
            with socket.create_connection((host, port), timeout=max(0.001, deadline - time.monotonic())) as connection:
                if connection.recv(1) == b'!':
                    return
        except OSError as error:
            reason: object = error
        else:
            reason = 'it closed the connection'
        if time.monotonic() >= deadline:
            raise Ending(f'rank {rank} did not meet rank 0 at {host}:{port} within {timeout_seconds:.0f} s: {reason}.')
        time.sleep(0.02)
