import { randomUUID } from 'node:crypto';
import { API_GROUP_VERSION, type Job, type PlanAccuracy } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { PlanRequest } from '@coxswain/planner/types';
import { startSystem, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { expectRowsToEqualCluster } from './support/audit.ts';
import { gptSpec, sleeperSpec, UNTIL_STOPPED } from './support/jobs.ts';
import { createProject, jobIn, resource, submit, type TestProject } from './support/project.ts';

let system: CoxswainSystem;
let project: TestProject;
let rivals: TestProject;

beforeAll(async () => {
  system = await startSystem();
  project = await createProject(system, 'plans');
  rivals = await createProject(system, 'rivals');
});

afterAll(async () => {
  await system.stop();
});

const model = gptSpec().model;
const training = { steps: 30, globalBatchSize: 8 };
/** A sleeping engine whose layout the planner chooses: it needs to know what it divides. */
const plannedSleeper = (options: Parameters<typeof sleeperSpec>[0], gpus = 4): Job['spec'] =>
  sleeperSpec(options, { layout: undefined, gpus, model, training: { ...training, steps: options.steps } });

const QUESTION = PlanRequest.parse({
  model: 'llama-3.1-8b',
  cluster: { gpu: 'h100', gpus: 64 },
  globalBatchSize: 512,
  sequenceLength: 8192,
  pinned: { chunks: 1, context: 1, zeroStage: 1, partition: 'even', rankOrder: 'tp-cp-dp-pp' },
  allow: { schedules: ['1f1b'], recompute: ['none', 'full'], offload: false },
});

async function graphql(query: string, variables: object, token = project.token): Promise<Record<string, unknown>> {
  const response = await fetch(`${system.apiUrl}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as { data?: Record<string, unknown>; errors?: unknown };
  if (errors !== undefined) throw new Error(JSON.stringify(errors));
  return data ?? {};
}

/** Of the thirty of `gptSpec`, without the first three, which are slower. */
const MEASURED_STEPS = 27;

/** The job once all its steps are stored, which happens a moment after it is done: until then the median moves. */
function measured(id: string): Promise<Job> {
  return waitFor(
    async () => {
      const job = await project.api.job({ project: project.name, id });
      return (job.stepTime?.measuredSteps ?? 0) >= MEASURED_STEPS ? job : undefined;
    },
    { what: 'the measured step time' },
  );
}

describe('a question to the planner', () => {
  it('is answered by REST and by GraphQL alike, kept, and told to nobody else', async () => {
    const byRest = await project.api.createPlan(project.name, QUESTION, randomUUID());
    expect(byRest.answer.best?.prediction.verdict).not.toBe('doesNotFit');
    const { createPlan } = await graphql(
      'mutation ($input: PlanRequestInput!) { createPlan(project: "plans", input: $input) { id answer { best { gpus prediction { stepTimeS } } } } }',
      { input: QUESTION },
    );
    const { id, answer } = createPlan as { id: string; answer: { best: { prediction: { stepTimeS: number } } } };
    expect(answer.best.prediction.stepTimeS).toBe(byRest.answer.best?.prediction.stepTimeS);
    expect((await project.api.plan({ project: project.name, id })).request).toEqual(byRest.request);
    await expect(rivals.api.plan({ project: rivals.name, id })).rejects.toMatchObject({ status: 404 });
    expect((await rivals.api.planPage(rivals.name)).items).toEqual([]);
  });

  it('asked for twice with one idempotency key is answered once', async () => {
    const idempotencyKey = randomUUID();
    const first = await project.api.createPlan(project.name, QUESTION, idempotencyKey);
    expect((await project.api.createPlan(project.name, QUESTION, idempotencyKey)).id).toBe(first.id);
  });
});

describe('a job without a layout', () => {
  it('of the real engine runs on the layout that the planner chose, and is measured beside its prediction', async () => {
    const { layout: _chosen, ...spec } = gptSpec();
    const submitted = await project.api.createJob(
      project.name,
      // As people write it in REST and in files for the command line.
      { name: 'auto', spec: { ...spec, layout: 'auto', gpus: 4 } as never },
      randomUUID(),
    );
    await jobIn(project, submitted.id, ['Complete'], { deadlineMs: 300_000 });
    const job = await measured(submitted.id);
    expect(job.plan).toMatchObject({ chosenBy: 'Planner', gpus: 4, gpuType: 'simulated' });
    expect(worldSize(job.layout ?? gptSpec().layout ?? never())).toBe(4);
    expect(job.attempts[0]).toMatchObject({ layout: job.layout, prediction: { stepMs: job.plan?.predictedStepMs } });
    expect(job.stepTime).toMatchObject({ epoch: 1, predictedMs: job.plan?.predictedStepMs });
    expect(job.stepTime?.measuredMs).toBeGreaterThan(0);
    await expectRowsToEqualCluster(system, project);
  });

  it('is judged in the report of its project, by REST and by GraphQL, and not in another’s', async () => {
    const report = await project.api.planAccuracy(project.name);
    expect(report.items).toMatchObject([{ name: 'auto', engine: 'reference', gpuType: 'simulated' }]);
    expect(report.overall).toMatchObject({ n: 1, medianAbsPct: Math.abs(report.items[0]?.errorPct ?? 0) });
    const { planAccuracy } = await graphql(
      '{ planAccuracy(project: "plans") { overall { n } items { name errorPct } } }',
      {},
    );
    expect((planAccuracy as PlanAccuracy).items[0]).toMatchObject({
      name: 'auto',
      errorPct: report.items[0]?.errorPct,
    });
    expect((await rivals.api.planAccuracy(rivals.name)).overall.n).toBe(0);
    expect((await system.admin.planAccuracy('-')).overall.n).toBe(1);
  });

  it('applied with kubectl is planned too, before its gang is made, and its row says what the resource says', async () => {
    const manifest = {
      apiVersion: API_GROUP_VERSION,
      kind: 'TrainingJob',
      metadata: { name: 'by-kubectl', namespace: project.name },
      spec: plannedSleeper({ steps: 10 }),
    };
    await system.plane.kubectl(['apply', '-f', '-'], { input: JSON.stringify(manifest) });
    const row = await waitFor(
      async () => (await project.api.jobPage(project.name)).items.find((job) => job.name === 'by-kubectl'),
      { what: 'the row of a job that kubectl made' },
    );
    const job = await jobIn(project, row.id, ['Complete']);
    const { status, spec } = await resource(system, project.name, 'by-kubectl');
    expect(spec.layout).toBeUndefined();
    expect(job.plan).toEqual(status?.plan);
    expect(status?.attempts?.[0]?.layout).toEqual(status?.plan?.layout);
  });

  it('keeps its layout through a restart', async () => {
    const fault = { rank: 1, step: 15, kind: 'exit', code: 1, epoch: 1 } as const;
    const restartPolicy = { maxRestarts: 2, delaySeconds: 0, inPlace: 'Never' } as const;
    const spec = { ...plannedSleeper({ steps: 40, fault }), restartPolicy };
    const submitted = await submit(project, 'restarted', spec);
    const job = await jobIn(project, submitted.id, ['Complete']);
    expect(job.attempts.map(({ outcome }) => outcome)).toEqual(['Failed', 'Succeeded']);
    expect(job.attempts.map(({ layout }) => layout)).toEqual([job.layout, job.layout]);
  });

  it('is planned anew when it is resumed on another number of GPUs', async () => {
    const submitted = await submit(project, 'replanned', plannedSleeper({ steps: UNTIL_STOPPED }));
    const at = { project: project.name, id: submitted.id };
    await jobIn(project, submitted.id, ['Running'], { and: ({ checkpoint }) => checkpoint !== null });
    await project.api.suspend(at);
    await jobIn(project, submitted.id, ['Suspended']);
    await project.api.resume(at, { gpus: 2 });
    const job = await jobIn(project, submitted.id, ['Running'], { and: ({ epoch }) => epoch === 2 });
    expect(job.plan).toMatchObject({ chosenBy: 'Planner', gpus: 2 });
    expect(worldSize(job.attempts[1]?.layout ?? never())).toBe(2);
    await project.api.cancel(at);
    await jobIn(project, submitted.id, ['Cancelled']);
  });

  it('that no layout fits is refused in a sentence, and nothing is made', async () => {
    const submitted = await submit(project, 'impossible', plannedSleeper({ steps: 5 }, 7));
    const job = await jobIn(project, submitted.id, ['Queued'], {
      and: ({ conditions }) => conditions.some(({ reason }) => reason === 'NoLayoutFits'),
    });
    expect(job.summary).toMatch(/^No layout on 7 simulated /);
    expect(job.layout).toBeNull();
    expect(job.attempts).toEqual([]);
    await project.api.cancel({ project: project.name, id: submitted.id });
    await jobIn(project, submitted.id, ['Cancelled']);
  });
});

describe('a job with a layout', () => {
  it('is predicted too', async () => {
    const submitted = await submit(project, 'predicted', sleeperSpec({ steps: 10 }, { model, training }));
    const job = await jobIn(project, submitted.id, ['Complete']);
    expect(job.plan).toMatchObject({ chosenBy: 'User', layout: job.spec.layout });
    expect(job.attempts[0]?.prediction?.stepMs).toBe(job.plan?.predictedStepMs);
  });
});

function never(): never {
  throw new Error('there is no layout');
}
