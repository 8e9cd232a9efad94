import type { TrainingJobSpecInput } from '@coxswain/api-types';
import { aJobSpec } from '@coxswain/api-types/testing';
import type { ParallelLayout } from '@coxswain/layout';
import { aLayout } from '@coxswain/layout/testing';
import { renderEngine } from '../render-engine.ts';
import type { Rendering } from '../rendering.ts';
import { renderedChanges } from './rendered-changes.ts';

type EngineOfScripts = 'deepspeed' | 'hugging-face' | 'custom';

/** Parts of a job, laid over the plain one. */
export type ScriptChange = Omit<Partial<TrainingJobSpecInput>, 'gpus' | 'engine' | 'layout'> & {
  readonly engine?: Partial<TrainingJobSpecInput['engine']>;
  readonly layout?: Partial<ParallelLayout>;
};

/** What a change of a job of eight copies changes in what its script is given, or why it is refused. */
export function changesOfScript(name: EngineOfScripts, change: ScriptChange): readonly string[] {
  return renderedChanges(renderScript(name, {}), renderScript(name, change));
}

function renderScript(name: EngineOfScripts, { engine, layout, ...rest }: ScriptChange): Rendering {
  return renderEngine(
    aJobSpec({
      model: { preset: 'llama-3.1-8b', sequenceLength: 4096 },
      training: { steps: 1000, globalBatchSize: 64, microBatchSize: 2 },
      data: { claimName: 'corpus', path: 'lines' },
      ...rest,
      engine: { name, image: 'x', command: ['python3', 'train.py'], ...engine },
      layout: aLayout({ dataParallelDegree: 8, ...layout }),
    }),
  );
}
