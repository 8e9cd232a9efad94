import type { LayoutFacts, ParallelLayout } from '../index.ts';
import { aLayout } from '../testing/index.ts';
import { type LegalCase, type RuleCase, showRules } from '../testing/rule-cases.ts';
import { restoreRules } from './restore-rules.ts';

const saved = (layout: Partial<ParallelLayout>): LayoutFacts => ({ restoreFrom: { layout: aLayout(layout) } });

const broken: readonly RuleCase[] = [
  {
    rule: 'checkpointCanBeRestored',
    layout: { tensorParallelDegree: 4 },
    facts: saved({ tensorParallelDegree: 2, checkpointPolicy: { format: 'torch_dist' } }),
    message:
      'the checkpoint was saved with tensorParallelDegree 2 and optimizerReshard none, so these degrees cannot change; use the same, or save with checkpointPolicy.optimizerReshard full first',
    waysOut: [
      { layout: { tensorParallelDegree: 2 } },
      {
        facts: saved({
          tensorParallelDegree: 2,
          checkpointPolicy: { format: 'torch_dist', optimizerReshard: 'full' },
        }),
      },
    ],
  },
  {
    rule: 'checkpointCanBeRestored',
    layout: { pipelineParallelDegree: 2, tensorParallelDegree: 2 },
    facts: saved({ tensorParallelDegree: 4, checkpointPolicy: { optimizerReshard: 'data-parallel' } }),
    message:
      'the checkpoint was saved with tensorParallelDegree 4, pipelineParallelDegree 1 and optimizerReshard data-parallel, so these degrees cannot change; use the same, or save with checkpointPolicy.optimizerReshard full first',
    waysOut: [{ layout: { tensorParallelDegree: 4, pipelineParallelDegree: 1 } }],
  },
  {
    rule: 'checkpointCanBeRestored',
    layout: { dataParallelDegree: 4 },
    facts: saved({ dataParallelDegree: 2, checkpointPolicy: { format: 'galvatron' } }),
    message:
      'a Galvatron checkpoint can only be loaded with the configuration it was saved with; use that configuration',
    waysOut: [{ layout: { dataParallelDegree: 2 } }],
  },
  {
    rule: 'checkpointCanBeRestored',
    layout: { states: { optimizer: 'lion' } },
    facts: saved({}),
    message: 'the checkpoint holds states of adamw, which lion cannot use; keep adamw, or load only its weights',
    waysOut: [{ layout: { states: { optimizer: 'adamw' } } }, { facts: { restoreFrom: undefined } }],
  },
];

const legal: readonly LegalCase[] = [
  ['another data degree than the checkpoint’s', { dataParallelDegree: 4 }, saved({ dataParallelDegree: 2 })],
  [
    'another layout than that of a checkpoint which any layout reads',
    { tensorParallelDegree: 4 },
    saved({ tensorParallelDegree: 2, checkpointPolicy: { optimizerReshard: 'full' } }),
  ],
  ...(['torch_dcp', 'dcp', 'fsdp_dtensor', 'deepspeed-universal', 'bytecheckpoint'] as const).map(
    (format): LegalCase => [
      `another layout than that of a checkpoint in ${format}`,
      { pipelineParallelDegree: 4 },
      saved({ checkpointPolicy: { format } }),
    ],
  ),
];

describe('rules of coming back from a checkpoint', () => {
  showRules({ rules: restoreRules, broken, legal });
});
