import fc from 'fast-check';
import { BOUNDARY_WEIGHTS, weightedBytes } from './boundary-weights.ts';
import { crossingBytes } from './crossing-bytes.ts';
import type { FabricNode } from '../nodes/fabric.ts';
import { aFabricNode } from '../testing/index.ts';
import { BOUNDARIES, type CrossingBytes, type LayoutTraffic, type TrafficPattern } from './traffic.ts';

/** `name@leaf/spine/core`, NVLink domain and island behind: `n1@l1/s1 d=rack i=ib`. */
function node(text: string): FabricNode {
  const {
    name = '',
    switches = '',
    domain,
    island,
  } = /^(?<name>\w+)(@(?<switches>\S+))?( d=(?<domain>\S+))?( i=(?<island>\S+))?$/.exec(text)?.groups ?? {};
  return aFabricNode({
    name,
    switches: switches === '' ? [] : switches.split('/'),
    ...(domain === undefined ? {} : { nvlinkDomain: domain }),
    ...(island === undefined ? {} : { island }),
  });
}

/** One group of all ranks that sends a byte per pair. */
function oneGroup(pattern: TrafficPattern, ranks: number): LayoutTraffic {
  const group = Array.from({ length: ranks }, (_, rank) => rank);
  return { byKind: [{ kind: 'data', pattern, bytesPerPair: 1, groups: [group] }], source: 'planned' };
}

/** In the order of BOUNDARIES: GPU, node, NVLink domain, leaf, spine, core, island. */
function inOrder(crossing: CrossingBytes): string {
  return BOUNDARIES.map((boundary) => crossing[boundary]).join(' ');
}

describe('bytes that cross', () => {
  it('are counted on a fabric of more nodes than a call has arguments', () => {
    const nodes = Array.from({ length: 150_000 }, (_, index) => aFabricNode({ name: `n${index}` }));
    const crossing = crossingBytes(oneGroup('ring', 2), ['n0', 'n149999'], { nodes });
    expect(inOrder(crossing)).toBe('2 2 2 0 0 0 0');
  });

  it.each<readonly [sentence: string, pattern: TrafficPattern, ranks: string, nodes: string, want: string]>([
    ['a ring inside a node leaves GPUs alone', 'ring', 'a a a a', 'a', '4 0 0 0 0 0 0'],
    ['a ring of two goes both ways', 'ring', 'a b', 'a, b', '2 2 2 0 0 0 0'],
    ['a ring over two nodes leaves each once', 'ring', 'a a a b b b', 'a, b', '6 2 2 0 0 0 0'],
    ['a ring enters a node once, though ranks of it are apart', 'ring', 'a b a b', 'a, b', '4 2 2 0 0 0 0'],
    [
      'a ring goes through an NVLink domain before it leaves it, though ranks of it are apart',
      'ring',
      'a c b d',
      'a d=x, b d=x, c d=y, d d=y',
      '4 4 2 0 0 0 0',
    ],
    ['a ring follows ranks, not switches', 'ring', 'a c b d', 'a@l1/s, b@l1/s, c@l2/s, d@l2/s', '4 4 4 4 0 0 0'],
    ['a ring whose ranks follow switches', 'ring', 'a b c d', 'a@l1/s, b@l1/s, c@l2/s, d@l2/s', '4 4 4 2 0 0 0'],
    ['a chain has no way back', 'chain', 'a b c', 'a, b, c', '2 2 2 0 0 0 0'],
    ['a chain goes from rank to rank, not from node to node', 'chain', 'a b a b', 'a, b', '3 3 3 0 0 0 0'],
    ['all to all leaves out none', 'allToAll', 'a a b', 'a, b', '6 4 4 0 0 0 0'],
    ['all to all within an NVLink domain', 'allToAll', 'a b', 'a d=x, b d=x', '2 2 0 0 0 0 0'],
    [
      'all to all in a domain below two leaves crosses none of them',
      'allToAll',
      'a b c',
      'a@l1/s d=x, b@l2/s d=x, c@l2/s',
      '6 6 4 2 0 0 0',
    ],
    ['three tiers of switches', 'chain', 'a b c d', 'a@l1/s1/c1, b@l2/s1/c1, c@l3/s2/c1, d@l4/s3/c2', '3 3 3 3 2 1 0'],
    ['a fourth tier counts as core', 'chain', 'a b', 'a@l1/s1/c1/z1, b@l2/s2/c2/z2', '1 1 1 1 1 1 0'],
    ['a tier that nobody tells is not crossed', 'chain', 'a b', 'a@l1, b@l2', '1 1 1 1 0 0 0'],
    ['a node that does not tell its switches is near nobody', 'chain', 'a b c', 'a@l1, b, c', '2 2 2 2 0 0 0'],
    [
      'nodes that share their farthest switch share what is above it',
      'chain',
      'a b c',
      'a@l1/s, b@l2/s, c@l3/t/c1',
      '2 2 2 2 1 1 0',
    ],
    ['islands are farther than any switch', 'chain', 'a b', 'a i=ib, b i=roce', '1 1 1 1 1 1 1'],
    [
      'a switch of the same name in another island is another one',
      'chain',
      'a b',
      'a@l1 i=ib, b@l1 i=roce',
      '1 1 1 1 1 1 1',
    ],
    ['a group of one sends nothing', 'ring', 'a', 'a', '1 0 0 0 0 0 0'],
  ])('%s', (...[, pattern, ranks, nodes, want]) => {
    const nodeOfRank = ranks.split(' ');
    const fabric = { nodes: nodes.split(', ').map(node) };
    expect(inOrder(crossingBytes(oneGroup(pattern, nodeOfRank.length), nodeOfRank, fabric))).toBe(want);
  });

  it.each([
    ['a rank on a node that is not there', ['a', 'b'], 'rank 1 is on node b, which the fabric does not have'],
    ['a rank of a group without a node', ['a'], 'rank 1 has no node: 1 ranks have one'],
  ])('are refused for %s', (_sentence, nodeOfRank, message) => {
    expect(() => crossingBytes(oneGroup('ring', 2), nodeOfRank, { nodes: [node('a')] })).toThrow(message);
  });

  it('are those of every pair, looked at one by one', () => {
    const anyNode = fc.record({
      nvlinkDomain: fc.constantFrom('x', 'y', 'z'),
      island: fc.constantFrom('ib', 'roce'),
      switches: fc.constantFrom<readonly string[]>([], ['l1', 's1'], ['l2', 's1'], ['l3', 's2'], ['l4', 's3', 'c1']),
    });
    fc.assert(
      fc.property(
        fc.array(anyNode, { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat({ max: 5 }), { minLength: 2, maxLength: 12 }),
        (parts, places) => {
          const nodes = parts.map((part, index) => aFabricNode({ name: `n${index}`, ...part }));
          const nodeOfRank = places.map((place) => `n${place % nodes.length}`);
          const all = crossingBytes(oneGroup('allToAll', places.length), nodeOfRank, { nodes });
          const onePair = oneGroup('chain', 2);
          const summed = Object.fromEntries(BOUNDARIES.map((boundary) => [boundary, 0])) as Record<string, number>;
          for (const one of nodeOfRank.keys()) {
            for (const other of nodeOfRank.keys()) {
              if (one === other) continue;
              const pair = [nodeOfRank[one] ?? '', nodeOfRank[other] ?? ''];
              const crossed = crossingBytes(onePair, pair, { nodes });
              for (const boundary of BOUNDARIES) summed[boundary] = (summed[boundary] ?? 0) + crossed[boundary];
            }
          }
          expect(all).toEqual(summed);
        },
      ),
    );
  });
});

describe('weights of boundaries', () => {
  it('add up to what a byte costs that crosses all', () => {
    const everywhere = Object.fromEntries(BOUNDARIES.map((boundary) => [boundary, 1])) as Record<
      (typeof BOUNDARIES)[number],
      number
    >;
    expect(weightedBytes(everywhere)).toBe(288);
  });

  it('never make a farther way cheaper', () => {
    expect(BOUNDARIES.every((boundary) => BOUNDARY_WEIGHTS[boundary] >= 0)).toBe(true);
  });
});
