/**
 * How long does a job take from a fault to its next step, and which part of it takes how long? Run: `npm run recovery:bench`; the last line is
 * one JSON object.
 *
 * A real GPT of four ranks in two pods trains on the local cluster (reference engine, PyTorch on CPUs). Either a rank is killed, or a node is switched
 * off with all that runs on it. There is no GPU, so nothing here is the time of NCCL, of CUDA or of a large checkpoint. On one machine the peers
 * of a node that is switched off see their connections closed at once; those of a machine without power see nothing.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import {
  type Attempt,
  type JobRecovery,
  RESTART_PHASES,
  type RestartPhase,
  type TrainingJob,
} from '@coxswain/api-types';
import { killRank, loseNodes, startSystem, waitFor, type CoxswainSystem } from '@coxswain/local-cluster';
import { gptSpec } from '../support/jobs.ts';
import { createProject, jobIn, submit, type TestProject } from '../support/project.ts';

const HELP = `npm run recovery:bench [-- rank|node] [--rounds N] [--json FILE]

Measures on a local cluster how long a job takes from a fault to its next step.

  rank          a rank is killed with SIGKILL
  node          a node is switched off
  --rounds N    faults of each kind (default 5)
  --json FILE   also write the figures to FILE
`;

const LOOK_MS = 50;
const DEADLINE_MS = 300_000;
/** The bar of the decision that a node is lost. */
const NODE_DECISION_S = 45;

type Fault = 'rank' | 'node';

/** Seconds from the fault. */
interface Recovery {
  /** The attempt's failure is recorded. */
  readonly decided: number;
  /** The next gang, or the next incarnation in the same pods, is recorded. */
  readonly begun: number;
  /** The first step of the next gang or incarnation is in status. */
  readonly firstStep: number;
  readonly reason: string;
  /** Of the restart, as the job's goodput has them: from the last step before the fault to the first new one. */
  readonly phases: JobRecovery['phases'];
  readonly total: number;
}

const PHASES = Object.keys(RESTART_PHASES) as readonly RestartPhase[];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    rounds: { type: 'string', default: '5' },
    json: { type: 'string' },
  },
});
if (values.help) process.stdout.write(HELP);
else process.exitCode = await main();

async function main(): Promise<number> {
  const rounds = Number(values.rounds);
  const faults = (['rank', 'node'] as const).filter((fault) => positionals.length === 0 || positionals.includes(fault));
  const system = await startSystem();
  try {
    const rows = [];
    for (const fault of faults) {
      const project = await createProject(system, `recovery-${fault}`);
      const measured: Recovery[] = [];
      for (let round = 0; round < rounds; round += 1) {
        const one = await recovery(system, project, { fault, round });
        console.log(`${fault} ${round + 1}: ${JSON.stringify(one)}`);
        measured.push(one);
      }
      rows.push({
        fault,
        decided: median(measured.map(({ decided }) => decided)),
        begun: median(measured.map(({ begun }) => begun)),
        firstStep: median(measured.map(({ firstStep }) => firstStep)),
        total: median(measured.map(({ total }) => total)),
        phases: phaseMedians(measured),
        slowestDecision: Math.max(...measured.map(({ decided }) => decided)),
        of: measured,
      });
    }
    const late = rows.filter(({ fault, slowestDecision }) => fault === 'node' && slowestDecision > NODE_DECISION_S);
    for (const { slowestDecision } of late)
      console.log(
        `MISSED: a lost node was believed after ${slowestDecision} s, at most ${NODE_DECISION_S} s are promised`,
      );
    const report = JSON.stringify({ unit: 's', bar: { nodeDecision: NODE_DECISION_S }, rows });
    if (values.json !== undefined) writeFileSync(values.json, report);
    console.log(report);
    return late.length === 0 ? 0 : 1;
  } finally {
    await system.stop();
  }
}

/** One job, one fault. */
async function recovery(
  system: CoxswainSystem,
  project: TestProject,
  { fault, round }: { readonly fault: Fault; readonly round: number },
): Promise<Recovery> {
  loseNodes(system, []);
  const name = `${fault}-${round}`;
  const { model, training, ...spec } = gptSpec();
  if (model === undefined || training === undefined) throw new Error('the job has no model');
  const { id } = await submit(project, name, {
    ...spec,
    model: { ...model, layers: 4, sequenceLength: 256 },
    training: { ...training, steps: 100_000 },
  });
  const isSaved = { and: ({ checkpoint }: { readonly checkpoint: unknown }) => checkpoint !== null };
  await jobIn(project, id, ['Running'], { deadlineMs: DEADLINE_MS, ...isSaved });
  const path = `/apis/training.coxswain.dev/v1alpha1/namespaces/${project.name}/trainingjobs/${name}`;
  const look = (): Promise<TrainingJob> => system.plane.admin.json<TrainingJob>({ method: 'GET', path });
  const before = await look();
  const [attempt] = before.status?.attempts?.slice(-1) ?? [];
  const { node } = await killVictim(system, { fault, job: before });
  const startMs = performance.now();
  const since = (): number => Number(((performance.now() - startMs) / 1_000).toFixed(1));
  const after = async <T>(what: string, ask: (job: TrainingJob) => T | undefined): Promise<T> =>
    waitFor(async () => ask(await look()), { what, intervalMs: LOOK_MS, deadlineMs: DEADLINE_MS });
  const reason = await after('the failure to be recorded', (job) => failureOf(job, attempt));
  const decided = since();
  await after('the next gang', ({ status }) => (isNext(status?.attempts?.at(-1), attempt) ? true : undefined));
  const begun = since();
  // Status has progress of the current gang only.
  await after('a step', ({ status }) =>
    isNext(status?.attempts?.at(-1), attempt) && status?.progress !== undefined ? true : undefined,
  );
  const firstStep = since();
  const { phases, total } = await waitFor(
    async () => {
      const { recoveries = [] } = await project.api.goodput({ project: project.name, id });
      const newest = recoveries.at(-1);
      return newest === undefined || newest.total === null ? undefined : { ...newest, total: newest.total };
    },
    { what: 'the phases of the restart', deadlineMs: DEADLINE_MS },
  );
  await project.api.deleteJob({ project: project.name, id });
  await jobIn(project, id, ['Deleted'], { deadlineMs: DEADLINE_MS }).catch(() => undefined);
  return { decided, begun, firstStep, reason: `${reason} (${node})`, phases, total };
}

/** Median seconds of each phase; null: not known in any round, as where no launcher lived to report it. */
function phaseMedians(measured: readonly Recovery[]): Readonly<Record<RestartPhase, number | null>> {
  const medianOf = (phase: RestartPhase): number | null => {
    const known = measured.flatMap(({ phases }) => phases.find((one) => one.phase === phase)?.seconds ?? []);
    return known.length === 0 ? null : median(known);
  };
  return Object.fromEntries(PHASES.map((phase) => [phase, medianOf(phase)])) as Record<RestartPhase, number | null>;
}

/** Why the attempt failed, or the pods began again; undefined: neither is known. */
function failureOf({ status }: TrainingJob, before: Attempt | undefined): string | undefined {
  const attempt = status?.attempts?.find(({ epoch }) => epoch === before?.epoch);
  if (attempt?.reason !== undefined) return attempt.reason;
  return (attempt?.incarnation ?? 1) > (before?.incarnation ?? 1) ? 'restarted in the same pods' : undefined;
}

function isNext(now: Attempt | undefined, before: Attempt | undefined): boolean {
  if (now === undefined || before === undefined) return false;
  return now.epoch > before.epoch || (now.incarnation ?? 1) > (before.incarnation ?? 1);
}

async function killVictim(
  system: CoxswainSystem,
  { fault, job }: { readonly fault: Fault; readonly job: TrainingJob },
): Promise<{ readonly node: string }> {
  const { namespace = '', uid } = job.metadata;
  if (fault === 'rank') return killRank(system, { namespace, jobUid: uid, rank: 2 });
  const selector = encodeURIComponent(`training.coxswain.dev/job-uid=${uid}`);
  const pods = await system.plane.admin.json<{
    readonly items: readonly { readonly spec: { readonly nodeName?: string } }[];
  }>({
    method: 'GET',
    path: `/api/v1/namespaces/${namespace}/pods?labelSelector=${selector}`,
  });
  const node = pods.items
    .map(({ spec }) => spec.nodeName)
    .toSorted()
    .at(-1);
  if (node === undefined) throw new Error('the job has no pod on a node');
  loseNodes(system, [node]);
  return { node };
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? NaN;
}
