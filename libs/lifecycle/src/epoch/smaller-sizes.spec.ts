import { aPlannedJobSpec, aTrainingJob } from '@coxswain/api-types/testing';
import type { TrainingJob } from '@coxswain/api-types';
import { findNodes } from '@coxswain/fabric';
import { aFabricNode } from '@coxswain/fabric/testing';
import { formatLayout, ParallelLayout, worldSize } from '@coxswain/layout';
import fc from 'fast-check';
import { smallerSizes } from './smaller-sizes.ts';

interface Planned {
  readonly copies: number;
  readonly stages: number;
  readonly minGpus?: number;
  /** Numbers of GPUs for which the planner has found a layout. */
  readonly found?: readonly number[];
  readonly noLayoutFor?: number;
}

/** A job with groups of four tensor-parallel ranks. */
function aJob({ copies, stages, minGpus = 4, found = [], noLayoutFor }: Planned): TrainingJob {
  const layout = ParallelLayout.parse({
    tensorParallelDegree: 4,
    dataParallelDegree: copies,
    pipelineParallelDegree: stages,
  });
  const gpus = worldSize(layout);
  const plan = {
    chosenBy: 'Planner' as const,
    fabric: 'one NVLink domain',
    gpus,
    layout,
    sizes: found.map((fewer) => ({ gpus: fewer, layout: 'tp4', predictedStepMs: 1_000 })),
    ...(noLayoutFor === undefined ? {} : { noLayoutFor }),
    plannerVersion: '1',
    plannedAt: '2026-11-30T00:00:00Z',
  };
  const status = { epoch: 1, restarts: { total: 0, charged: 0 }, plan };
  return { ...aTrainingJob(), spec: aPlannedJobSpec({ gpus, minGpus }), status };
}

function sizesOf(planned: Planned): readonly string[] {
  return smallerSizes(aJob(planned)).map(({ gpus, request }) => `${gpus}: ${formatLayout(request.layout)}`);
}

describe('an elastic job can make room', () => {
  it.each<[string, Planned, readonly string[]]>([
    ['with fewer copies that divide the batch', { copies: 4, stages: 1 }, ['8: tp4 x dp2', '4: tp4']],
    ['with no copy less if it has one', { copies: 1, stages: 4 }, []],
    ['with fewer stages where the planner found a layout', { copies: 1, stages: 4, found: [8] }, ['8: tp4 x pp2']],
    [
      'with the most GPUs first, whatever divides them',
      { copies: 2, stages: 4, found: [24, 8] },
      ['16: tp4 x pp4', '8: tp4 x pp2'],
    ],
    ['with no fewer GPUs than it accepts', { copies: 1, stages: 4, minGpus: 8, found: [8, 4] }, ['8: tp4 x pp2']],
    [
      'with no number for which no layout was found',
      { copies: 1, stages: 4, found: [8, 4], noLayoutFor: 8 },
      ['4: tp4'],
    ],
    [
      'with no number that splits a group of tensor-parallel ranks',
      { copies: 1, stages: 4, minGpus: 1, found: [2] },
      [],
    ],
  ])('%s', (_, planned, expected) => {
    expect(sizesOf(planned)).toEqual(expected);
  });

  it('is placed without experts that do not divide so few ranks, and with them where they do', () => {
    const layout = ParallelLayout.parse({ dataParallelDegree: 16, expert: { expertParallelDegree: 8 } });
    const job = aJob({ copies: 1, stages: 1, minGpus: 4 });
    const spec = { ...job.spec, training: { steps: 1, globalBatchSize: 48 } };
    const plan = { ...job.status?.plan, gpus: 16, layout };
    const withExperts = { ...job, spec, status: { ...job.status, plan } } as TrainingJob;
    const capacity = { fabric: { nodes: [aFabricNode({ gpus: 16 })] }, usedGpus: new Map() };
    const placed = smallerSizes(withExperts).map(({ gpus, request }) => {
      expect(findNodes(request, capacity)).toBeDefined();
      return `${gpus}: ${formatLayout(request.layout)}`;
    });
    expect(placed).toEqual(['12: dp12', '8: dp8 / ep8', '6: dp6', '4: dp4']);
  });

  it('asks for as many nodes as it says, whatever the plan', () => {
    const degree = fc.integer({ min: 1, max: 12 });
    fc.assert(
      fc.property(
        degree,
        degree,
        fc.array(fc.integer({ min: 1, max: 600 }), { maxLength: 8 }),
        (copies, stages, found) => {
          const job = aJob({ copies, stages, minGpus: 1, found });
          for (const { gpus, request } of smallerSizes(job)) {
            expect(worldSize(request.layout)).toBe(gpus);
            expect(gpus).toBeLessThan(job.status?.plan?.gpus ?? 0);
            expect(request.layout.tensorParallelDegree).toBe(4);
          }
        },
      ),
    );
  });
});
