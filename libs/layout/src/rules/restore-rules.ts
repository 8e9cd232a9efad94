import { CONFIGURATION_BOUND_FORMAT, LAYOUT_INDEPENDENT_FORMATS } from '../checkpoint-formats.ts';
import { type ParallelLayout, worldSize } from '../parallel-layout.ts';
import { brokenIf, type OptionRule } from './option-rule.ts';

const MEGATRON = 'Megatron-LM';

/** Rules about restoring from a checkpoint. */
export const restoreRules: readonly OptionRule[] = [
  {
    name: 'checkpointCanBeRestored',
    source: `${MEGATRON}, DeepSpeed, Galvatron`,
    statement: 'a checkpoint can be loaded with another layout or optimizer only if its format and options allow it',
    check: (layout, { restoreFrom }) => {
      if (restoreFrom === undefined) return [];
      const saved = restoreFrom.layout;
      const changed = RESTORE_DEGREES.filter(({ of }) => of(saved) !== of(layout));
      const policy = saved.checkpointPolicy;
      const readsAnything = policy?.optimizerReshard === 'full' || LAYOUT_INDEPENDENT_FORMATS.has(policy?.format ?? '');
      const was = saved.states?.optimizer ?? 'adamw';
      const becomes = layout.states?.optimizer ?? 'adamw';
      const first = changed[0];
      return [
        ...brokenIf(
          first !== undefined && !readsAnything,
          first?.field ?? '',
          () =>
            `the checkpoint was saved with ${changed.map(({ field, of }) => `${field.replace('/', '.')} ${of(saved)}`).join(', ')} and ` +
            `optimizerReshard ${policy?.optimizerReshard ?? 'none'}, so these degrees cannot change; use the same, or ` +
            `save with checkpointPolicy.optimizerReshard full first`,
        ),
        ...brokenIf(
          policy?.format === CONFIGURATION_BOUND_FORMAT && !isSameDivision(saved, layout),
          'perLayer',
          () =>
            'a Galvatron checkpoint can only be loaded with the configuration it was saved with; use that configuration',
        ),
        ...brokenIf(
          was !== becomes,
          'states/optimizer',
          () =>
            `the checkpoint holds states of ${was}, which ${becomes} cannot use; keep ${was}, or load only its weights`,
        ),
      ];
    },
  },
];

const RESTORE_DEGREES: readonly { readonly field: string; readonly of: (layout: ParallelLayout) => number }[] = [
  { field: 'tensorParallelDegree', of: (layout) => layout.tensorParallelDegree },
  { field: 'pipelineParallelDegree', of: (layout) => layout.pipelineParallelDegree },
  { field: 'expert/expertParallelDegree', of: (layout) => layout.expert?.expertParallelDegree ?? 1 },
];

function isSameDivision(one: ParallelLayout, other: ParallelLayout): boolean {
  const divisionOf = (layout: ParallelLayout): string =>
    JSON.stringify([
      worldSize(layout),
      layout.dataParallelDegree,
      layout.perLayer ?? [],
      layout.pipeline?.stages ?? [],
    ]);
  return divisionOf(one) === divisionOf(other);
}
