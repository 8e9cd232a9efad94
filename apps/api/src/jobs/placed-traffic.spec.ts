import type { PlacementSpec, TrainingJobSpec } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import type { FabricNode } from '@coxswain/fabric';
import { aFabricNode } from '@coxswain/fabric/testing';
import { type PlacedJob, PlacedTraffic } from './placed-traffic.ts';

const LAYOUT = { tensorParallelDegree: 2, pipelineParallelDegree: 1, dataParallelDegree: 2 };

function aPlacedJob(parts: Partial<PlacementSpec> = {}, spec: Partial<TrainingJobSpec> = {}): PlacedJob {
  const placement = {
    jobName: 'rowing',
    jobUid: 'u',
    epoch: 1,
    layout: LAYOUT,
    worldSize: 4,
    ranksPerPod: 2,
    nodes: ['a', 'b'],
    ...parts,
  };
  return { uid: 'u', placement: placement as PlacementSpec, spec: { ...aJobSpec(), ...spec } as TrainingJobSpec };
}

const nodes = (...places: readonly Partial<FabricNode>[]): { readonly nodes: readonly FabricNode[] } => ({
  nodes: places.map((node) => aFabricNode(node)),
});
const below = (name: string, ...switches: readonly string[]): Partial<FabricNode> => ({ name, switches });

describe('bytes that a placement sends', () => {
  const { gpu = 0, node = 0 } = new PlacedTraffic().of(aPlacedJob(), nodes(below('a', 'l'), below('b', 'l'))) ?? {};

  it.each([
    ['below one leaf cross NVLink domains', [below('a', 'l', 's'), below('b', 'l', 's')], 'nvlinkDomain'],
    ['below one spine cross leaves', [below('a', 'l', 's'), below('b', 'm', 's')], 'leaf'],
    [
      'in one NVLink domain cross nodes alone',
      [
        { name: 'a', nvlinkDomain: 'd' },
        { name: 'b', nvlinkDomain: 'd' },
      ],
      'node',
    ],
    ['of two islands cross all', [{ name: 'a' }, { name: 'b', island: 'roce' }], 'island'],
  ] as const)('%s', (_sentence, places, farthest) => {
    const bytes = new PlacedTraffic().of(aPlacedJob(), nodes(...places));
    const boundaries = ['node', 'nvlinkDomain', 'leaf', 'spine', 'core', 'island'] as const;
    const far = boundaries.indexOf(farthest);
    expect(gpu).toBeGreaterThan(node);
    expect(boundaries.map((boundary) => bytes?.[boundary])).toEqual(boundaries.map((_, at) => (at <= far ? node : 0)));
    expect(bytes?.gpu).toBe(gpu);
  });

  it('follow ranks that a placement gives to pods one by one', () => {
    const apart = aPlacedJob({ ranks: ['0,2', '1,3'] });
    const bytes = new PlacedTraffic().of(apart, nodes({ name: 'a' }, { name: 'b' }));
    expect(bytes?.node).toBeGreaterThan(node);
  });

  it.each<[string, PlacedJob, ReturnType<typeof nodes> | undefined]>([
    ['a node is not seen', aPlacedJob(), nodes({ name: 'a' })],
    ['no node is seen', aPlacedJob(), undefined],
    ['a rank has no place', aPlacedJob({ ranks: ['0', '1,3'] }), nodes({ name: 'a' }, { name: 'b' })],
  ])('are not told where %s', (_sentence, job, fabric) => {
    expect(new PlacedTraffic().of(job, fabric)).toBeNull();
  });

  it('are of the job’s own model where it names one, else of a usual one', () => {
    const fabric = nodes({ name: 'a' }, { name: 'b' });
    const { model: _model, training: _training, ...rest } = aJobSpec();
    const without = { ...aPlacedJob(), spec: rest as TrainingJobSpec };
    expect(new PlacedTraffic().of(aPlacedJob(), fabric)?.source).toBe('planned');
    expect(new PlacedTraffic().of(without, fabric)?.source).toBe('assumed');
  });

  it('are counted once until a node is said to be elsewhere, whatever else changes on the fabric', () => {
    const traffic = new PlacedTraffic();
    const [a, b] = [below('a', 'l', 's'), below('b', 'l', 's')];
    const first = traffic.of(aPlacedJob(), nodes(a, b));
    expect(traffic.of(aPlacedJob(), nodes(a, b, { name: 'c' }))).toBe(first);
    expect(traffic.of(aPlacedJob(), nodes(a, { ...b, usable: false }))).toBe(first);
    expect(traffic.of(aPlacedJob(), nodes(a, below('b', 'm', 's')))?.leaf).toBe(node);
  });

  it('are kept of 64 jobs, those asked for last', () => {
    const traffic = new PlacedTraffic();
    const fabric = nodes({ name: 'a' }, { name: 'b' });
    const ask = (job: number) => traffic.of({ ...aPlacedJob(), uid: `u${job}` }, fabric);
    const [first, second] = [ask(0), ask(1)];
    for (let job = 2; job < 64; job++) ask(job);
    expect(ask(0)).toBe(first);
    ask(64);
    expect(ask(0)).toBe(first);
    expect(ask(1)).not.toBe(second);
  });
});
