import { describeUnusable, referencesOf } from '@coxswain/api-types';
import { KubeApiError, type KubeClient } from '@coxswain/kube';
import { readReferences } from './reference-reads.ts';

const failing = (status: number, reason: string) => () =>
  Promise.reject(new KubeApiError({ status, reason, message: reason }));
const claim = (more: object) => () => Promise.resolve({ metadata: { name: 'nowhere' }, ...more });

describe('a claim that a job names', () => {
  it.each<[string, () => Promise<unknown>, string | undefined]>([
    ['does not exist', failing(404, 'NotFound'), 'does not exist'],
    [
      'is being deleted',
      claim({ metadata: { name: 'nowhere', deletionTimestamp: '2026-01-01T00:00:00Z' } }),
      'is being deleted',
    ],
    ['has lost its volume', claim({ status: { phase: 'Lost' } }), 'has lost its volume'],
    ['is bound', claim({ status: { phase: 'Bound' } }), undefined],
    ['waits for its first pod', claim({ status: { phase: 'Pending' } }), undefined],
    ['may not be read', failing(403, 'Forbidden'), undefined],
    ['cannot be read now', failing(503, 'ServiceUnavailable'), undefined],
  ])('%s', async (_what, get, want) => {
    const client = { get } as unknown as Pick<KubeClient, 'get'>;
    const read = await readReferences(client, 'lab', referencesOf({ checkpoint: { claimName: 'nowhere' } } as never));
    const [unusable] = read.unusable;
    const sentence = unusable === undefined ? undefined : describeUnusable(unusable, 'lab');
    expect(sentence).toBe(
      want === undefined
        ? undefined
        : `PersistentVolumeClaim nowhere (spec.checkpoint.claimName) ${want} in namespace lab. The job starts once pods can use it.`,
    );
  });
});

describe('how many nodes mount a claim', () => {
  it.each<[string, object, 'one' | 'many']>([
    ['ReadWriteOnce: one', { status: { phase: 'Bound', accessModes: ['ReadWriteOnce'] } }, 'one'],
    ['ReadWriteOncePod: one', { status: { phase: 'Bound', accessModes: ['ReadWriteOncePod'] } }, 'one'],
    ['ReadWriteMany: many', { status: { phase: 'Bound', accessModes: ['ReadWriteOnce', 'ReadWriteMany'] } }, 'many'],
    ['ReadOnlyMany: many', { status: { phase: 'Bound', accessModes: ['ReadOnlyMany'] } }, 'many'],
    ['unbound, asks for ReadWriteOnce: one', { spec: { accessModes: ['ReadWriteOnce'] }, status: {} }, 'one'],
    [
      'asks for less than its volume has: many',
      { spec: { accessModes: ['ReadWriteOnce'] }, status: { accessModes: ['ReadWriteOnce', 'ReadWriteMany'] } },
      'many',
    ],
    ['says nothing: many', { spec: { accessModes: [] } }, 'many'],
    ['says nonsense: many', { spec: { accessModes: 'ReadWriteOnce' } }, 'many'],
  ])('%s', async (_what, about, want) => {
    const client = { get: claim(about) } as unknown as Pick<KubeClient, 'get'>;
    const references = referencesOf({ checkpoint: { claimName: 'nowhere' } } as never);
    const { ofOneNode } = await readReferences(client, 'lab', references);
    expect(ofOneNode).toEqual(want === 'one' ? references : []);
  });
});

describe('what a job names', () => {
  it('are its claims, and what volumes of its runtime need, each once', () => {
    const volumes = [
      { name: 'a', persistentVolumeClaim: { claimName: 'corpus' } },
      { name: 'b', configMap: { name: 'settings' } },
      { name: 'c', configMap: { name: 'extra', optional: true } },
      { name: 'd', emptyDir: {} },
      'nonsense',
    ];
    const spec = { data: { claimName: 'corpus', path: 'a' }, checkpoint: { claimName: 'saves' } };
    expect(
      referencesOf(spec as never, { spec: { volumes } }).map(({ kind, name, field }) => `${kind} ${name} ${field}`),
    ).toEqual([
      'PersistentVolumeClaim saves spec.checkpoint.claimName',
      'PersistentVolumeClaim corpus spec.data.claimName',
      'ConfigMap settings a volume of the runtime',
    ]);
    expect(referencesOf({} as never, 'nonsense')).toEqual([]);
  });
});
