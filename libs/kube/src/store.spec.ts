import type { KubeObject } from './kube-object.ts';
import { compareResourceVersions } from './resource-version.ts';
import { ObjectStore, type StoreChange } from './store.ts';
import { anObject } from './testing/index.ts';

const told = (store: ObjectStore<KubeObject>): string[] => {
  const lines: string[] = [];
  store.onChange(({ kind, object }: StoreChange<KubeObject>) => {
    lines.push(`${kind} ${object.metadata.uid}@${object.metadata.resourceVersion}`);
  });
  return lines;
};

describe('resource versions', () => {
  it.each([
    ['9', '10', -1],
    ['10', '9', 1],
    ['7', '7', 0],
    ['18446744073709551616', '18446744073709551615', 1],
    ['', '1', undefined],
    ['abc', '1', undefined],
    ['01', '1', undefined],
  ])('%s against %s is %s', (a, b, want) => {
    const order = compareResourceVersions(a, b);
    expect(order === undefined ? undefined : Math.sign(order)).toBe(want);
  });
});

describe('a store', () => {
  it.each([
    { name: 'a newer version replaces', uid: 'u', version: 11, want: 'updated', lines: ['updated u@11'] },
    { name: 'the same version changes nothing', uid: 'u', version: 10, want: 'same', lines: [] },
    { name: 'an older version never replaces', uid: 'u', version: 9, want: 'stale', lines: [] },
    {
      name: 'a successor is a deletion and an addition',
      uid: 'v',
      version: 11,
      want: 'replaced',
      lines: ['deleted u@10', 'added v@11'],
    },
    { name: 'a predecessor of another UID is stale', uid: 't', version: 9, want: 'stale', lines: [] },
  ])('$name', ({ uid, version, want, lines }) => {
    const store = new ObjectStore<KubeObject>();
    store.upsert(anObject('x', { uid: 'u', version: 10 }));
    const seen = told(store);
    expect(store.upsert(anObject('x', { uid, version }))).toBe(want);
    expect(seen).toEqual(lines);
  });

  it.each([
    { name: 'its own deletion', uid: 'u', version: 11, want: 'deleted' },
    { name: 'the late deletion of a predecessor', uid: 't', version: 9, want: 'stale' },
    { name: 'a deletion older than what is known', uid: 'u', version: 9, want: 'stale' },
  ])('after $name an object is $want', ({ uid, version, want }) => {
    const store = new ObjectStore<KubeObject>();
    store.upsert(anObject('x', { uid: 'u', version: 10 }));
    expect(store.remove(anObject('x', { uid, version }))).toBe(want);
    expect(store.size).toBe(want === 'deleted' ? 0 : 1);
  });

  it('finds by index, follows changes, and keeps no empty index key', () => {
    const store = new ObjectStore<KubeObject>();
    store.upsert(anObject('before', { uid: 'even', version: 2 }));
    store.addIndex('uid', ({ metadata }) => [metadata.uid ?? '']);
    for (const name of ['a', 'b', 'c']) store.upsert(anObject(name, { uid: 'odd', version: 3 }));
    expect(store.byIndex('uid', 'odd').map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c']);
    for (const name of ['a', 'b', 'c']) store.remove(anObject(name, { uid: 'odd', version: 4 }));
    store.upsert(anObject('before', { uid: 'moved', version: 5 }));
    expect(store.indexKeys('uid')).toEqual(['moved']);
    expect(store.byIndex('uid', 'odd')).toEqual([]);
    expect(() => store.byIndex('colour', 'red')).toThrow('addIndex');
  });

  it('lets a reader iterate over a snapshot while the store changes', () => {
    const store = new ObjectStore<KubeObject>();
    store.replace([anObject('a', { version: 1 }), anObject('b', { version: 2 })], '2');
    const seen: string[] = [];
    for (const { metadata } of store.list()) {
      seen.push(metadata.name);
      store.remove(anObject('b', { version: 9 }));
      store.upsert(anObject(`new-${metadata.name}`, { version: 10 }));
    }
    expect(seen).toEqual(['a', 'b']);
  });

  it('tells a relist as deletions, then additions and changes', () => {
    const store = new ObjectStore<KubeObject>();
    store.replace([anObject('gone', { uid: 'g', version: 1 }), anObject('kept', { uid: 'k', version: 2 })], '2');
    const seen = told(store);
    store.replace([anObject('new', { uid: 'n', version: 4 }), anObject('kept', { uid: 'k', version: 5 })], '5');
    expect(seen).toEqual(['deleted g@1', 'added n@4', 'updated k@5']);
  });
});
