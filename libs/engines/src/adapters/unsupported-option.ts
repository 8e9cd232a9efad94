import { engineSupport, type LayoutEngine, type ParallelLayout } from '@coxswain/layout';
import type { EngineRefusal } from '../engine-refusal.ts';

/** The refusal of everything in the layout that the engine has no option for; undefined when there is nothing. */
export function unsupportedOption(engine: LayoutEngine, layout: ParallelLayout): EngineRefusal | undefined {
  const outcome = engineSupport(engine, layout);
  if (outcome.kind === 'supported') return undefined;
  const options = outcome.refusals.map(({ option, value }) => `layout.${option} ${value}`);
  // An option that is not rendered has a way out of its own: another value, or another engine.
  const [first] = outcome.refusals;
  return {
    rule: 'engine-lacks-option',
    field: `layout.${first?.option ?? ''}`,
    why: `engine "${engine}" cannot do ${options.join(', ')}`,
    fallback: first?.fallback ?? '',
  };
}
