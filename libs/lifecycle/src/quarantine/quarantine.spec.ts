import type { NodeCondition } from '@coxswain/health';
import type { AvoidedNode, AvoidedNodeReason } from '@coxswain/api-types';
import fc from 'fast-check';
import {
  isStillDue,
  type JudgedNode,
  judgeQuarantine,
  noteOf,
  type QuarantineAction,
  type QuarantineNote,
  type Witness,
} from './quarantine.ts';

const NOW = new Date('2026-11-25T12:00:00Z');
const FELL_OFF = { type: 'SysLogsGPUFallenOff', status: 'True', message: 'ErrorCode:79 PCI:0000:02:00' };

const aNode = (name: string, given: Partial<JudgedNode> = {}): JudgedNode => ({
  name,
  gpus: 8,
  bootId: 'boot-1',
  conditions: [],
  isQuarantined: false,
  ...given,
});

/** With so many others that are well. */
const among = (others: number, ...nodes: readonly JudgedNode[]): readonly JudgedNode[] => [
  ...nodes,
  ...Array.from({ length: others }, (_, index) => aNode(`well-${index}`)),
];

function aWitness(namespace: string, given: Partial<AvoidedNode> & { readonly job?: string } = {}): Witness {
  const { job = 'llama', ...entry } = given;
  const avoided: AvoidedNode = {
    node: 'ill',
    reason: 'Condemned',
    epoch: 1,
    since: '2026-11-25T11:00:00Z',
    bootId: 'boot-1',
    ...entry,
  };
  return { namespace, job, avoided: [avoided] };
}

const written = (given: Partial<QuarantineNote> = {}): string =>
  JSON.stringify({ since: NOW.toISOString(), bootId: 'boot-1', evidence: [], ...given });

function quarantined(nodes: readonly JudgedNode[], witnesses: readonly Witness[] = []): readonly string[] {
  return judgeQuarantine(nodes, witnesses, NOW).actions.map(({ kind, node }) => `${kind} ${node}`);
}

describe('a node is kept from every job', () => {
  it.each<[string, JudgedNode, readonly Witness[], boolean]>([
    ['where its own condition says that a GPU is gone', aNode('ill', { conditions: [FELL_OFF] }), [], true],
    [
      'not for a fault of the program that a watcher of nodes has seen',
      aNode('ill', { conditions: [{ type: 'SysLogsXIDError', status: 'True', message: 'ErrorCode:13' }] }),
      [],
      false,
    ],
    [
      'not for want of memory, which pods may have caused',
      aNode('ill', { conditions: [{ type: 'MemoryPressure', status: 'True' }] }),
      [],
      false,
    ],
    [
      'not for maintenance, which is no illness',
      aNode('ill', { conditions: [{ type: 'CSPMaintenance', status: 'True' }] }),
      [],
      false,
    ],
    ['not because one tenant says so', aNode('ill'), [aWitness('a')], false],
    [
      'not because two jobs of one tenant say so',
      aNode('ill'),
      [aWitness('a'), aWitness('a', { job: 'other' })],
      false,
    ],
    ['where jobs of two tenants were held up by it', aNode('ill'), [aWitness('a'), aWitness('b')], true],
    [
      'not where one of them means another boot',
      aNode('ill'),
      [aWitness('a'), aWitness('b', { bootId: 'boot-0' })],
      false,
    ],
    [
      'not where nobody knows which boot they mean',
      aNode('ill'),
      [aWitness('a', { bootId: undefined }), aWitness('b', { bootId: undefined })],
      false,
    ],
    ...(['Leaving', 'NotStarted', 'NodeLost', 'FailurePolicy'] satisfies AvoidedNodeReason[]).map(
      (reason): [string, JudgedNode, readonly Witness[], boolean] => [
        `not for ${reason}, which is left to the memory of each job`,
        aNode('ill'),
        [aWitness('a', { reason }), aWitness('b', { reason })],
        false,
      ],
    ),
    ['not where it has no GPUs', aNode('ill', { gpus: 0, conditions: [FELL_OFF] }), [], false],
    ['once', aNode('ill', { isQuarantined: true, note: written(), conditions: [FELL_OFF] }), [], false],
  ])('%s', (_title, node, witnesses, isKept) => {
    expect(quarantined(among(20, node), witnesses)).toEqual(isKept ? ['quarantine ill'] : []);
  });

  it('with what shows it', () => {
    const nodes = among(20, aNode('ill', { conditions: [FELL_OFF] }));
    const [action] = judgeQuarantine(nodes, [aWitness('a'), aWitness('b')], NOW).actions;
    expect(action).toMatchObject({
      note: {
        bootId: 'boot-1',
        evidence: [
          expect.stringMatching(/^condition SysLogsGPUFallenOff: .*79/),
          'job a/llama: Condemned at 2026-11-25T11:00:00Z',
          'job b/llama: Condemned at 2026-11-25T11:00:00Z',
        ],
      },
    });
  });
});

/** The condition of the policy in docs/tasks/take-a-node-out-of-service.md, by which NVSentinel finds what jobs saw. */
it.each<[string, readonly NodeCondition[], readonly Witness[], boolean]>([
  ['says that jobs saw it', [], [aWitness('a'), aWitness('b')], true],
  ['does not say so of a condition', [FELL_OFF], [], false],
])('the note on a node %s', (_what, conditions, witnesses, bySeen) => {
  const [action] = judgeQuarantine(among(20, aNode('ill', { conditions })), witnesses, NOW).actions;
  expect(JSON.stringify(action?.kind === 'quarantine' ? action.note : {}).includes('"job ')).toBe(bySeen);
});

describe('a person or another boot gives it back', () => {
  const isKept = (node: JudgedNode): boolean => quarantined(among(20, node)).length > 0;
  const noteIn = (action: QuarantineAction | undefined): QuarantineNote | undefined =>
    action === undefined || action.kind === 'release' ? undefined : action.note;

  it('where the machine was booted again, and not before', () => {
    const node = aNode('ill', { isQuarantined: true, note: written(), conditions: [FELL_OFF] });
    expect(quarantined(among(20, node))).toEqual([]);
    expect(quarantined(among(20, { ...node, bootId: 'boot-2' }))).toEqual(['release ill']);
  });

  it('where its taint was taken away: that is recorded once', () => {
    const free = aNode('ill', { note: written() });
    const [action] = judgeQuarantine(among(20, free), [], NOW).actions;
    expect(action).toMatchObject({ kind: 'overrule', note: { bootId: 'boot-1', overruledAt: NOW.toISOString() } });
    expect(isKept({ ...free, note: JSON.stringify(noteIn(action)) })).toBe(false);
  });

  it.each([2, 16, 17, 40])('where %i jobs were held up by it, and stays free without a new one', (count) => {
    const jobs = Array.from({ length: count }, (_, index) => aWitness(`tenant-${index}`));
    const first = judgeQuarantine(among(20, aNode('ill')), jobs, NOW).actions[0];
    const overruled = judgeQuarantine(among(20, aNode('ill', { note: JSON.stringify(noteIn(first)) })), jobs, NOW);
    const note = JSON.stringify(noteIn(overruled.actions[0]));
    expect(quarantined(among(20, aNode('ill', { note })), jobs)).toEqual([]);
    const since = new Date(NOW.getTime() + 60_000).toISOString();
    const one = aWitness('tenant-0', { since });
    expect(quarantined(among(20, aNode('ill', { note })), [...jobs, one])).toEqual([]);
    const both = [one, aWitness('tenant-1', { since })];
    expect(quarantined(among(20, aNode('ill', { note })), [...jobs, ...both])).toEqual(['quarantine ill']);
  });

  it('where its taint was taken away: what was known then counts no more, something new does', () => {
    const before = aNode('ill', { conditions: [FELL_OFF] });
    const [first] = judgeQuarantine(among(20, before), [], NOW).actions;
    const [action] = judgeQuarantine(among(20, { ...before, note: JSON.stringify(noteIn(first)) }), [], NOW).actions;
    const note = JSON.stringify(noteIn(action));
    expect(isKept({ ...before, note })).toBe(false);
    const worse = [FELL_OFF, { type: 'GpuMemWatch', status: 'True', message: 'ErrorCode:48' }];
    expect(isKept({ ...before, note, conditions: worse })).toBe(true);
    expect(isKept({ ...before, note, bootId: 'boot-2' })).toBe(true);
  });

  it('by hand alone where it was tainted by hand', () => {
    const byHand = aNode('ill', { isQuarantined: true, bootId: 'boot-2' });
    expect(quarantined(among(20, byHand))).toEqual([]);
    expect(quarantined(among(20, { ...byHand, note: 'no JSON' }))).toEqual([]);
  });
});

describe('what is done stands on the Node as it was just read', () => {
  const note = noteOf({ note: written() });
  if (note === undefined) throw new Error('the note can be read');
  const kept = { kind: 'quarantine', node: 'ill', note } as const;
  const overruled = { kind: 'overrule', node: 'ill', note } as const;
  const released = { kind: 'release', node: 'ill' } as const;

  it.each([
    ['it is tainted', kept, aNode('ill'), true],
    ['not where somebody was faster', kept, aNode('ill', { isQuarantined: true }), false],
    ['not where it was booted again', kept, aNode('ill', { bootId: 'boot-2' }), false],
    ['not where a person removed the taint meanwhile', kept, aNode('ill', { note: written() }), false],
    ['it is recorded that a person removed the taint', overruled, aNode('ill', { note: written() }), true],
    ['not where the taint is back', overruled, aNode('ill', { isQuarantined: true, note: written() }), false],
    [
      'not where that is recorded already',
      overruled,
      aNode('ill', { note: written({ overruledAt: NOW.toISOString() }) }),
      false,
    ],
    ['it is released', released, aNode('ill', { isQuarantined: true, note: written(), bootId: 'boot-2' }), true],
    ['not where it was not booted again', released, aNode('ill', { isQuarantined: true, note: written() }), false],
    ['not where it is free', released, aNode('ill', { bootId: 'boot-2' }), false],
  ])('%s', (_title, action, node, isDue) => {
    expect(isStillDue(action, node)).toBe(isDue);
  });
});

it('never keeps back more than a tenth of the nodes with GPUs, but one, whatever is said', () => {
  const nodes = fc.array(
    fc.record({
      name: fc.nat(200).map((number) => `n${number}`),
      gpus: fc.constantFrom(0, 8),
      bootId: fc.constantFrom('boot-1', 'boot-2'),
      conditions: fc.constantFrom([], [FELL_OFF]),
      isQuarantined: fc.boolean(),
      note: fc.option(fc.constantFrom(written(), written({ bootId: 'boot-2' }), '{'), { nil: undefined }),
    }),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(nodes, (some) => {
      const all = [...new Map(some.map((node) => [node.name, node])).values()];
      const { actions } = judgeQuarantine(all, [], NOW);
      const before = all.filter(({ isQuarantined }) => isQuarantined).length;
      const released = actions.filter(({ kind }) => kind === 'release').length;
      const added = actions.filter(({ kind }) => kind === 'quarantine').length;
      const most = Math.max(1, Math.floor(all.filter(({ gpus }) => gpus > 0).length / 10));
      expect(added === 0 || before - released + added <= most).toBe(true);
    }),
  );
});
