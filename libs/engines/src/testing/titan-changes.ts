import type { TrainingJobSpecInput } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import type { ParallelLayout } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import { renderEngine } from '../render-engine.ts';
import type { Rendering } from '../rendering.ts';
import { renderedChanges } from './rendered-changes.ts';

/** Parts of a job, laid over the plain one. */
export type TitanChange = Omit<Partial<TrainingJobSpecInput>, 'gpus' | 'engine' | 'layout'> & {
  readonly engine?: Partial<TrainingJobSpecInput['engine']>;
  readonly layout?: Partial<ParallelLayout>;
};

/** What a change of a sharded job changes in what TorchTitan reads, or why it is refused. The plain job has `before`. */
export function changesOfTitan(change: TitanChange, before: TitanChange = {}): readonly string[] {
  return renderedChanges(renderTitan(before), renderTitan({ ...before, ...change }));
}

function renderTitan({ engine, layout, ...rest }: TitanChange): Rendering {
  const rendering = renderEngine(
    aJobSpec({
      model: { preset: 'llama-3.1-8b', sequenceLength: 4096 },
      training: { steps: 1000, globalBatchSize: 64 },
      data: { claimName: 'corpus', path: 'lines', format: 'jsonl', tokenizer: { path: 'tokenizer' } },
      ...rest,
      engine: { name: 'torchtitan', image: 'x', ...engine },
      layout: aLayout({ tensorParallelDegree: 2, dataParallelDegree: 4, states: { zeroStage: 3 }, ...layout }),
    }),
  );
  if (rendering.kind === 'refused') return rendering;
  // The program is the same for every job.
  return { ...rendering, files: rendering.files.filter(({ path }) => !path.endsWith('.py')) };
}
