/** What became of a job to which something was done on purpose, in plain words? */
import { type Attempt, goodputWords, type Job, type JobGoodput } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import { formatDuration } from '@coxswain/units';

/** One run of a job's ranks: an attempt, or one of several in the same pods. */
export interface Run {
  readonly epoch: number;
  readonly incarnation: number;
  readonly gpus: number;
  /** Absent while it runs, and where it finished. */
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly blame: string | undefined;
  readonly charged: boolean;
  readonly endedAt: string | undefined;
  readonly firstStepAt: string | undefined;
  readonly lastStep: number | undefined;
  /** Absent: from scratch. */
  readonly fromStep: number | undefined;
}

type RecordedRun = Pick<
  Attempt,
  'reason' | 'message' | 'judgement' | 'charged' | 'endedAt' | 'firstStep' | 'lastStep' | 'resumedFrom' | 'incarnation'
>;

/** Oldest first. */
export function runsOf(attempts: readonly Attempt[]): readonly Run[] {
  return attempts.flatMap((attempt) => {
    const asRun = (run: RecordedRun, endedAt: string | undefined): Run => ({
      epoch: attempt.epoch,
      incarnation: run.incarnation ?? 1,
      gpus: worldSize(attempt.layout),
      reason: run.reason,
      message: run.message,
      blame: run.judgement?.blame,
      charged: run.charged ?? false,
      endedAt,
      firstStepAt: run.firstStep?.at,
      lastStep: run.lastStep,
      fromStep: run.resumedFrom?.step,
    });
    return [
      ...(attempt.incarnations ?? []).map((run) => asRun(run, run.endedAt)),
      asRun(attempt, attempt.reason === undefined ? undefined : (attempt.stoppingAt ?? attempt.endedAt)),
    ];
  });
}

/** `noticed     after 0.8 s: Rank 3 on node local-a1 was killed …`, and whose doing it was, for the end of a run. */
export function endLines(run: Run, sinceMs: number): readonly string[] {
  const after = run.endedAt === undefined ? '' : `${formatDuration(Math.max(0, Date.parse(run.endedAt) - sinceMs))}: `;
  return [
    `noticed     after ${after}${firstLine(run.message ?? run.reason ?? '')}`,
    `blamed      ${blameWords(run)}; ${run.charged ? 'one of its restarts pays for it' : 'no restart is charged'}`,
  ];
}

/** What was done after `before`, by what came next. */
export function answerLine(before: Run, after: Run): string {
  const from = after.fromStep === undefined ? 'from the beginning' : `from the checkpoint of step ${after.fromStep}`;
  if (after.epoch === before.epoch) return `done        the ranks start again in the same pods, ${from}`;
  const size =
    after.gpus === before.gpus
      ? ''
      : `, planned anew for ${after.gpus} GPUs instead of ${before.gpus} with the same batch`;
  return `done        a new gang (attempt ${after.epoch}) on nodes that are well, ${from}${size}`;
}

/** When it trained again, and how much twice; undefined: it has not yet. */
export function backLine(before: Run, after: Run, sinceMs: number): string | undefined {
  if (after.firstStepAt === undefined) return undefined;
  const took = formatDuration(Math.max(0, Date.parse(after.firstStepAt) - sinceMs));
  const twice = Math.max(0, (before.lastStep ?? 0) - (after.fromStep ?? 0));
  return `trains      again ${took} after that; ${twice} step${twice === 1 ? ' was' : 's were'} trained a second time`;
}

const SHOWN_LOSSES = 3;

/** `cost        71 % of its GPU time was training; restore 12 %, …` */
export function costLine({ goodput, shares }: Pick<JobGoodput, 'goodput' | 'shares'>): string {
  const percent = (share: number): string => `${Math.round(share * 100)} %`;
  const lost = shares
    .filter(({ category, share }) => category !== 'productive' && share >= 0.005)
    .toSorted((left, right) => right.share - left.share)
    .slice(0, SHOWN_LOSSES)
    .map(({ category, share }) => `${goodputWords(category)} ${percent(share)}`);
  return `cost        ${percent(goodput ?? 0)} of the GPU time of this short job was training${lost.length === 0 ? '' : `; ${lost.join(', ')}`}`;
}

/** What each trial has to show. */
export const EXPECTED = {
  killed: 'the ranks to start again in the same pods',
  stopped: 'the rank that stood still to be named, and its node to be left',
  nodeLost: 'a new gang without the lost node',
  tooFew: 'a gang on half of its GPUs, and later on all of them',
} as const satisfies Record<string, string>;
/** Name of one failure that `--chaos` shows. */
export type TrialName = keyof typeof EXPECTED;

/** Why a trial did not show what it should, as a sentence; undefined when it did. */
export function whyTrialFailed(name: TrialName, job: Pick<Job, 'state' | 'summary' | 'attempts'>): string | undefined {
  if (job.state !== 'Complete') return `the job did not complete; it is ${job.state}: ${job.summary}`;
  const runs = runsOf(job.attempts);
  return SHOWN[name](runs) ? undefined : `expected ${EXPECTED[name]}; its runs ended ${runs.map(endOf).join(', ')}`;
}

const endOf = ({ epoch, incarnation, gpus, reason = 'well' }: Run): string =>
  `${epoch}.${incarnation} on ${gpus} GPUs: ${reason}`;

const SHOWN: Readonly<Record<TrialName, (runs: readonly Run[]) => boolean>> = {
  killed: ([first, second]) => first?.reason === 'EngineFailed' && second?.epoch === 1 && second.incarnation === 2,
  stopped: ([first, second]) => first?.reason === 'Condemned' && !first.charged && second?.epoch === 2,
  // Its peers may fail first and be restarted in their pods: then the lost one does not answer.
  nodeLost: (runs) =>
    runs.some(({ reason = '' }) => ['NodeLost', 'NotReaped'].includes(reason)) && (runs.at(-1)?.epoch ?? 0) > 1,
  tooFew: (runs) => {
    const sizes = runs.map(({ gpus }) => gpus);
    const fewest = Math.min(...sizes);
    return sizes[0] === sizes.at(-1) && fewest < (sizes[0] ?? 0) && runs.some(({ reason }) => reason === 'GpusFree');
  },
};

const BLAMES: Readonly<Record<string, string>> = {
  node: 'the node, which this job keeps away from',
  program: 'the program',
  network: 'the network',
  storage: 'the storage',
  cluster: 'the cluster',
};

function blameWords({ blame = '', reason }: Run): string {
  if (reason === 'GpusFree') return 'nobody: its GPUs are back';
  return BLAMES[blame] ?? 'nobody, for nothing shows whose doing it was';
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
