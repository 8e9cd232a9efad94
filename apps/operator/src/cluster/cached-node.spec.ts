import type { KubeObject } from '@coxswain/kube';
import { nodeStateOf, toCachedNode } from './cached-node.ts';

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
