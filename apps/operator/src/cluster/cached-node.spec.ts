import type { KubeObject } from '@coxswain/kube';
import { nodeStateOf, sameFaults, toCachedNode } from './cached-node.ts';

describe('of the conditions of a node', () => {
  const kept = (conditions: unknown): unknown =>
    toCachedNode({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, status: { conditions } } as KubeObject)
      .conditions;

  it.each<[string, unknown, unknown]>([
    [
      'those that hold are kept',
      [
        { type: 'Ready', status: 'True', message: 'kubelet is posting ready status' },
        { type: 'SysLogsXIDError', status: 'True', message: 'ErrorCode:79', lastHeartbeatTime: 'now' },
        { type: 'GpuMemWatch', status: 'False' },
      ],
      [{ type: 'SysLogsXIDError', status: 'True', message: 'ErrorCode:79' }],
    ],
    ['none of a node that has none', undefined, []],
    ['none of nonsense', [null, 7, { status: 'True' }, { type: 7, status: 'True' }], []],
  ])('%s', (_sentence, conditions, want) => {
    expect(kept(conditions)).toEqual(want);
  });

  it('few are kept of many, and little of what they say', () => {
    const many = Array.from({ length: 1_000 }, (_, index) => ({
      type: `T${index}`,
      status: 'True',
      message: 'x'.repeat(9_999),
    }));
    expect(JSON.stringify(kept(many)).length).toBeLessThan(10_000);
  });
});

describe('since when a node is ready', () => {
  const sinceOf = (conditions: unknown): unknown =>
    toCachedNode({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, status: { conditions } } as KubeObject)
      .readySince;
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-11-25T12:00:00Z' };

  it.each<[string, unknown, unknown]>([
    ['is when its condition last changed', [{ type: 'DiskPressure', status: 'False' }, ready], '2026-11-25T12:00:00Z'],
    ['is nothing of one that is not ready', [{ ...ready, status: 'False' }], undefined],
    ['is nothing where it does not say', [{ type: 'Ready', status: 'True' }], undefined],
    ['is nothing where it says nonsense', [null, { ...ready, lastTransitionTime: 7 }], undefined],
    ['is cut where it is longer than any time', [{ ...ready, lastTransitionTime: 'x'.repeat(99) }], 'x'.repeat(40)],
    ['is nothing of a node without conditions', undefined, undefined],
  ])('%s', (_sentence, conditions, want) => {
    expect(sinceOf(conditions)).toBe(want);
  });
});

describe('whether conditions of a node tell of the same faults', () => {
  const aNode = (...conditions: readonly object[]) =>
    toCachedNode({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n' },
      status: { conditions: conditions.map((condition) => ({ status: 'True', ...condition })) },
    } as KubeObject);
  const deadlock = { type: 'KernelDeadlock' };
  const xid = (code: number): object => ({ type: 'SysLogsXIDError', message: `ErrorCode:${code}` });

  it.each<[string, readonly object[], readonly object[], boolean]>([
    ['of none and none they do', [], [], true],
    ['a new one is other', [], [deadlock], false],
    ['one that has gone is other', [deadlock], [], false],
    ['one that holds no longer is other', [deadlock], [{ ...deadlock, status: 'False' }], false],
    ['pressures and signs of life tell of none', [deadlock], [deadlock, { type: 'DiskPressure' }], true],
    ['another error of the same condition is other', [xid(79)], [xid(48)], false],
    ['errors of the program are none of the node', [], [xid(13)], true],
    ['heartbeats change nothing', [deadlock], [{ ...deadlock, lastHeartbeatTime: '2026-11-25T12:00:00Z' }], true],
  ])('%s', (_sentence, before, after, same) => {
    expect(sameFaults(aNode(...before), aNode(...after))).toBe(same);
  });
});

describe('a node that is about to go away', () => {
  const now = new Date('2026-11-25T12:00:00Z');
  const aNode = (annotations: Record<string, string>, ready = 'True') =>
    toCachedNode({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n', annotations },
      status: { conditions: [{ type: 'Ready', status: ready }] },
    } as KubeObject);
  const mark = 'health.coxswain.dev/maintenance';

  it('takes no more gangs, although nobody has cordoned it', () => {
    const node = aNode({ [mark]: 'now' });
    expect([nodeStateOf(node, now), node.facts.schedulable, node.facts.isCordoned]).toEqual(['leaving', false, true]);
  });

  it('is used until a quarter of an hour before its time', () => {
    const node = aNode({ [mark]: '2026-11-25T12:20:00Z' });
    expect([nodeStateOf(node, now), node.facts.schedulable]).toEqual(['ready', true]);
    expect(nodeStateOf(node, new Date('2026-11-25T12:05:00Z'))).toBe('leaving');
  });

  it('is not ready before it is leaving', () => {
    expect(nodeStateOf(aNode({ [mark]: 'now' }, 'False'), now)).toBe('notReady');
    expect(nodeStateOf(undefined, now)).toBe('gone');
  });
});
