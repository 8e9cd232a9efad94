/** Where did the GPU time of all jobs in the cluster go, according to their status? */
import { findCondition, GOODPUT_CATEGORIES, type GoodputCategory, type TrainingJob } from '@coxswain/api-types';
import { type GpuTime, gpuTimeOf, recordedHistory } from '@coxswain/goodput';

/** GPU time of one kind in one namespace. */
export interface GoodputTotal {
  readonly namespace: string;
  readonly category: GoodputCategory;
  readonly gpuSeconds: number;
}

/** Namespaces that have series of their own, those that hold most; the others are summed as {@link OTHER_NAMESPACES}. */
const MAX_NAMESPACES = 200;
/** No namespace can have this name. */
export const OTHER_NAMESPACES = '(others)';
const CATEGORIES = Object.keys(GOODPUT_CATEGORIES) as readonly GoodputCategory[];
/** Jobs with a moment in the future that has come, which one read computes again; the others follow at the next read. */
const MAX_DUE = 100;

/** A sum of GPU-milliseconds that grows with time: `atStart + growth * (milliseconds since the start)`. By category. */
interface Line {
  readonly atStart: number[];
  readonly growth: number[];
}

interface Entry {
  readonly namespace: string;
  readonly line: Line;
}

/**
 * GPU time of all jobs by namespace, kept as jobs change, so that a read costs nothing for each job.
 *
 * The newest attempts in each status count. Saves between steps count as steps, because the operator keeps no curves. A job that cannot be read counts as
 * nothing. Between two changes of its status the time of a job grows by the number of GPUs that it holds; a namespace is the sum of such lines.
 */
export class GoodputTotals {
  readonly #now: () => Date;
  /** Times count from here: milliseconds since 1970, times GPUs, exceed what a number holds exactly. */
  readonly #startMs: number;
  readonly #entries = new Map<string, Entry>();
  readonly #namespaces = new Map<string, { readonly line: Line; jobs: number }>();
  /** Jobs whose records lie in the future, by the moment until which their line holds. Rare: clocks of two replicas differ. */
  readonly #due = new Map<string, { readonly job: TrainingJob; readonly atMs: number }>();

  constructor(now: () => Date) {
    this.#now = now;
    this.#startMs = now().getTime();
  }

  /** Jobs that count; for tests of memory. */
  get size(): number {
    return this.#entries.size;
  }

  /** Takes the present status of a job into account, in place of its last one. */
  record(job: TrainingJob): void {
    const { uid } = job.metadata;
    this.forget(uid);
    const time = timeOf(job, this.#now());
    const entry = { namespace: job.metadata.namespace ?? '', line: this.#lineOf(time) };
    this.#entries.set(uid, entry);
    if (Number.isFinite(time.toMs)) this.#due.set(uid, { job, atMs: time.toMs });
    const sum = this.#namespaces.get(entry.namespace) ?? { line: emptyLine(), jobs: 0 };
    sum.jobs += 1;
    addTo(sum.line, entry.line, 1);
    this.#namespaces.set(entry.namespace, sum);
  }

  /** Drops a deleted job. */
  forget(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return;
    this.#entries.delete(uid);
    this.#due.delete(uid);
    const sum = this.#namespaces.get(entry.namespace);
    if (sum === undefined) return;
    sum.jobs -= 1;
    addTo(sum.line, entry.line, -1);
    if (sum.jobs === 0) this.#namespaces.delete(entry.namespace);
  }

  /** The present sums. */
  read(): readonly GoodputTotal[] {
    const nowMs = this.#now().getTime();
    this.#recordDue(nowMs);
    const sums = [...this.#namespaces].map(([namespace, { line }]) => {
      const gpuMs = CATEGORIES.map((_, index) => valueOf(line, index, nowMs - this.#startMs));
      return { namespace, gpuMs, total: gpuMs.reduce((sum, ms) => sum + ms, 0) };
    });
    const largest = sums.toSorted((left, right) => right.total - left.total);
    const others = largest.slice(MAX_NAMESPACES);
    const shown = largest.slice(0, MAX_NAMESPACES);
    if (others.length > 0) shown.push({ namespace: OTHER_NAMESPACES, gpuMs: sumOf(others), total: 0 });
    return shown.flatMap(({ namespace, gpuMs }) =>
      CATEGORIES.map((category, index) => ({ namespace, category, gpuSeconds: (gpuMs[index] ?? 0) / 1000 })),
    );
  }

  #recordDue(nowMs: number): void {
    const due = [...this.#due.values()].filter(({ atMs }) => atMs <= nowMs);
    for (const { job } of due.slice(0, MAX_DUE)) this.record(job);
  }

  #lineOf({ fromMs, gpuMs, growth }: GpuTime): Line {
    const ageMs = fromMs - this.#startMs;
    return {
      atStart: CATEGORIES.map((category) => gpuMs[category] - growth[category] * ageMs),
      growth: CATEGORIES.map((category) => growth[category]),
    };
  }
}

function timeOf({ metadata, status }: TrainingJob, now: Date): GpuTime {
  try {
    const ended = (['Complete', 'Failed'] as const).map((type) => findCondition(status?.conditions, type));
    const finishedAt = ended.find((condition) => condition?.status === 'True')?.lastTransitionTime;
    const history = recordedHistory({
      createdAt: metadata.creationTimestamp,
      finishedAt,
      attempts: status?.attempts ?? [],
      progress: status?.progress,
      stepMsByEpoch: new Map(),
      savedRuns: new Set(),
      stepCosts: status?.incidents ?? [],
      now,
    });
    return gpuTimeOf(history);
  } catch {
    // Its status was edited by hand into something that is no status.
    return NO_TIME;
  }
}

const NOTHING = Object.fromEntries(CATEGORIES.map((category) => [category, 0])) as Record<GoodputCategory, number>;
const NO_TIME: GpuTime = { fromMs: 0, toMs: Infinity, gpuMs: NOTHING, growth: NOTHING };

function emptyLine(): Line {
  return { atStart: CATEGORIES.map(() => 0), growth: CATEGORIES.map(() => 0) };
}

/** All figures are whole numbers unless records lie in the future, so what is added and taken away again leaves nothing. */
function addTo(sum: Line, line: Line, times: 1 | -1): void {
  for (const index of CATEGORIES.keys()) {
    sum.atStart[index] = (sum.atStart[index] ?? 0) + times * (line.atStart[index] ?? 0);
    sum.growth[index] = (sum.growth[index] ?? 0) + times * (line.growth[index] ?? 0);
  }
}

/** Never below zero, to which a clock that was set back could lead. */
function valueOf({ atStart, growth }: Line, index: number, ageMs: number): number {
  return Math.max(0, (atStart[index] ?? 0) + (growth[index] ?? 0) * ageMs);
}

function sumOf(sums: readonly { readonly gpuMs: readonly number[] }[]): number[] {
  return CATEGORIES.map((_, index) => sums.reduce((sum, { gpuMs }) => sum + (gpuMs[index] ?? 0), 0));
}
