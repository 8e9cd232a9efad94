"""Two pods of level Full that share one GPU: does their transfer by NCCL come about? Needs PyTorch for CUDA and one GPU.

    python engines/preflight/bench/pods_on_a_gpu.py

NCCL refuses two ranks on one GPU of one host, so each pod says that it is a host of its own (`NCCL_HOSTID`), and they meet over the loopback. What is printed
is what the launchers would hear; how fast it was says nothing about a network.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).resolve().parents[1] / 'coxswain_preflight.py'
DEADLINE_S = 120


class Pod:
    def __init__(self, number: int) -> None:
        self.heard: list[dict[str, Any]] = []
        answers, out = os.pipe()
        as_a_host = {'NCCL_HOSTID': f'host-{number}', 'NCCL_SOCKET_IFNAME': 'lo', 'NCCL_IB_DISABLE': '1'}
        self._process = subprocess.Popen(
            ['bash', '-c', f'exec "$0" "$1" 3>&{out}', sys.executable, str(PROGRAM)],
            stdin=subprocess.PIPE,
            pass_fds=(out,),
            env={**os.environ, **as_a_host},
            text=True,
        )
        os.close(out)
        self._answers = os.fdopen(answers)

    def order(self, **fields: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(fields) + '\n')
        self._process.stdin.flush()

    def hear(self, *kinds: str) -> dict[str, Any]:
        """Up to the first answer of one of these kinds."""
        for line in self._answers:
            self.heard.append(json.loads(line))
            if self.heard[-1]['kind'] in (*kinds, 'failed'):
                return self.heard[-1]
        raise SystemExit('a pod ended before it said ' + ' or '.join(kinds))

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(DEADLINE_S)


def main() -> None:
    pods = [Pod(0), Pod(1)]
    for number, pod in enumerate(pods):
        about = {'level': 'Full', 'pod': number, 'pods': 2, 'isHost': number == 0, 'timeoutS': DEADLINE_S}
        pod.order(**about, peers=[1 - number])
    board = pods[0].hear('board')
    for pod in pods:
        pod.order(address=f'127.0.0.1:{board["port"]}', key=board['key'])
    for pod in pods:
        pod.hear('table')
        pod.order(peers=[])
    for pod in pods:
        pod.hear('done')
    for pod in pods:
        pod.end()
    print(json.dumps([pod.heard for pod in pods], indent=1))


if __name__ == '__main__':
    main()
