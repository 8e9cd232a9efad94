"""What the launcher runs in each pod of a gang before the first rank: facts of the pod, its clock beside that of rank 0's pod, and how fast it reaches others.

The launcher carries this file and gives it to the Python of the training image, so it needs Python 3.8 and the standard library; PyTorch only for
level Full. It judges nothing. It is told what to do by JSON lines on stdin, and answers by JSON lines on descriptor 3 (README.md says which).
"""

import contextlib
import datetime
import hashlib
import json
import os
import platform
import re
import resource
import secrets
import socket
import socketserver
import subprocess
import sys
import threading
import time

OUT_FD = 3
MAX_LINE_BYTES = 262_144
CLOCK_PINGS = 5
SMI_TIMEOUT_S = 15
PAIR_TIMEOUT_S = 15
TRIAL_BYTES = 262_144
MOST_BYTES = {'gloo': 8 * 1024 * 1024, 'nccl': 256 * 1024 * 1024}
TRANSFER_S = 0.2
TRANSFERS = 4


def say(kind, **fields):
    """One line for the launcher."""
    os.write(OUT_FD, (json.dumps({'kind': kind, **fields}) + '\n').encode())


def read_order():
    """The launcher's next line; it ends this program by closing the pipe."""
    line = sys.stdin.readline()
    if line == '':
        raise SystemExit(0)
    return json.loads(line)


# What is known without PyTorch


def local_facts():
    """What this pod is, as far as it can be found out without loading PyTorch."""
    packages = installed_packages()
    facts = {'python': platform.python_version(), 'packagesSha256': sha256_of(packages)}
    facts.update(package_versions(packages))
    with contextlib.suppress(OSError):
        shm = os.statvfs('/dev/shm')
        facts['sharedMemoryBytes'] = shm.f_blocks * shm.f_frsize
    with contextlib.suppress(OSError, ValueError):
        limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
        facts['memlockBytes'] = None if limit == resource.RLIM_INFINITY else limit
    with contextlib.suppress(OSError):
        disk = os.statvfs(os.environ.get('TMPDIR') or '/tmp')  # noqa: S108
        facts['scratchFreeBytes'] = disk.f_bavail * disk.f_frsize
    facts.update(gpu_facts())
    return facts


def installed_packages():
    """`name-version` of every installed package, from the names of the folders that hold their metadata: reading that of hundreds takes a second."""
    found = set()
    for folder in sys.path:
        with contextlib.suppress(OSError):
            for name in os.listdir(folder or '.'):
                match = re.match(r'(.+)\.(dist|egg)-info$', name)
                if match:
                    found.add(match.group(1).lower())
    return sorted(found)


def package_versions(packages):
    """PyTorch and NCCL as their packages name them."""
    versions = {}
    for package in packages:
        match = re.match(r'(torch|nvidia_nccl_cu\d+)-([^-]+)$', package)
        if match:
            versions['torch' if match.group(1) == 'torch' else 'nccl'] = match.group(2)[:64]
    return versions


def sha256_of(lines):
    return hashlib.sha256('\n'.join(lines).encode()).hexdigest()


def gpu_facts():
    """GPUs and driver as nvidia-smi tells of them; nothing where there is none. One that is lost fails it, and the others are told all the same."""
    query = ['nvidia-smi', '--query-gpu=name,memory.total,driver_version', '--format=csv,noheader,nounits']
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=SMI_TIMEOUT_S, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    rows = [[cell.strip() for cell in row.split(',')] for row in answer.splitlines() if row.count(',') == 2]
    known = [row for row in rows if row[1].isdigit()]
    gpus = [{'name': name[:64], 'memoryBytes': int(mebibytes) << 20} for name, mebibytes, _ in known]
    return {'gpus': gpus, 'driver': (known or rows)[0][2][:64]} if rows else {}


# Where pods meet


class Board:
    """Where the pods of a gang wait for each other and tell each other what they measured: a server in the pod of rank 0, for as long as this lasts."""

    def __init__(self, pods):
        self.key = secrets.token_hex(16)
        self._pods = pods
        self._values = {}
        self._changed = threading.Condition()
        board = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                while True:
                    line = self.rfile.readline(MAX_LINE_BYTES)
                    if not line.endswith(b'\n'):
                        return
                    reply = board.answer(json.loads(line))
                    if reply is None:
                        return
                    self.wfile.write((json.dumps(reply) + '\n').encode())

        class Server(socketserver.ThreadingTCPServer):
            address_family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
            daemon_threads = True
            request_queue_size = 1024

            def server_bind(self):
                if self.address_family == socket.AF_INET6:
                    self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
                self.socket.bind(self.server_address)
                self.server_address = self.socket.getsockname()

            def handle_error(self, request, client_address):
                """Whoever sends nonsense is cut off, and nobody is told."""

        server = Server(('', 0), Handler)
        self.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def answer(self, request):
        """None: no pod of this gang asks."""
        if not secrets.compare_digest(str(request.get('key')), self.key):
            return None
        if request['op'] == 'time':
            return {'time': time.time()}
        with self._changed:
            values = self._values.setdefault(str(request['name']), {})
            values[str(int(request['pod']))] = request['value']
            self._changed.notify_all()
            is_whole = self._changed.wait_for(lambda: len(values) >= self._pods, timeout=request.get('waitS'))
            return {'values': values} if is_whole else {'missing': self._pods - len(values)}


class Meeting:
    """This pod's connection to the board."""

    def __init__(self, address, key, pod):
        host, port = address.rsplit(':', 1)
        self.host = host.strip('[]')
        self._socket = socket.create_connection((self.host, int(port)), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile('rwb')
        self._key = key
        self._pod = pod

    def ask(self, **request):
        self._file.write((json.dumps({'key': self._key, 'pod': self._pod, **request}) + '\n').encode())
        self._file.flush()
        return json.loads(self._file.readline(MAX_LINE_BYTES * 64))

    def all(self, name, value=None, wait_s=None):
        """What every pod said under that name, by pod, once all have; raises TimeoutError where one does not in time."""
        self._socket.settimeout(None if wait_s is None else wait_s + 10)
        answer = self.ask(op='all', name=name, value=value, waitS=wait_s)
        if 'missing' in answer:
            raise TimeoutError('%d pods did not come to "%s" within %.0f s' % (answer['missing'], name, wait_s))
        return {int(pod): value for pod, value in answer['values'].items()}

    def clock(self):
        """How far this pod's clock is ahead of the board's, from the quickest of some questions."""
        best = None
        for _ in range(CLOCK_PINGS):
            asked, asked_at = time.perf_counter(), time.time()
            there = self.ask(op='time')['time']
            round_trip = time.perf_counter() - asked
            ahead = asked_at + round_trip / 2 - there
            if best is None or round_trip < best[1]:
                best = (ahead, round_trip)
        return {'aheadMs': round(best[0] * 1000, 3), 'uncertaintyMs': round(best[1] * 500, 3)}


# What PyTorch knows


def torch_facts():
    """PyTorch and what it sees."""
    import torch

    facts = {'torch': str(torch.__version__)[:64]}
    if torch.version.cuda:
        facts['cuda'] = str(torch.version.cuda)[:64]
    if torch.cuda.is_available():
        properties = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
        facts['gpus'] = [{'name': one.name[:64], 'memoryBytes': one.total_memory} for one in properties]
        with contextlib.suppress(Exception):
            facts['nccl'] = '.'.join(str(part) for part in torch.cuda.nccl.version())
    return facts


def backend_here():
    import torch
    import torch.distributed as dist

    if not dist.is_available():
        return None
    return 'nccl' if torch.cuda.is_available() and dist.is_nccl_available() else 'gloo'


class Transfers:
    """Transfers between this pod and one other at a time. With NCCL: between the first GPU of each."""

    def __init__(self, store, backend, pod):
        import torch
        import torch.distributed as dist

        self._torch, self._dist = torch, dist
        self._store, self._backend, self._pod = store, backend, pod
        self._device = torch.device('cuda', 0) if backend == 'nccl' else torch.device('cpu')

    def measure(self, peer, number, timeout_s):
        """Best of some transfers of this round, in bytes a second; raises where it does not come about."""
        dist = self._dist
        low, high = min(self._pod, peer), max(self._pod, peer)
        store = dist.PrefixStore('pair/%d/%d-%d' % (number, low, high), self._store)
        rank = 0 if self._pod == low else 1
        timeout = datetime.timedelta(seconds=timeout_s)
        dist.init_process_group(self._backend, store=store, rank=rank, world_size=2, timeout=timeout)
        try:
            self._transfer(TRIAL_BYTES)
            # Both ends must send alike, so they agree on how slow it is.
            slowest = self._torch.tensor([self._transfer(TRIAL_BYTES)], device=self._device)
            dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
            rate = TRIAL_BYTES / max(float(slowest[0]), 1e-6)
            size = int(min(MOST_BYTES[self._backend], max(TRIAL_BYTES, rate * TRANSFER_S)))
            return size / min(self._transfer(size) for _ in range(TRANSFERS))
        finally:
            dist.destroy_process_group()

    def _transfer(self, size):
        """Seconds that both ends take to add up that many bytes: each sends and receives all of them."""
        data = self._torch.ones(size // 4, dtype=self._torch.float32, device=self._device)
        self._wait()
        begun = time.perf_counter()
        self._dist.all_reduce(data)
        self._wait()
        return time.perf_counter() - begun

    def _wait(self):
        if self._device.type == 'cuda':
            self._torch.cuda.synchronize()


def open_store(meeting, order):
    """PyTorch's store, in the pod of rank 0."""
    import torch.distributed as dist

    timeout = datetime.timedelta(seconds=PAIR_TIMEOUT_S)
    store, port = None, None
    if order['isHost']:
        store = dist.TCPStore(meeting.host, 0, None, True, timeout, False)
        port = store.port
    ports = [one for one in meeting.all('store', port, PAIR_TIMEOUT_S).values() if one is not None]
    if store is None:
        store = dist.TCPStore(meeting.host, ports[0], None, False, timeout, False)
    return store


# In order


def measure_pairs(meeting, order, deadline):
    """Rounds of pairs as the launcher names them, then those that it names when all were told what was measured."""
    backends = set(meeting.all('backend', backend_here(), left(deadline)).values())
    if None in backends or len(backends) > 1:
        raise RuntimeError('the pods have no backend in common: %s' % ', '.join(sorted(str(one) for one in backends)))
    transfers = Transfers(open_store(meeting, order), backends.pop(), order['pod'])
    first = run_rounds(meeting, transfers, order['peers'], 0, deadline)
    table = meeting.all('table', first, left(deadline))
    say('table', pairs=[{'pod': pod, **pair} for pod, pairs in sorted(table.items()) for pair in pairs])
    run_rounds(meeting, transfers, read_order()['peers'], len(order['peers']), deadline)
    meeting.all('end', None, left(deadline))


def run_rounds(meeting, transfers, peers, first_number, deadline):
    measured = []
    for number, peer in enumerate(peers, first_number):
        meeting.all('round/%d' % number, None, left(deadline))
        if peer is None:
            continue
        rate = None
        try:
            rate = transfers.measure(peer, number, min(PAIR_TIMEOUT_S, left(deadline)))
        except Exception as error:  # noqa: BLE001: whatever a backend raises, this pair did not come about
            print('pair with pod %d: %s' % (peer, error), file=sys.stderr)
        measured.append({'peer': peer, 'round': number, 'bytesPerSecond': rate})
        say('pair', **{'pair': measured[-1]})
    return measured


def left(deadline):
    """Seconds until the deadline; raises TimeoutError when there are none."""
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError('the time for it is over')
    return seconds


def main():
    order = read_order()
    board = Board(order['pods']) if order['isHost'] else None
    if board is not None:
        say('board', port=board.port, key=board.key)
    say('facts', facts=local_facts())
    place = read_order()
    meeting = Meeting(place['address'], place['key'], order['pod'])
    # Pods start when their image is there: until the last has come nobody is late.
    meeting.all('here')
    say('gathered')
    deadline = time.monotonic() + order['timeoutS']
    say('facts', facts={'clock': meeting.clock()})
    meeting.all('clock', None, left(deadline))
    if order['level'] == 'Full':
        say('facts', facts=torch_facts())
        if order['peers']:
            measure_pairs(meeting, order, deadline)
    say('done')
    # The board is here until nobody needs it: the launcher closes the pipe.
    read_order()


if __name__ == '__main__':
    try:
        main()
    except (ImportError, OSError, RuntimeError, TimeoutError, ValueError, KeyError) as error:
        say('failed', note=('%s: %s' % (type(error).__name__, error))[:256])
        with contextlib.suppress(Exception):
            read_order()
