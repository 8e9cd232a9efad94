import type { KubeObject } from '@coxswain/kube';
import { NamespacedCache } from './namespaced-cache.ts';

const object = (namespace: string | undefined, name: string, resourceVersion = '1'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name, uid: `${namespace}-${name}`, resourceVersion, ...(namespace === undefined ? {} : { namespace }) },
});

describe('objects by namespace', () => {
  it.each<[string, readonly string[], string, boolean]>([
    ['of every namespace are known without a list', [], 'research', true],
    ['without a namespace are known without a list', [], '', true],
    ['of a namespace of the list are known', ['research', 'vision'], 'vision', true],
    ['of another namespace are not', ['research', 'vision'], 'outside', false],
    ['of no namespace are not, if there is a list', ['research'], '', false],
  ])('%s', (_what, namespaces, namespace, isKnown) => {
    expect(new NamespacedCache(namespaces).within(namespace) !== undefined).toBe(isKnown);
  });

  it('are found by their key in the cache of their namespace, and each namespace has a version of its own', () => {
    const cache = new NamespacedCache<KubeObject>(['research', 'vision']);
    const seen: string[] = [];
    cache.onChange(({ object: { metadata } }) => void seen.push(`${metadata.namespace}/${metadata.name}`));
    cache.cacheOf('research').replace([object('research', 'one', '7')], '7');
    cache.cacheOf('vision').replace([object('vision', 'one', '9')], '9');
    expect(cache.get('vision/one')?.metadata.uid).toBe('vision-one');
    expect(cache.get('outside/one')).toBeUndefined();
    expect(['research', 'vision'].map((namespace) => cache.within(namespace)?.resourceVersion)).toEqual(['7', '9']);
    expect(seen).toEqual(['research/one', 'vision/one']);
  });

  it('are found by their key without a list, with a namespace or without', () => {
    const cache = new NamespacedCache<KubeObject>([]);
    cache.cacheOf('').replace([object('research', 'one'), object(undefined, 'node')], '3');
    expect([cache.get('research/one')?.metadata.name, cache.get('node')?.metadata.name]).toEqual(['one', 'node']);
  });

  it('of a namespace that is not read have no cache to fill', () => {
    expect(() => new NamespacedCache(['research']).cacheOf('outside')).toThrow('namespace "outside"');
  });
});
