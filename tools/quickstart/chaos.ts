/** `npm run quickstart -- --chaos`: injects one of each failure into real processes and nodes, and prints what happens. */
import type { ApiClient } from '@coxswain/api-client';
import { FINAL_JOB_STATES, JobCreate, type Job, TrainingJobSpec } from '@coxswain/api-types';
import { findRank, killRank, loseNodes, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Progress } from '../setup/progress.ts';
import { answerLine, backLine, costLine, endLines, runsOf, type TrialName, whyTrialFailed } from './chaos-story.ts';

/** Where hours are waited for in a cluster, seconds are here: what is shown is the same. */
export const CHAOS_ENVIRONMENT: Readonly<Record<string, string>> = {
  COXSWAIN_NODE_GRACE_MS: '5000',
  COXSWAIN_AVOIDED_NODE_MS: '20000',
  COXSWAIN_SHRINK_AFTER_MS: '5000',
  COXSWAIN_GROW_AFTER_MS: '5000',
  // The job ends within minutes, so that growth would not pay.
  COXSWAIN_GROW_COSTS: '0',
};
/** From the first process to the last sentence, on two cores. */
export const CHAOS_SECONDS = 330;

const VICTIM_RANK = 3;
const DEADLINE_MS = 1_200_000;
const LOOK_MS = 200;

/** The running system in which failures are shown. */
export interface ChaosContext {
  readonly system: CoxswainSystem;
  readonly api: ApiClient;
  readonly project: string;
  /** Of a job that is to be changed. */
  readonly manifestPath: string;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

interface Trial {
  readonly name: TrialName;
  readonly title: string;
  readonly spec: { readonly steps: number; readonly minGpus?: number };
  /** Does it, and says what in a few words. */
  readonly act: (victim: Victim) => Promise<string>;
  /** Once it trains again. */
  readonly later?: (victim: Victim) => string;
}

interface Victim {
  readonly context: ChaosContext;
  readonly job: Job;
  /** Nodes of its ranks by rank. */
  readonly nodes: readonly string[];
}

/** Off until the last trial gives it back. */
let lost: readonly string[] = [];

const TRIALS: readonly Trial[] = [
  {
    name: 'killed',
    title: 'A rank is killed, as the kernel does when memory runs out',
    spec: { steps: 120 },
    act: async ({ context, job }) => {
      const { pid, node } = await killRank(context.system, rankOf(job));
      return `kill -9 of rank ${VICTIM_RANK} (process ${pid} on ${node})`;
    },
  },
  {
    name: 'stopped',
    title: 'A rank stands still and says nothing; the others wait for it',
    spec: { steps: 120 },
    act: async ({ context, job }) => {
      const { pid, node } = await findRank(context.system, rankOf(job));
      process.kill(pid, 'SIGSTOP');
      return `kill -STOP of rank ${VICTIM_RANK} (process ${pid} on ${node}); a hang is acted on after a minute`;
    },
  },
  {
    name: 'nodeLost',
    title: 'A node is switched off',
    spec: { steps: 120 },
    act: async (victim) => `power off: ${switchOff(victim, victim.nodes.at(-1))}`,
  },
  {
    name: 'tooFew',
    title: 'A second node is switched off, and none is spare: half of the GPUs have to do, until both nodes are back',
    spec: { steps: 400, minGpus: 2 },
    act: async (victim) => `power off: ${switchOff(victim, victim.nodes.at(-1))}`,
    later: ({ context }) => {
      const back = lost.join(' and ');
      lost = [];
      loseNodes(context.system, lost);
      return `power on: ${back}`;
    },
  },
];

/** Resolves to why a trial did not show what it should; undefined when all did. */
export async function tryChaos(context: ChaosContext): Promise<string | undefined> {
  const problems: string[] = [];
  for (const [index, trial] of TRIALS.entries()) {
    context.progress.say(`\n${index + 1} of ${TRIALS.length}. ${trial.title}.`);
    const problem = await tryOnce(trial, context);
    if (problem !== undefined) problems.push(`${trial.name}: ${problem}`);
  }
  return problems.length === 0 ? undefined : problems.join('; ');
}

async function tryOnce(trial: Trial, context: ChaosContext): Promise<string | undefined> {
  const { api, project, progress } = context;
  const submitted = await api.createJob(project, jobRequest(trial, context.manifestPath));
  const at = { project, id: submitted.id };
  const job = await lookUntil(context, at, (seen) => seen.state === 'Running' && seen.checkpoint !== null);
  const { items } = await api.ranks(at);
  progress.say(`    ${job.name} trains on ${items.length} GPUs and has saved step ${job.checkpoint?.step ?? 0}`);
  const victim = { context, job, nodes: items.map(({ node }) => node) };
  const done = await trial.act(victim);
  progress.say(`  ⚡ ${done}`);
  const story = new Told(progress, Date.now());
  const finished = await lookUntil(context, at, (seen) => {
    story.tell(seen);
    if (trial.later !== undefined && story.isBack) story.again(trial.later(victim));
    return false;
  });
  for (const line of [costLine(await api.goodput(at)), `end         ${finished.state}. ${finished.summary}`])
    progress.say(`    ${line}`);
  return whyTrialFailed(trial.name, finished);
}

/** What was printed of a job's runs, so that nothing is printed twice. */
class Told {
  readonly #progress: Progress;
  #sinceMs: number;
  #ended = 0;
  #answered = 0;
  #back = 0;
  #isLater = false;

  constructor(progress: Progress, sinceMs: number) {
    this.#progress = progress;
    this.#sinceMs = sinceMs;
  }

  /** It trains again, and something is still to be done to it. */
  get isBack(): boolean {
    return this.#back > 0 && !this.#isLater;
  }

  again(done: string): void {
    this.#isLater = true;
    this.#sinceMs = Date.now();
    this.#progress.say(`  ⚡ ${done}`);
  }

  tell({ attempts }: Job): void {
    const runs = runsOf(attempts);
    for (const [index, run] of runs.entries()) {
      const before = runs[index - 1];
      if (before !== undefined && index > this.#answered) {
        this.#answered = index;
        this.#say(answerLine(before, run));
      }
      const back = before === undefined ? undefined : backLine(before, run, this.#sinceMs);
      if (back !== undefined && index > this.#back) {
        this.#back = index;
        this.#say(back);
      }
      if (run.endedAt === undefined || index < this.#ended) continue;
      this.#ended = index + 1;
      for (const line of endLines(run, this.#sinceMs)) this.#say(line);
    }
  }

  #say(line: string): void {
    this.#progress.say(`    ${line}`);
  }
}

/** The job once `isSo`, or when it has ended; the API's answers are asked for again and again. */
async function lookUntil(
  { api, signal }: ChaosContext,
  at: { readonly project: string; readonly id: string },
  isSo: (job: Job) => boolean,
): Promise<Job> {
  let last: Job | undefined;
  try {
    return await waitFor(
      async () => {
        signal.throwIfAborted();
        last = await api.job(at);
        return isSo(last) || FINAL_JOB_STATES.has(last.state) ? last : undefined;
      },
      { what: 'the job to go on', intervalMs: LOOK_MS, deadlineMs: DEADLINE_MS },
    );
  } catch (error) {
    throw new Error(`the job is ${last?.state ?? 'unknown'}: ${last?.summary ?? ''}`, { cause: error });
  }
}

/** The planner chooses its layout, so that it can choose another one for fewer GPUs. */
function jobRequest({ name, spec: { steps, minGpus } }: Trial, manifestPath: string): JobCreate {
  const { spec } = parse(readFileSync(manifestPath, 'utf8')) as { spec: { training: object; checkpoint: object } };
  const { layout: _, ...rest } = TrainingJobSpec.parse(spec);
  const asked = {
    ...rest,
    gpus: 4,
    ...(minGpus === undefined ? {} : { minGpus }),
    training: { ...spec.training, steps },
    checkpoint: { ...spec.checkpoint, everySteps: 20 },
  };
  return JobCreate.parse({
    name: `${name.toLowerCase()}-${randomUUID().slice(0, 4)}`,
    spec: TrainingJobSpec.parse(asked),
  });
}

function rankOf({ namespace, uid }: Job): {
  readonly namespace: string;
  readonly jobUid: string;
  readonly rank: number;
} {
  return { namespace, jobUid: uid ?? '', rank: VICTIM_RANK };
}

function switchOff({ context }: Victim, node: string | undefined): string {
  lost = [...lost, node ?? ''];
  loseNodes(context.system, lost);
  return `${node ?? ''}${lost.length === 1 ? '' : `, beside ${lost.slice(0, -1).join(' and ')} from before`}`;
}
