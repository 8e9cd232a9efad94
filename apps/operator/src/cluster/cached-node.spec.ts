import type { KubeObject } from '@coxswain/kube';
import { toCachedNode } from './cached-node.ts';

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
