/** Answers with the program of a complete job. */
import type { EffectiveSpec, EngineRendering, PlacementSpec } from '@coxswain/api-types';
import { ranksOfPod } from '@coxswain/api-types';
import { AS_THE_RULE_SAYS, brokenLayoutRules, describeViolation } from './layout-refusal.ts';
import { modelRefusals } from './model-of-job.ts';
import { renderEngine } from './render-engine.ts';
import type { RenderContext, RenderedEngine } from './rendering.ts';

type Refusal = NonNullable<EngineRendering['refusal']>;
type Program = NonNullable<EngineRendering['program']>;

/** What adapters must know about the machines of a placement. */
export function contextOfPlacement(
  placement: Pick<PlacementSpec, 'ranks' | 'ranksPerPod' | 'worldSize' | 'nicClasses'>,
): RenderContext {
  const { nicClasses } = placement;
  return { gpusPerPod: ranksOfPod(placement, 0).length, ...(nicClasses === undefined ? {} : { nicClasses }) };
}

/** The answer for a job that has no placement yet. Model and layout are checked first, as when a job is accepted. */
export function judgedRendering(spec: EffectiveSpec, context: RenderContext = {}): EngineRendering {
  const refusal = firstRefusal(spec);
  return refusal === undefined ? answeredRendering(spec, context) : refusedRendering(spec.engine.name, refusal);
}

/** The program of a job, or why it cannot run. Pure; takes milliseconds. */
export function answeredRendering(spec: EffectiveSpec, context: RenderContext = {}): EngineRendering {
  const engine = spec.engine.name;
  const rendered = renderEngine(spec, context);
  if (rendered.kind === 'rendered') return { engine, program: programOf(rendered), refusal: null };
  const { kind: _refused, ...why } = rendered;
  return refusedRendering(engine, why);
}

/** The answer for a job that is refused. */
export function refusedRendering(engine: string, refusal: Refusal): EngineRendering {
  return { engine, program: null, refusal };
}

/** The refusal that comes before the engine is asked. */
function firstRefusal(spec: EffectiveSpec): Refusal | undefined {
  const [unknown] = modelRefusals(spec.model);
  if (unknown !== undefined) {
    const { field, message } = unknown;
    return {
      rule: 'model-is-known',
      field,
      why: message,
      fallback: 'give a preset, a config.json or sizes that are known',
    };
  }
  const [broken] = brokenLayoutRules(spec);
  if (broken === undefined) return undefined;
  return { rule: broken.rule, ...describeViolation(broken), fallback: AS_THE_RULE_SAYS };
}

function programOf(rendered: RenderedEngine): Program {
  const { release, startedBy, command, resumeArgs, env, files, ports, stepLines, checkpoints, notes } = rendered;
  return {
    release: release ?? null,
    startedBy,
    argv: [...command],
    resumeArgs: [...resumeArgs],
    env: Object.entries(env).map(([name, value]) => ({ name, value })),
    files: files.map(({ path, text }) => ({ path, text })),
    ports: ports.map(({ name, port }) => ({ name, port })),
    hostMemoryGibPerGpu: rendered.hostMemoryGibPerGpu ?? null,
    stepLines: stepLines ?? null,
    checkpointFormat: checkpoints ?? null,
    notes: [...notes],
  };
}
