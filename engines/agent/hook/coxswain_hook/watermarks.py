"""How far is this rank in each process group? From that is seen, beside those of the other ranks, whom they wait for.

Every second the counts of the groups are read, some fractions of a microsecond each. Only where none of them has moved for some seconds it is asked what is under
way; until then it is taken for complete. Nothing of PyTorch is replaced.
"""

import time

from coxswain_hook import flight_recorder
from coxswain_hook.phase import operation_of

MAX_GROUPS = 32
MAX_GROUPS_LOOKED_AT = 256
MAX_NAME = 64
MAX_OPERATION = 32
MAX_RANKS_TEXT = 8192
STANDS_AFTER_SECONDS = 5.0
LONGEST_LOOK_SECONDS = 60.0
# By the function in which a rank stands. `recv` of PyTorch before 2.15 calls `irecv`; with NCCL both stand there until the other has come for the first time.
BETWEEN_TWO = {'send': 'send', 'recv': 'recv', 'isend': 'send', 'irecv': 'recv'}
# Functions of torch.distributed that wait for the other members by themselves; those of objects are made of them.
COLLECTIVES = (
    'all_gather', 'all_gather_into_tensor', 'all_reduce', 'all_to_all', 'all_to_all_single', 'barrier', 'broadcast', 'gather', 'monitored_barrier',
    'reduce', 'reduce_scatter', 'reduce_scatter_tensor', 'scatter',
)  # fmt: skip


class Group:
    """Of one process group; counts are of operations, from 1."""

    def __init__(self, name, description, members):
        self.name = name
        self.description = description
        # Global ranks in the order of the group.
        self.members = members
        self.enqueued = self.started = self.completed = 0
        self.raw = None
        # Operations between two members that PyTorch counts with the others, and of which each member has another number.
        self.between_two = 0
        self.operation = 'unknown'
        self.bytes = 0
        self.since = 0.0

    def moved(self, raw, now):
        self.raw = raw
        self.enqueued = self.started = self.completed = max(0, raw - self.between_two)
        self.since = now

    def stands(self, flight):
        """`flight`: what the recorder knows of it, or None where it knows nothing."""
        if flight is None:
            return
        if flight.newest > 0:
            self.between_two = max(0, self.raw - flight.newest)
        self.enqueued = max(0, self.raw - self.between_two)
        left = list(flight.collectives.values())
        self.completed = max(0, self.enqueued - len(left))
        self.started = max(self.completed, self.enqueued - sum(not has_begun for _, _, has_begun in left))
        if left:
            self.operation, self.bytes, _ = left[0]

    def told(self, now):
        return {
            'group': self.name,
            'operation': self.operation[:MAX_OPERATION] or 'unknown',
            'bytes': self.bytes,
            'enqueued': self.enqueued,
            'started': self.started,
            'completed': self.completed,
            'ageMs': round(max(0.0, now - self.since) * 1e3),
        }


class Watermarks:
    """`distributed`: torch.distributed.distributed_c10d. `recorder`: torch._C._distributed_c10d, where it is."""

    def __init__(self, distributed, recorder, rank, clock=time.monotonic):
        self._distributed = distributed
        self._recorder = recorder
        self._rank = rank
        self._clock = clock
        self._groups = {}
        # Two members of a group of which one waits for the other, by name: Group.
        self._pairs = {}
        self._moved_at = clock()
        self._look_again_at = 0.0

    def look(self, frame=None):
        """Where the groups are now, those first that were used. `frame`: the innermost of the thread that trains."""
        now = self._clock()
        backends = set()
        if self._see_counts(now, backends):
            # What was seen of another group when nothing moved may be over since, and nothing would tell.
            self._forget_waits()
            self._moved_at = now
            self._look_again_at = now + STANDS_AFTER_SECONDS
            self._pairs = {}
        elif now >= self._look_again_at:
            self._look_again_at = now + min(LONGEST_LOOK_SECONDS, max(STANDS_AFTER_SECONDS, now - self._moved_at))
            self._see_standing(backends, frame)
        told = sorted(self._groups.values(), key=lambda group: (group.enqueued == 0, -group.since))
        return [group.told(now) for group in [*self._pairs.values(), *told][:MAX_GROUPS]]

    def _forget_waits(self):
        for group in self._groups.values():
            group.started = group.completed = group.enqueued

    def groups(self):
        """Which ranks are in each: what is said once."""
        named = [*self._groups.values(), *self._pairs.values()][:MAX_GROUPS]
        told = [{'group': one.name, 'name': one.description, 'ranks': rank_set(one.members)} for one in named]
        return [one for one in told if len(one['ranks']) <= MAX_RANKS_TEXT]

    def _see_counts(self, now, backends):
        """Whether any has moved, come or gone."""
        world = self._distributed._world
        seen = {}
        has_moved = False
        for group, members in list(world.pg_group_ranks.items())[:MAX_GROUPS_LOOKED_AT]:
            count = getattr(group, '_get_sequence_number_for_group', None)
            name = str(getattr(group, 'group_name', ''))[:MAX_NAME]
            if count is None or not name or self._rank not in members:
                continue
            known = self._groups.get(name)
            if known is None:
                known = Group(name, _description(group, name), sorted(members, key=members.get))
            seen[name] = known
            backends.add(str(world.pg_map.get(group, ('',))[0]))
            raw = int(count())
            if raw != known.raw:
                known.moved(raw, now)
                has_moved = True
        has_moved = has_moved or len(seen) != len(self._groups)
        self._groups = seen
        return has_moved

    def _see_standing(self, backends, frame):
        flights = flight_recorder.read(flight_recorder.dump(self._recorder, backends))
        self._forget_waits()
        self._pairs = {}
        for group in self._groups.values():
            flight = flights.get(group.name)
            group.stands(flight)
            for operation, held, other in flight.pairs if flight is not None else ():
                if other is not None and other < len(group.members):
                    self._wait_for(group, group.members[other], operation, held)
        if not self._pairs and not any(group.completed < group.enqueued for group in self._groups.values()):
            self._see_call(*operation_of(frame))

    def _see_call(self, operation, arguments):
        """Where no recorder tells: by the call in which the program is."""
        if operation is None or not self._groups:
            return
        asked = arguments.get('group')
        name = str(getattr(asked, 'group_name', ''))
        newest = max(self._groups.values(), key=lambda group: group.since)
        group = self._groups.get(name) or (newest if asked is not None else next(iter(self._groups.values())))
        if operation in BETWEEN_TWO:
            other = _other_of(arguments, group)
            if other is not None:
                self._wait_for(group, other, BETWEEN_TWO[operation], 0)
        elif operation in COLLECTIVES and group.enqueued > 0:
            group.completed = group.enqueued - 1
            group.operation, group.bytes = operation, 0

    def _wait_for(self, group, other, operation, held):
        """An operation between two is told as one of a group of these two, the first and only one: their counts are of no use to each other."""
        members = sorted((self._rank, other))
        name = '{}/{}-{}'.format(group.name, *members)[-MAX_NAME:]
        pair = self._pairs.setdefault(name, Group(name, '{} between two'.format(group.description)[:MAX_NAME], members))
        pair.enqueued = pair.started = 1
        pair.operation, pair.bytes, pair.since = operation, held, self._moved_at


def rank_set(ranks):
    """Ranks as `0-7`, `0-56/8` for every eighth, or one after the other with commas."""
    parts, at = [], 0
    while at < len(ranks):
        stride = ranks[at + 1] - ranks[at] if at + 1 < len(ranks) else 0
        last = at
        while stride > 0 and last + 1 < len(ranks) and ranks[last + 1] - ranks[last] == stride:
            last += 1
        # Two that are far from each other are two.
        if last - at < 2 and stride != 1:
            last = at
        text = str(ranks[at])
        if last > at:
            text += '-{}'.format(ranks[last]) + ('' if stride == 1 else '/{}'.format(stride))
        parts.append(text)
        at = last + 1
    return ','.join(parts)


def _description(group, name):
    """What it is for. Groups of which nobody says so have nothing in common."""
    said = str(getattr(group, 'group_desc', '') or '')
    return (name if said in ('', 'undefined') else said)[:MAX_NAME]


def _other_of(arguments, group):
    for key, is_global in (('src', True), ('dst', True), ('group_src', False), ('group_dst', False)):
        value = arguments.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            if is_global:
                return value
            return group.members[value] if value < len(group.members) else None
    return None
