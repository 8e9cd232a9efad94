import type { KubeObject } from './kube-object.ts';
import { compareResourceVersions } from './resource-version.ts';
import { ObjectCache, type CacheChange } from './object-cache.ts';
import { anObject } from './testing/index.ts';

const changesOf = (cache: ObjectCache<KubeObject>): string[] => {
  const lines: string[] = [];
  cache.onChange(({ kind, object }: CacheChange<KubeObject>) => {
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

describe('a cache', () => {
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
    const cache = new ObjectCache<KubeObject>();
    cache.upsert(anObject('x', { uid: 'u', version: 10 }));
    const seen = changesOf(cache);
    expect(cache.upsert(anObject('x', { uid, version }))).toBe(want);
    expect(seen).toEqual(lines);
  });

  it.each([
    { name: 'its own deletion', uid: 'u', version: 11, want: 'deleted' },
    { name: 'the late deletion of a predecessor', uid: 't', version: 9, want: 'stale' },
    { name: 'a deletion older than what is known', uid: 'u', version: 9, want: 'stale' },
  ])('after $name an object is $want', ({ uid, version, want }) => {
    const cache = new ObjectCache<KubeObject>();
    cache.upsert(anObject('x', { uid: 'u', version: 10 }));
    expect(cache.remove(anObject('x', { uid, version }))).toBe(want);
    expect(cache.size).toBe(want === 'deleted' ? 0 : 1);
  });

  it('finds by index, follows changes, and keeps no empty index key', () => {
    const cache = new ObjectCache<KubeObject>();
    cache.upsert(anObject('before', { uid: 'even', version: 2 }));
    cache.addIndex('uid', ({ metadata }) => [metadata.uid ?? '']);
    for (const name of ['a', 'b', 'c']) cache.upsert(anObject(name, { uid: 'odd', version: 3 }));
    expect(cache.byIndex('uid', 'odd').map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c']);
    for (const name of ['a', 'b', 'c']) cache.remove(anObject(name, { uid: 'odd', version: 4 }));
    cache.upsert(anObject('before', { uid: 'moved', version: 5 }));
    expect(cache.indexKeys('uid')).toEqual(['moved']);
    expect(cache.byIndex('uid', 'odd')).toEqual([]);
    expect(() => cache.byIndex('colour', 'red')).toThrow('addIndex');
  });

  it('lets a reader iterate over a snapshot while the cache changes', () => {
    const cache = new ObjectCache<KubeObject>();
    cache.replace([anObject('a', { version: 1 }), anObject('b', { version: 2 })], '2');
    const seen: string[] = [];
    for (const { metadata } of cache.list()) {
      seen.push(metadata.name);
      cache.remove(anObject('b', { version: 9 }));
      cache.upsert(anObject(`new-${metadata.name}`, { version: 10 }));
    }
    expect(seen).toEqual(['a', 'b']);
  });

  it('tells a relist as deletions, then additions and changes', () => {
    const cache = new ObjectCache<KubeObject>();
    cache.replace([anObject('gone', { uid: 'g', version: 1 }), anObject('kept', { uid: 'k', version: 2 })], '2');
    const seen = changesOf(cache);
    cache.replace([anObject('new', { uid: 'n', version: 4 }), anObject('kept', { uid: 'k', version: 5 })], '5');
    expect(seen).toEqual(['deleted g@1', 'added n@4', 'updated k@5']);
  });

  it('a handler that throws or rejects is reported, and the others hear of the change', async () => {
    const problems: string[] = [];
    const cache = new ObjectCache<KubeObject>({ onProblem: ({ error }) => void problems.push(String(error)) });
    cache.onChange(() => {
      throw new Error('thrown');
    });
    cache.onChange(async () => {
      throw new Error('rejected');
    });
    const seen = changesOf(cache);
    cache.upsert(anObject('x', { uid: 'u', version: 1 }));
    await Promise.resolve();
    await Promise.resolve();
    expect([seen, problems]).toEqual([['added u@1'], ['Error: thrown', 'Error: rejected']]);
  });
});
