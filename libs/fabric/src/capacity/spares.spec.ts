import { offersFor, type SpareNode, tightestFor, type Vacancy } from './spares.ts';
import type { FabricNode } from '../nodes/fabric.ts';
import { aFabricNode } from '../testing/index.ts';
import type { AcrossIslands } from '../traffic/gang-shape.ts';

const spare = (name: string, free = 8, changes: Partial<FabricNode> = {}): SpareNode => ({
  node: aFabricNode({ name, ...changes }),
  free,
});
const below = (leaf: string, changes: Partial<FabricNode> = {}): Partial<FabricNode> => ({
  switches: [leaf, 's'],
  ...changes,
});
const vacancy = (changes: Partial<Vacancy> = {}): Vacancy => ({
  needs: [8],
  beside: [],
  next: [],
  inRow: [],
  gang: [aFabricNode({ name: 'away' })],
  mostOffers: 8,
  ...changes,
});
const here = aFabricNode({ name: 'here', switches: ['l', 's'], nvlinkDomain: 'd' });

describe('spare nodes', () => {
  it.each<[string, Vacancy, AcrossIslands, readonly SpareNode[], readonly string[]]>([
    ['are offered where all pods find one', vacancy(), 'never', [spare('a', 7), spare('b')], ['b']],
    [
      'are offered by the domain',
      vacancy({ needs: [4, 8] }),
      'never',
      [spare('a', 8, { nvlinkDomain: 'd' }), spare('b', 4, { nvlinkDomain: 'd' }), spare('c')],
      ['b a'],
    ],
    [
      'of a domain below two leaves are offered by the leaf too',
      vacancy(),
      'never',
      [spare('a', 8, below('l', { nvlinkDomain: 'd' })), spare('b', 8, below('m', { nvlinkDomain: 'd' }))],
      ['a', 'b', 'a b'],
    ],
    [
      'below the leaf of the gang come first',
      vacancy({ gang: [here] }),
      'never',
      [spare('a', 8, below('m')), spare('b', 8, below('l'))],
      ['b', 'a'],
    ],
    [
      'as near as the pods before and after come before those below the leaf of most of the gang',
      vacancy({ gang: [here, { ...here, name: 'there' }], next: [aFabricNode({ switches: ['m', 's'] })] }),
      'never',
      [spare('a', 8, below('l')), spare('b', 8, below('m'))],
      ['b', 'a'],
    ],
    [
      'that are as near come first by how full they are',
      vacancy({ gang: [here], needs: [4] }),
      'never',
      [spare('a', 8, below('m')), spare('b', 6, below('n'))],
      ['b', 'a'],
    ],
    [
      'that cost the same are offered once',
      vacancy({ gang: [here] }),
      'never',
      [spare('b', 8, below('l')), spare('a', 8, below('l'))],
      ['a'],
    ],
    [
      'of each domain that the gang has a part of are offered',
      vacancy({ gang: [here, { ...here, name: 'there', nvlinkDomain: 'e' }] }),
      'never',
      [spare('a', 8, below('l', { nvlinkDomain: 'd' })), spare('b', 8, below('l', { nvlinkDomain: 'e' }))],
      ['a', 'b'],
    ],
    [
      'are offered as often as asked for',
      vacancy({ gang: [here], mostOffers: 1 }),
      'never',
      [spare('a', 8, below('m')), spare('b', 8, below('l'))],
      ['b'],
    ],
    [
      'stand beside the pods of their block',
      vacancy({ beside: [here], gang: [here] }),
      'anyGroup',
      [spare('a', 8, below('l')), spare('b', 8, { nvlinkDomain: 'd' })],
      ['b'],
    ],
    [
      'stay in the island of the gang',
      vacancy({ gang: [here] }),
      'never',
      [spare('a', 8, { island: 'other' }), spare('b')],
      ['b'],
    ],
    [
      'of another island will do for a whole stage',
      vacancy({ gang: [here] }),
      'pipeline',
      [spare('a', 8, { island: 'other' })],
      ['a'],
    ],
    [
      'of another island will not do for a part of a stage',
      vacancy({ gang: [here], inRow: [here] }),
      'pipeline',
      [spare('a', 8, { island: 'other' })],
      [],
    ],
    [
      'of another class of NICs will not do for a whole stage',
      vacancy({ gang: [{ ...here, nicType: 'RoCE' }] }),
      'pipeline',
      [spare('a', 8, { island: 'other', nicType: 'infiniband' }), spare('b', 8, { nicType: 'roce' })],
      ['b'],
    ],
    [
      'have as many NICs as the gang, or do not say how many',
      vacancy({ gang: [{ ...here, nicCount: 8 }] }),
      'never',
      [
        spare('a', 8, below('l', { nicCount: 7 })),
        spare('b', 8, below('m', { nicCount: 8 })),
        spare('c', 8, below('n')),
      ],
      ['b', 'c'],
    ],
    [
      'of fewer NICs will do over sockets',
      vacancy({ gang: [{ ...here, nicCount: 8 }] }),
      'anyGroup',
      [spare('a', 8, { nicCount: 7 })],
      ['a'],
    ],
  ])('%s', (...[, asked, acrossIslands, spares, want]) => {
    const offers = offersFor(asked, spares, acrossIslands);
    expect(offers.map((offer) => offer.map(({ node }) => node.name).join(' '))).toEqual(want);
  });

  it.each<[string, readonly number[], readonly SpareNode[], readonly string[]]>([
    ['the tightest that holds it', [4], [spare('a', 2), spare('b', 4), spare('c', 8)], ['b']],
    ['the tightest after larger pods', [4, 8], [spare('a', 8), spare('b', 8)], ['b', 'a']],
    ['pods of one size in their order', [4, 4], [spare('a', 4), spare('b', 8)], ['a', 'b']],
  ])('each pod gets %s', (_sentence, needs, offer, want) => {
    expect(tightestFor(needs, offer).map(({ name }) => name)).toEqual(want);
  });
});
