"""Which operations of torch.distributed has a rank called that are not complete? Read from the flight recorder of PyTorch, which records in any case.

Its list is written as text for this, 2,000 entries in about 0.1 s: to be asked where nothing moves, not in the middle of a step.
"""

import json

MAX_DUMP_BYTES = 8 * 1024 * 1024
# As the recorder calls the types of elements (c10::ScalarType).
ELEMENT_BYTES = {
    'Double': 8, 'Long': 8, 'ComplexFloat': 8, 'ComplexDouble': 16, 'Float': 4, 'Int': 4, 'BFloat16': 2, 'Half': 2, 'Short': 2,
    'Byte': 1, 'Char': 1, 'Bool': 1, 'Float8_e4m3fn': 1, 'Float8_e5m2': 1, 'Float8_e4m3fnuz': 1, 'Float8_e5m2fnuz': 1,
}  # fmt: skip


class Flight:
    """What the recorder knows of one process group."""

    def __init__(self):
        # Number of the newest collective; those between two members are not counted in it.
        self.newest = 0
        # Collectives that are not complete, oldest first, by number: (operation, bytes, has begun). Those given to NCCL at once share one.
        self.collectives = {}
        # The same of operations between two: (operation, bytes, index of the other in the group).
        self.pairs = []


def dump(module, backends):
    """The recorder's texts for these backends, one for each that has a recorder: (text, whether it holds what is over too). `module`: torch._C._distributed_c10d."""
    texts = []
    if any('nccl' in backend for backend in backends) and hasattr(module, '_dump_nccl_trace_json'):
        texts.append(_text(module._dump_nccl_trace_json))
    if any('gloo' in backend for backend in backends) and hasattr(module, '_dump_fr_trace_json'):
        # PyTorch 2.15; the one of NCCL before records nothing of gloo.
        texts.append(_text(module._dump_fr_trace_json))
    return texts


def _text(dump_json):
    """All that is kept or, where an engine has asked for more than is read here, what is under way alone."""
    text = dump_json(True, False)
    return (text, True) if len(text) <= MAX_DUMP_BYTES else (dump_json(True, True), False)


def read(texts):
    """By name of a process group, its :class:`Flight`."""
    flights = {}
    for text, is_whole in texts:
        if len(text) > MAX_DUMP_BYTES:
            continue
        entries = sorted(json.loads(text).get('entries') or (), key=lambda one: one.get('record_id', 0))
        are_begins_told = any(_is_begin_told(entry) for entry in entries)
        batches = _batches(entries)
        for entry in entries:
            _take(flights, entry, are_begins_told, _Batches(batches, is_whole))
    return flights


def _is_begin_told(entry):
    """NCCL is asked what has begun on the device only where collectives are timed (TORCH_NCCL_ENABLE_TIMING), which is not so by default."""
    return entry.get('state') == 'started' or bool(entry.get('time_discovered_started_ns'))


def _operation(entry):
    return str(entry.get('profiling_name', '')).partition(':')[2]


def _is_over(entry, batches):
    batch = batches.of.get(_number(entry))
    if batch is not None:
        return batch
    if entry.get('is_p2p') and not batches.are_ended_told:
        # Those that were in a batch stay as they were when that is over, and look like one that is not.
        return True
    return bool(entry.get('retired')) or entry.get('state') == 'completed'


class _Batches:
    """Operations that were given to NCCL at once: by what they have in common whether they are over, and whether those that are have been told."""

    def __init__(self, of, are_ended_told):
        self.of = of
        self.are_ended_told = are_ended_told


def _number(entry):
    """Operations that were given to NCCL at once share a number, and only the entry of all of them, which follows theirs, is ever said to have ended (pytorch/pytorch#137969)."""
    is_p2p = bool(entry.get('is_p2p'))
    return _group(entry), is_p2p, entry.get('p2p_seq_id' if is_p2p else 'collective_seq_id')


def _batches(entries):
    """By number whether the batch is over. Where the host is still giving it to NCCL, its entry says `completed`, and is not retired."""
    over = {}
    before = {}
    for entry in entries:
        group = _group(entry)
        if _operation(entry) == 'coalesced' and group in before:
            over[_number(before[group])] = bool(entry.get('retired'))
        before[group] = entry
    return over


def _group(entry):
    return (entry.get('process_group') or [''])[0]


def _take(flights, entry, are_begins_told, batches):
    operation = _operation(entry)
    if operation == 'coalesced':
        # Its parts say what it is made of.
        return
    flight = flights.setdefault(_group(entry), Flight())
    is_over = _is_over(entry, batches)
    if entry.get('is_p2p'):
        words = operation.split()
        if not is_over and len(words) == 2:
            flight.pairs.append((words[0], _bytes(entry), _other(words[1])))
        return
    number = int(entry.get('collective_seq_id', 0))
    flight.newest = max(flight.newest, number)
    if not is_over:
        has_begun = entry.get('state') == 'started' or not are_begins_told
        flight.collectives.setdefault(number, (operation.lstrip('_') or 'unknown', _bytes(entry), has_begun))


def _other(direction):
    """Of `0->1` and `0<-1` the second."""
    digits = direction.replace('<-', ' ').replace('->', ' ').split()[-1]
    return int(digits) if digits.isdigit() else None


def _bytes(entry):
    held = 0
    for size, kind in zip(entry.get('input_sizes') or (), entry.get('input_dtypes') or ()):
        elements = ELEMENT_BYTES.get(kind, 0)
        for dimension in size:
            elements *= int(dimension)
        held += elements
    return held
