/** Jobs of some days on a cluster, drawn from a seed: sizes of gangs and shares of node time as in large clusters, load and bursts as in Philly. */
import { logNormal, logNormalWithin, gamma } from '../../kernel/distributions.ts';
import { RandomStream } from '../../kernel/random-stream.ts';
import { ACME, PHILLY } from './published-loads.ts';
import type { QueueCluster, QueueJob } from './queue-job.ts';

/** What a generated month is drawn from. */
export interface MonthQuestion extends QueueCluster {
  readonly days: number;
  readonly seed: number;
  /** Share of the cluster's node time that jobs ask for. */
  readonly load?: number;
  /** Share of jobs that state a tenth of the steps that they need. */
  readonly liars?: number;
  /** Share of jobs that have a lower priority than the others and go on with a quarter of their pods where others need their nodes. */
  readonly low?: number;
}

/** A class of jobs: its part of the node time, its sizes and its run times. */
interface JobClass {
  readonly name: string;
  readonly nodeTime: number;
  /** Nodes of its jobs, as parts of 512. */
  readonly sizes: readonly number[];
  /** Mean run time in hours; absent: as Philly's. */
  readonly meanHours?: number;
  /** Share of jobs that end early. How long a job holds its nodes does not depend on it, so it is their share of the node time too. */
  readonly endingEarly: number;
  /** Share of jobs that come less than 60 s after another one of their tenant. */
  readonly inBursts: number;
}

const GANG = { endingEarly: ACME.cancelledGpuTime, inBursts: PHILLY.shareInBursts.gangs };

/** Means of held time: with Philly's 3.5 h for one node, a GPU runs 2.8 h in the mean, as in Acme. A test computes it. */
export const JOB_CLASSES: readonly JobClass[] = [
  {
    name: 'one node',
    nodeTime: 0.1,
    sizes: [1],
    endingEarly: PHILLY.shareEndingEarly,
    inBursts: PHILLY.shareInBursts.small,
  },
  { name: '2 to 16', nodeTime: 0.3, sizes: [2, 4, 8, 16], meanHours: 2, ...GANG },
  { name: '32 to 128', nodeTime: 0.4, sizes: [32, 64, 128], meanHours: 3.2, ...GANG },
  { name: '256', nodeTime: 0.2, sizes: [256], meanHours: 4, ...GANG },
];

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Of the logarithm of run times: between Kalos' median and mean it is 2.1, between its mean and longest run 1.7. */
const RUN_SIGMA = 1.7;
const PREDICTION_SIGMA = 0.2;
/** Upper end of an 80 % interval of predictions. */
const LATEST_FACTOR = Math.exp(1.2816 * PREDICTION_SIGMA);
const SHARE_UNKNOWN = 0.1;
const NODES_OF_CLASSES = 512;

/** The jobs by time of submission. The same question gives the same jobs. */
export function generateMonth(question: MonthQuestion): readonly QueueJob[] {
  const busy = new BusyHours(question);
  const { low = 0, seed } = question;
  const stream = new RandomStream(seed, 'low priority');
  const lowered = ({ pods }: QueueJob): Partial<QueueJob> =>
    stream.happens(low) ? { priority: -1, minPods: Math.max(1, Math.floor(pods / 4)) } : {};
  const jobs = JOB_CLASSES.flatMap((one) => [...jobsOfClass(one, question, busy)]);
  return jobs
    .toSorted((one, other) => one.submitMs - other.submitMs)
    .map((job, index) => ({ ...job, ...lowered(job), uid: `job-${String(index).padStart(5, '0')}` }));
}

/** Jobs until the class has its node time; the last one is cut to what is left of it. */
function* jobsOfClass(one: JobClass, question: MonthQuestion, busy: BusyHours): Generator<QueueJob> {
  const { nodes, gpusPerNode, days, seed, load = 0.8, liars = 0 } = question;
  const stream = new RandomStream(seed, one.name);
  const arrivals = new Arrivals(stream, busy, one.inBursts);
  let leftMs = one.nodeTime * load * nodes * days * DAY_MS;
  while (leftMs > 0) {
    const size = one.sizes[stream.index(one.sizes.length)] ?? 1;
    const pods = Math.max(1, Math.round((size * nodes) / NODES_OF_CLASSES));
    const drawnMs = heldMs(stream, one);
    const endsEarly = stream.happens(one.endingEarly);
    const share = endsEarly ? 0.02 + 0.98 * stream.uniform() : 1;
    const runMs = Math.max(1_000, Math.round(Math.min(drawnMs, leftMs / pods)));
    const isLiar = stream.happens(liars);
    const isUnknown = stream.happens(SHARE_UNKNOWN);
    const statedMs = (runMs / share) * (isLiar ? 0.1 : 1);
    const predictedMs = statedMs * logNormal(stream, { median: 1, sigma: PREDICTION_SIGMA });
    const predicted = { runMs: Math.round(predictedMs), latestMs: Math.round(predictedMs * LATEST_FACTOR) };
    const shape = { pods, gpusPerPod: gpusPerNode, priority: 0, ...arrivals.draw(), runMs };
    yield { uid: '', ...shape, ...(isUnknown ? {} : { predicted, statedMs: Math.round(statedMs) }) };
    leftMs -= pods * runMs;
  }
}

/** How long a job holds its nodes, whether it ends early or not: the traces know no other time. */
function heldMs(stream: RandomStream, { meanHours }: JobClass): number {
  if (meanHours === undefined) return atQuantile(stream.uniform()) * HOUR_MS;
  const median = meanHours * Math.exp(-(RUN_SIGMA ** 2) / 2);
  return logNormalWithin(stream, { median, sigma: RUN_SIGMA }, [0.001, ACME.longestHours]) * HOUR_MS;
}

/** Between two known quantiles, run times are spread evenly by their logarithm. */
function atQuantile(quantile: number): number {
  const after = PHILLY.runHoursAt.findIndex(([at]) => at > quantile);
  const [fromAt, from] = PHILLY.runHoursAt[after - 1] ?? [0, 0.001];
  const [toAt, to] = PHILLY.runHoursAt[after] ?? [1, ACME.longestHours];
  return from * (to / from) ** ((quantile - fromAt) / (toAt - fromAt));
}

/** How the submissions of all classes spread over time: more at busy hours and on busy days. */
class BusyHours {
  readonly days: number;
  /** Submissions up to the end of each hour, as a share of all. */
  readonly #upToHour: readonly number[];

  constructor({ days, seed }: MonthQuestion) {
    this.days = days;
    const stream = new RandomStream(seed, 'busy days');
    const shape = 1 / PHILLY.dailyVariation ** 2;
    const byDay = Array.from({ length: days }, (_, day) => {
      return gamma(stream, { shape, mean: PHILLY.arrivalsByWeekday[day % 7] ?? 1 });
    });
    const weights = byDay.flatMap((ofDay) => PHILLY.arrivalsByHour.map((ofHour) => ofDay * ofHour));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    let sum = 0;
    this.#upToHour = weights.map((weight) => (sum += weight) / total);
  }

  draw(stream: RandomStream): number {
    const quantile = stream.uniform();
    const hour = this.#upToHour.findIndex((share) => share > quantile);
    return Math.max(0, hour) * HOUR_MS + stream.index(HOUR_MS);
  }
}

/** When the jobs of a class are submitted, and by which tenant: in bursts of one tenant. */
class Arrivals {
  readonly #stream: RandomStream;
  readonly #busy: BusyHours;
  readonly #inBursts: number;
  #last: Pick<QueueJob, 'namespace' | 'submitMs'> | undefined;

  constructor(stream: RandomStream, busy: BusyHours, inBursts: number) {
    this.#stream = stream;
    this.#busy = busy;
    this.#inBursts = inBursts;
  }

  draw(): Pick<QueueJob, 'namespace' | 'submitMs'> {
    const last = this.#last;
    const stream = this.#stream;
    const isInBurst = last !== undefined && stream.happens(this.#inBursts);
    const lastMs = this.#busy.days * DAY_MS - 1;
    this.#last = isInBurst
      ? { ...last, submitMs: Math.min(last.submitMs + stream.index(60_000), lastMs) }
      : { namespace: this.#tenant(), submitMs: this.#busy.draw(stream) };
    return this.#last;
  }

  #tenant(): string {
    const total = PHILLY.tenantShares.reduce((sum, share) => sum + share, 0);
    let left = this.#stream.uniform() * total;
    const index = PHILLY.tenantShares.findIndex((share) => (left -= share) < 0);
    return `tenant-${String(Math.max(0, index) + 1).padStart(2, '0')}`;
  }
}
