/** The API gives the verdict of `layout check`, `render` and `predict` about a layout and its engine: apps/cli/src/engines/one-verdict.spec.ts. */
import { ENGINES_WITHOUT_PROGRAM, RenderingRequest, TrainingJobSpec } from '@coxswain/api-types';
import { DomainError } from '@coxswain/domain-error';
import { type AskedOfEngine, fieldsOfDocument, isEngineName } from '@coxswain/engines';
import { VERDICT_ROWS } from '@coxswain/engines/testing/verdict-rows';
import { aFabricNode } from '@coxswain/fabric/testing';
import { jobPlanning, planJob } from '@coxswain/job-planning';
import { readLayout, worldSize } from '@coxswain/layout';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import type { Principal } from '../auth/principal.ts';
import { requireRunnable } from '../jobs/spec-rules.ts';
import { RenderingsService } from './renderings.service.ts';

const EXAMPLES = resolve(import.meta.dirname, '../../../../examples/layouts');
const CALLER = { id: 'root', isClusterAdmin: true, memberships: [] } as unknown as Principal;

/** POST renderings: 1 if the engine refuses. The database would only say that the caller may ask. */
async function rendered(request: RenderingRequest): Promise<number> {
  const database = { within: () => Promise.resolve() };
  const service = new RenderingsService(database as never, { id: 'c' } as never, undefined as never);
  const { program } = await service.ask(CALLER, 'research', request);
  return program === null ? 1 : 0;
}

/** POST jobs: 1 if it is refused. */
function submitted(spec: TrainingJobSpec): number {
  try {
    requireRunnable(spec, '/spec');
    return 0;
  } catch (error) {
    if (error instanceof DomainError) return 1;
    throw error;
  }
}

/** POST jobs/checks, and the operator: what the planner expects of the layout; 1 if it is not asked, because the job is refused. */
function predicted(spec: TrainingJobSpec, gpu: string): number {
  const { layout } = spec;
  const nodes = Array.from({ length: layout === undefined ? 0 : Math.ceil(worldSize(layout) / 8) }, (_unused, index) =>
    aFabricNode({ name: `n${index}`, gpuType: gpu }),
  );
  const planning = jobPlanning(spec, { fabric: { nodes } });
  if (planning === undefined) return 1;
  const answer = planning.kind === 'answer' ? planning.answer : planJob(planning.question, { isBounded: true });
  return answer?.verdict === 'fits' ? 0 : 4;
}

/** The request as a client sends it, and a job with the same layout, engine and model. */
function askedOf(document: object): { readonly request: RenderingRequest; readonly spec: TrainingJobSpec } {
  const read = readLayout(document);
  if (read.kind !== 'layout' || read.document.engine === undefined) throw new Error('no layout with an engine');
  const fields = fieldsOfDocument(read.document as AskedOfEngine);
  const request = RenderingRequest.parse(JSON.parse(JSON.stringify(fields)));
  const { engine, layout, model, training } = request;
  const needsProgram = isEngineName(engine.name) && ENGINES_WITHOUT_PROGRAM.includes(engine.name);
  const spec = TrainingJobSpec.parse({
    engine: { image: 'i', ...engine, ...(needsProgram ? { command: ['python3', 'train.py'] } : {}) },
    layout,
    ...(model === undefined ? {} : { model: { sequenceLength: 4096, ...model } }),
    training: { steps: 10, globalBatchSize: worldSize(layout), ...training },
    data: { format: 'mock' },
  });
  return { request, spec };
}

function shipped(name: string): object {
  return parse(readFileSync(join(EXAMPLES, name), 'utf8')) as object;
}

function engineOf(document: object): string {
  return (document as { readonly engine?: { readonly name?: string } }).engine?.name ?? '';
}

const SHIPPED = readdirSync(EXAMPLES).filter((name) => name.endsWith('.yaml') && isEngineName(engineOf(shipped(name))));

it.each(SHIPPED)('%s has one verdict at each door of the API', async (name) => {
  const { request, spec } = askedOf(shipped(name));
  const verdict = await rendered(request);
  expect({ name, submitted: submitted(spec) }).toEqual({ name, submitted: verdict });
  // 4 is the planner's: no model for an option, or too little memory.
  expect(verdict === 1 ? [1] : [0, 4]).toContain(predicted(spec, 'h100'));
});

it.each(VERDICT_ROWS)('%s, also by the API', async (_sentence, document, want) => {
  const { request, spec } = askedOf(document);
  const verdicts = {
    render: await rendered(request),
    check: submitted(spec),
    predict: predicted(spec, 'h200'),
  };
  expect(verdicts).toEqual(want);
});
