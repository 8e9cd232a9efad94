import fc from 'fast-check';
import { placesOf } from './gang-changes.ts';
import { placesFromText, placesToText } from './recorded-places.ts';
import { aFabricNode } from '../testing/index.ts';

const names = fc.uniqueArray(fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/), { maxLength: 20 });

describe('what a gang counted on, kept with its Placement', () => {
  it('is read as it was written', () => {
    const fabric = fc.tuple(names, fc.array(fc.nat(2)), fc.array(fc.nat(2)));
    fc.assert(
      fc.property(fabric, ([nodes, domains, classes]) => {
        const byName = new Map(
          nodes.map((name, index) => {
            const nvlinkDomain = domains[index] === undefined ? `node:${name}` : `d${domains[index]}`;
            const nicType = classes[index];
            const more = nicType === undefined ? {} : { nicType: `class-${nicType}` };
            return [name, aFabricNode({ name, nvlinkDomain, island: `i${index % 3}`, ...more })];
          }),
        );
        const gang = [...nodes, 'unknown', ...nodes.slice(0, 2)];
        const nodeOf = (name: string) => byName.get(name);
        expect(placesFromText(gang, placesToText(gang, nodeOf))).toEqual(placesOf(gang, nodeOf));
      }),
    );
  });

  it('takes 12 kB for 2,048 nodes that are their own domains', () => {
    const gang = Array.from({ length: 2_048 }, (_, index) => `node-${index}`);
    const text = placesToText(gang, (name) => aFabricNode({ name, nvlinkDomain: `node:${name}`, island: 'ib' }));
    expect(text?.length).toBeLessThan(12_000);
  });

  it('is not written where it is too long', () => {
    const gang = Array.from({ length: 2_048 }, (_, index) => `node-${index}`);
    const long = 'x'.repeat(100);
    expect(placesToText(gang, (name) => aFabricNode({ name, nvlinkDomain: `${long}${name}` }))).toBeUndefined();
  });

  it.each([
    ['nothing', undefined],
    ['no JSON', '{'],
    ['something else', '[]'],
    ['other nodes', '{"places":[["d","i",null]],"of":[0,0]}'],
    ['a place that is none', '{"places":[[1,2]],"of":[0]}'],
    ['more than was ever written', `{"places":[],"of":[-1],"more":"${'x'.repeat(200_000)}"}`],
  ])('counts for nothing where it is %s', (_what, text) => {
    expect(placesFromText(['a'], text)).toBeUndefined();
  });
});
