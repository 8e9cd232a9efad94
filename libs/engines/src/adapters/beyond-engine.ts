import { engineSupport, type LayoutEngine, type ParallelLayout } from '@coxswain/layout';
import type { EngineRefusal } from '../engine-refusal.ts';

/** The refusal of everything in the layout that the engine has no option for; undefined when there is nothing. */
export function beyondEngine(engine: LayoutEngine, layout: ParallelLayout): EngineRefusal | undefined {
  const outcome = engineSupport(engine, layout);
  if (outcome.kind === 'supported') return undefined;
  const options = outcome.refusals.map(({ option, value }) => `layout.${option} ${value}`);
  const program = engine === 'command' ? 'the program' : 'a program of engine "command"';
  return {
    rule: 'engine-lacks-option',
    field: `layout.${outcome.refusals[0]?.option ?? ''}`,
    why: `engine "${engine}" cannot do ${options.join(', ')}`,
    fallback: `leave it out of the layout; ${program} can be told in engine.args`,
  };
}
