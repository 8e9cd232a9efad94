"""A second process of a rank, which imports what the rank has imported and waits in here, before Python runs the program.

The launcher starts it with the command of the rank, and without RANK: what looks for ranks in the environments of processes does not find it. They speak over a
socket that it inherits, in lines of JSON. When the ranks start again in this pod, the launcher releases it with the variables and arguments of the new start;
then it is the rank. In any trouble before that it ends and says why, and the launcher starts the rank as always.
"""

import importlib
import json
import os
import socket
import sys

from coxswain_hook.imports import changed
from coxswain_hook.reads import Reads

CHANNEL_VARIABLE = 'COXSWAIN_SUCCESSOR_CHANNEL'
OF_VARIABLE = 'COXSWAIN_SUCCESSOR_OF'
FIRST = ('torch', 'torch.distributed')
# Put together anew at each start: where Python searches is set right at the release.
OWN_VARIABLES = ('PYTHONPATH',)
# Libraries in C read these when they are loaded. The hook cannot observe that.
READ_BY_LOADERS = (
    *('OMP_', 'GOMP_', 'KMP_', 'MKL_', 'OPENBLAS_', 'BLIS_', 'NUMEXPR_', 'LD_', 'MALLOC_'),
    *('CUDA_', 'HIP_', 'ROCR_', 'PYTORCH_', 'TORCH_', 'C10_'),
)
# And these only when a process group is made.
READ_LATE = ('TORCH_NCCL_', 'TORCH_GLOO_', 'TORCH_DISTRIBUTED_')
DEVICES = ('/dev/nvidia', '/dev/kfd', '/dev/dri/')
# Open also in a process that only counts GPUs.
HARMLESS_DEVICES = ('/dev/nvidiactl', '/dev/nvidia-caps')
MAX_LINE_BYTES = 16 * 1024 * 1024


class Unfit(Exception):
    """Why this process must not become the rank."""


def serve(run_shadowed):
    """Returns when the launcher releases this process; ends the process otherwise.

    `run_shadowed`: what Python would have run at its start without us.
    """
    channel = Channel(int(os.environ.pop(CHANNEL_VARIABLE)))
    # Until the launcher reads this, it has to assume that the program runs without the hook.
    channel.write({'kind': 'here'})
    rank = os.environ.pop(OF_VARIABLE)
    name = _rename(f'successor-{rank}')
    try:
        order = channel.read()
        began = {**order['given'], **order['environment']}
        os.environ.update(order['environment'])
        reads = prepare(order, run_shadowed)
        channel.write({'kind': 'ready'})
        order = channel.read()
        now = order['environment']
        kept = kept_changes(began, os.environ, now)
        _check_reads(reads.differing(now, (*OWN_VARIABLES, *kept)), 'has another value in each start')
    except Unfit as unfit:
        channel.write({'kind': 'unfit', 'why': str(unfit)[:1000]})
        os._exit(1)
    except Exception as error:
        channel.write({'kind': 'unfit', 'why': f'{type(error).__name__}: {error}'[:1000]})
        os._exit(1)
    take_over(now, kept, order['arguments'])
    _rename(name)
    channel.write({'kind': 'taken'})
    channel.close()


def prepare(order, run_shadowed):
    """Imports, and gives which variables that read. Raises where a process that has done so is no rank that has just started."""
    listed = _listed(order.get('imports'))
    names = [] if order.get('isPyTorchAlone') else listed['modules']
    with Reads() as reads:
        run_shadowed()
        for name in FIRST:
            importlib.import_module(name)
            _check_devices(name)
        for name in names:
            _import(name)
    # A module of a package may have opened one, or a thread that an import has started.
    _check_devices('a library')
    _check_torch(sys.modules['torch'])
    set_by_program = {name for name, value in listed['environment'].items() if os.environ.get(name) != value}
    _check_reads(
        {name: reader for name, (_, reader) in reads.found.items() if name in set_by_program}, 'the program sets'
    )
    early = sorted(
        name for name in set_by_program if name.startswith(READ_BY_LOADERS) and not name.startswith(READ_LATE)
    )
    if early:
        names = ', '.join(early)
        raise Unfit(f'the program sets {names}, which libraries read when they are loaded; set it in engine.env')
    return reads


def kept_changes(began, imported, now):
    """What changed since the start, by a library, a .pth file or what starts Python: that is not executed again. None: removed.

    A variable that is given another value in this start has that.
    """
    return {name: value for name, value in changed(began, imported).items() if now.get(name) == began.get(name)}


def take_over(environment, kept, arguments):
    """Variables, arguments and path as those of a process that has just started, and has imported the same."""
    before = _folders(os.environ.get('PYTHONPATH', ''))
    after = {**environment, **kept}
    os.environ.clear()
    os.environ.update({name: value for name, value in after.items() if value is not None})
    count = len(sys.argv) - 1
    original = getattr(sys, 'orig_argv', None)
    if original is not None:
        original[len(original) - count :] = arguments
    sys.argv[1:] = arguments
    # The first folder is the hook of this process, which stays: parts of it are imported late.
    own, rest = before[:1], [one for one in sys.path if one not in before]
    sys.path[:] = [*own, *_folders(environment.get('PYTHONPATH', ''))[1:], *rest]
    importlib.invalidate_caches()
    sys.stdout.flush()
    sys.stderr.flush()


class Channel:
    """Lines of JSON to the launcher and from it."""

    def __init__(self, descriptor):
        os.set_inheritable(descriptor, False)
        self._socket = socket.socket(fileno=descriptor)
        self._unread = b''

    def read(self):
        """The next line. If the launcher has gone, this process goes too."""
        while b'\n' not in self._unread:
            read = self._socket.recv(65_536)
            if not read or len(self._unread) > MAX_LINE_BYTES:
                os._exit(0)
            self._unread += read
        line, _, self._unread = self._unread.partition(b'\n')
        return json.loads(line)

    def write(self, message):
        try:
            self._socket.sendall(json.dumps(message).encode() + b'\n')
        except OSError:
            os._exit(0)

    def close(self):
        self._socket.close()


def _listed(path):
    """What the rank before has written."""
    if path is None:
        return {'modules': [], 'environment': {}}
    try:
        with open(path) as file:
            listed = json.load(file)
        return {'modules': listed['modules'], 'environment': listed['environment']}
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise Unfit(f'which variables the program sets is not known: its list of imports cannot be read: {error}') from None


def _import(name):
    if name in sys.modules:
        return
    try:
        importlib.import_module(name)
    except ImportError:
        # One that its parent makes, or that is there for others only.
        return
    if '.' not in name:
        _check_devices(name)


def _check_torch(torch):
    if torch.cuda.is_initialized():
        raise Unfit('CUDA was initialised by an import')
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        raise Unfit('a process group was made by an import')


def _check_devices(name):
    for descriptor in os.listdir('/proc/self/fd'):
        try:
            target = os.readlink(f'/proc/self/fd/{descriptor}')
        except OSError:
            continue
        if target.startswith(DEVICES) and not target.startswith(HARMLESS_DEVICES):
            raise Unfit(f'the import of {name} opened {target}, so it uses a GPU')


def _check_reads(readers, why):
    if readers:
        named = ', '.join(f'{name} ({reader})' for name, reader in sorted(readers.items())[:5])
        raise Unfit(f'an import read a variable that {why}: {named}')


def _folders(path):
    return [os.path.abspath(one) for one in path.split(os.pathsep) if one]


def _rename(name):
    """Sets the name that `ps` and `top` show, where that is allowed, and gives the one before."""
    before = ''
    try:
        with open('/proc/self/comm') as file:
            before = file.read().strip()
        with open('/proc/self/comm', 'w') as file:
            file.write(name[:15])
    except OSError:
        pass
    return before
