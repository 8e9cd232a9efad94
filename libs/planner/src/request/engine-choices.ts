/** Which choices does the engine of a request offer? */
import { engineSupport, LAYOUT_ENGINES, type LayoutEngine, type ParallelLayout } from '@coxswain/layout';
import { SCHEDULES } from '../facts.ts';
import { CONTEXT_ALGORITHMS, type AllowedChoices } from '../contract.ts';

/**
 * The engine that a software stack names, if the layout rules know it: `megatron-lm core_v0.15` is a release of `megatron-lm`, and NeMo's
 * recipes run on Megatron-Bridge.
 */
export function engineOfStack(stack: string): LayoutEngine | undefined {
  const known = LAYOUT_ENGINES.find((engine) => stack === engine || stack.startsWith(`${engine} `));
  return known ?? (/^nemo\b/.test(stack) ? 'megatron-bridge' : undefined);
}

/** What the caller allows and the engine can be told. Where nothing would be left the caller's word stands, and the rules refuse what is wrong. */
export function choicesOfEngine(stack: string | undefined, allow: AllowedChoices): AllowedChoices {
  const engine = stack === undefined ? undefined : engineOfStack(stack);
  if (engine === undefined) return allow;
  const offers = (layout: Partial<ParallelLayout>, option: string): boolean => {
    const asked = { tensorParallelDegree: 1, pipelineParallelDegree: 2, dataParallelDegree: 1, ...layout };
    const outcome = engineSupport(engine, asked);
    return outcome.kind === 'supported' || !outcome.refusals.some((refusal) => refusal.option === option);
  };
  const schedules = (allow.schedules ?? SCHEDULES).filter((schedule) =>
    offers({ pipeline: { schedule } }, 'pipeline.schedule'),
  );
  const contextAlgorithms = (allow.contextAlgorithms ?? CONTEXT_ALGORITHMS).filter((contextAlgorithm) =>
    offers({ contextParallelDegree: 2, sequence: { contextAlgorithm } }, 'sequence.contextAlgorithm'),
  );
  return {
    ...allow,
    ...(schedules.length === 0 ? {} : { schedules }),
    ...(contextAlgorithms.length === 0 ? {} : { contextAlgorithms }),
  };
}
