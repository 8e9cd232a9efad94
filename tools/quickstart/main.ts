/** `npm run quickstart`: a newcomer's first ten minutes. */
import { ApiClient } from '@coxswain/api-client';
import { JobCreate, TrainingJobSpec, type CheckpointRecord, type Job } from '@coxswain/api-types';
import { killRank, startSystem, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { randomUUID } from 'node:crypto';
import { copyFileSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { describeTasks, ensureSetup, missingTasks, QUICKSTART_PARTS } from '../setup/ensure-setup.ts';
import { progressOn, secondsSince, type Progress } from '../setup/progress.ts';
import { followJob, stepSentence, stepTimeSentence } from './follow.ts';
import { CHAOS_ENVIRONMENT, CHAOS_SECONDS, tryChaos } from './chaos.ts';
import { fabricLines, placementLines } from './format-fabric.ts';
import { HELP, parseOptions, type QuickstartOptions } from './options.ts';
import { whyNotShown } from './verdict.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const JOB = join(ROOT, 'examples/jobs/tiny-gpt.yaml');
const PROJECT = 'research';
const RANK_TO_KILL = 3;
/** From the first process to the last step, on two cores. */
const RUN_SECONDS = 75;

async function main(argv: readonly string[]): Promise<number> {
  const options = parseOptions(argv);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const abort = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => abort.abort(new Interrupted()));
  const progress = progressOn(process.stdout);
  const started = performance.now();
  let system: CoxswainSystem | undefined;
  try {
    const tasks = await missingTasks(QUICKSTART_PARTS);
    const announced = describeTasks(tasks, options.chaos ? CHAOS_SECONDS : RUN_SECONDS);
    progress.say(`This takes ${announced}.`);
    progress.say('1. Setting up');
    await untilAborted(ensureSetup({ progress, only: QUICKSTART_PARTS }), abort.signal);
    progress.say('2. Starting Coxswain');
    const starting = start(options, progress);
    // Interrupted half-way, it still has to be stopped: wait for it rather than leave it to the supervisors.
    starting.then(
      (late) => (system = late),
      () => undefined,
    );
    system = await untilAborted(starting, abort.signal).catch(async (error: unknown) => {
      system = await starting.catch(() => undefined);
      throw error;
    });
    const show = options.chaos ? chaos : train;
    const why = await show(system, { options, progress, signal: abort.signal });
    progress.say(
      why === undefined
        ? `\nDone in ${secondsSince(started)} (announced: ${announced}).`
        : `\nThis went wrong: ${why}.`,
    );
    if (options.keep) await keepRunning(progress, abort.signal);
    else progress.say('It is stopped now; `npm run quickstart -- --keep` leaves it running until Ctrl-C.');
    return why === undefined ? 0 : 1;
  } catch (error) {
    if (!(abort.signal.reason instanceof Interrupted)) throw error;
    progress.say('\nInterrupted.');
    return 130;
  } finally {
    if (system !== undefined) {
      const running = system;
      await progress.step('Stopping everything', () => running.stop());
    }
  }
}

class Interrupted extends Error {}

/** The value, unless the signal comes first. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

async function start(options: QuickstartOptions, progress: Progress): Promise<CoxswainSystem> {
  const system = await progress.step('PostgreSQL, Kubernetes with four local nodes, operator, API', (note) =>
    startSystem({
      say: note,
      codeBucket: 'local',
      ...(options.chaos ? { operatorEnvironment: CHAOS_ENVIRONMENT } : {}),
      ...(options.port === 0 ? {} : { apiPort: options.port }),
      ...(options.directory === undefined ? {} : { directory: resolve(options.directory) }),
    }),
  );
  progress.say(`    dashboard   ${system.apiUrl}/#token=${system.adminToken}`);
  progress.say(`    kubectl     export KUBECONFIG=${system.plane.adminKubeconfigPath}`);
  progress.say(`    logs        ${system.logsDirectory}`);
  const [found = '', ...lines] = fabricLines(await system.admin.fabric());
  progress.say(`    fabric      ${found}`);
  for (const line of lines) progress.say(`                ${line}`);
  return system;
}

interface TrainContext {
  readonly options: QuickstartOptions;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** A project with data and a place for checkpoints, and a token that may act in it. */
async function openProject(system: CoxswainSystem): Promise<{ readonly api: ApiClient; readonly token: string }> {
  const folders = await system.createNamespace(PROJECT, ['corpus', 'checkpoints']);
  copyFileSync(join(ROOT, 'examples/data/logbook.txt'), join(folders['corpus'] ?? '', 'logbook.txt'));
  const existing = (await system.admin.projects()).items.some((project) => project.name === PROJECT);
  if (!existing) await system.admin.createProject({ name: PROJECT, namespaces: [PROJECT] });
  const { token } = await system.admin.createToken(PROJECT, { name: `quickstart-${randomUUID().slice(0, 8)}` });
  return { api: new ApiClient({ server: system.apiUrl, token }), token };
}

/** Resolves to why a failure was not answered as it should; undefined when all were. */
async function chaos(system: CoxswainSystem, { progress, signal }: TrainContext): Promise<string | undefined> {
  const { api } = await openProject(system);
  progress.say('3. Training small GPTs on four ranks, and doing to them what happens to large ones');
  return await untilAborted(tryChaos({ system, api, project: PROJECT, manifestPath: JOB, progress, signal }), signal);
}

/** Resolves to why the job did not show what it should; undefined when it did. */
async function train(system: CoxswainSystem, { options, progress, signal }: TrainContext): Promise<string | undefined> {
  const { api, token } = await openProject(system);
  progress.say('3. Training a small GPT: 4 ranks, tensor parallel 2 x data parallel 2');
  const submitted = await api.createJob(PROJECT, jobRequest());
  const at = { project: PROJECT, id: submitted.id };
  progress.say(`    POST /v1/projects/${PROJECT}/jobs → ${submitted.name} (${submitted.id})`);

  const totalSteps = submitted.spec.training?.steps ?? 0;
  const losses: number[] = [];
  let killed = !options.killRank;
  let printedAtMs = 0;
  const finished = await followJob(api, at, {
    signal,
    onEvent: (event) => {
      progress.say(`    ${event.at.slice(11, 19)}  ${event.type.padEnd(15)} ${event.message}`);
      if (event.type === 'Placed') void printPlacement(system, { api, at, progress });
      if (event.type !== 'CheckpointSaved' || killed) return;
      killed = true;
      void killOneRank(system, { api, at, progress });
    },
    onStep: (point) => {
      if (point.loss !== null) losses.push(point.loss);
      if (performance.now() - printedAtMs < 1_000) return;
      printedAtMs = performance.now();
      progress.say(`    ${point.at.slice(11, 19)}  Training        ${stepSentence(point, totalSteps)}`);
    },
  });
  const checkpoints = (await api.checkpoints(at)).items;
  await summarise(system, { api, job: finished, checkpoints, losses, progress, token });
  return whyNotShown({ job: finished, checkpoints, killRank: options.killRank });
}

function jobRequest(): JobCreate {
  const manifest = parse(readFileSync(JOB, 'utf8')) as {
    metadata: { name: string };
    spec: unknown;
  };
  const name = `${manifest.metadata.name}-${randomUUID().slice(0, 4)}`;
  return JobCreate.parse({ name, spec: TrainingJobSpec.parse(manifest.spec) });
}

/** Prints where the ranks of the current attempt run. A failure is printed and does not end the quickstart. */
async function printPlacement(system: CoxswainSystem, { api, at, progress }: KillContext): Promise<void> {
  try {
    const [{ epoch, items }, { attempts }, fabric] = await Promise.all([
      api.ranks(at),
      api.job(at),
      system.admin.fabric(),
    ]);
    const where = attempts.find((attempt) => attempt.epoch === epoch)?.placedWhere;
    for (const line of placementLines(items, where, fabric)) progress.say(`              ${line}`);
  } catch (error) {
    progress.say(
      `              the placement of the ranks could not be read: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

interface KillContext {
  readonly api: ApiClient;
  readonly at: { readonly project: string; readonly id: string };
  readonly progress: Progress;
}

/** On purpose: shows that a lost rank costs a restart from the checkpoint and nothing else. */
async function killOneRank(system: CoxswainSystem, { api, at, progress }: KillContext): Promise<void> {
  try {
    const { uid, namespace } = await waitFor(
      async () => {
        const job = await api.job(at);
        return job.uid === null ? undefined : { uid: job.uid, namespace: job.namespace };
      },
      { what: 'the job to be in the cluster', deadlineMs: 10_000 },
    );
    const victim = await killRank(system, { namespace, jobUid: uid, rank: RANK_TO_KILL });
    progress.say(`              ⚡ killed on purpose: rank ${RANK_TO_KILL} (process ${victim.pid}) on ${victim.node}`);
  } catch (error) {
    progress.say(
      `              the rank could not be killed: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

interface Story {
  readonly api: ApiClient;
  readonly job: Job;
  readonly checkpoints: readonly CheckpointRecord[];
  readonly losses: readonly number[];
  readonly progress: Progress;
  readonly token: string;
}

async function summarise(system: CoxswainSystem, story: Story): Promise<void> {
  const { api, job, checkpoints, losses, progress, token } = story;
  const at = { project: PROJECT, id: job.id };
  const steps = await api.steps(at);
  const measured = steps.items.flatMap((point) => (point.loss === null ? [] : [point.loss]));
  const [first, last] = [measured[0] ?? losses[0], measured.at(-1) ?? losses.at(-1)];
  progress.say(`4. ${job.name}: ${job.state}. ${job.summary}`);
  if (first !== undefined && last !== undefined)
    progress.say(`    loss          ${first.toFixed(3)} at the start, ${last.toFixed(3)} at the end`);
  if (job.stepTime !== null) progress.say(`    step time     ${stepTimeSentence(job.stepTime)}`);
  progress.say(
    `    attempts      ${job.attempts.length} (${job.restarts.charged} restart charged), ${checkpoints.length} checkpoints`,
  );
  progress.say(
    `    REST          curl -H "Authorization: Bearer ${token}" ${system.apiUrl}/v1/projects/${PROJECT}/jobs/${job.id}`,
  );
  progress.say(
    `    GraphQL       curl -H "Authorization: Bearer ${token}" -H 'content-type: application/json' ${system.apiUrl}/graphql \\\n` +
      `                    -d '{"query":"{ job(project: \\"${PROJECT}\\", id: \\"${job.id}\\") { name state summary } }"}'`,
  );
  progress.say(
    `    kubectl       kubectl --kubeconfig ${system.plane.adminKubeconfigPath} -n ${PROJECT} get trainingjobs,checkpoints`,
  );
  progress.say(
    `    command line  COXSWAIN_SERVER=${system.apiUrl} COXSWAIN_TOKEN=${token} npx coxswain get ${job.name}`,
  );
  progress.say(`    page          ${system.apiUrl}/projects/${PROJECT}/jobs/${job.id}#token=${token}`);
}

async function keepRunning(progress: Progress, signal: AbortSignal): Promise<void> {
  progress.say('Everything keeps running. Ctrl-C stops it.');
  const idle = setInterval(() => undefined, 60_000);
  await new Promise<void>((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  );
  clearInterval(idle);
}

try {
  process.exit(await main(process.argv.slice(2))); // Set-up that was interrupted would go on.
} catch (error) {
  process.stderr.write(`error: ${describe(error)}\n`);
  process.exit(1);
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}\n  because: ${describe(error.cause)}`;
}
