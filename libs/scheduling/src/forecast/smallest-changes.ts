import { expectedStartsInSteps } from './forecast.ts';
import type { ForecastInput, ForecastNode, WaitingGang } from './forecast-input.ts';
import { atOnce, type InSteps } from './in-steps.ts';
import { needOf } from './need.ts';
import { type Occupancy, occupancyOf } from './occupancy.ts';

/** A change of a job or of the cluster, and the expected start with it. */
export interface TriedChange {
  /** MoreNodes: `amount` more empty nodes. FewerGpus: the job on `amount` GPUs. HigherPriority: the job first in line. */
  readonly kind: 'MoreNodes' | 'FewerGpus' | 'HigherPriority';
  /** null: nothing is counted. */
  readonly amount: number | null;
  /** Type of the nodes; undefined: any, or none. */
  readonly gpuType: string | undefined;
  readonly startMs: number;
}

/** A change is worth naming if the job starts earlier by this much and by this share of its wait. */
const WORTH_MS = 60_000;
const WORTH_SHARE = 0.1;
/** Smaller sizes that are tried, largest first. */
const MAX_SIZES = 8;

/**
 * The smallest changes after which the waiting job starts now, or at least earlier. Each is tried on a copy of the cluster. `smallerSizes`: numbers
 * of GPUs that the job could also run on.
 */
export function smallestChanges(
  input: ForecastInput,
  uid: string,
  smallerSizes: readonly number[],
): readonly TriedChange[] {
  return atOnce(smallestChangesInSteps(input, uid, smallerSizes));
}

/** The same in steps of a few milliseconds: behind 2,000 jobs there are two dozen trials. */
export function* smallestChangesInSteps(
  input: ForecastInput,
  uid: string,
  smallerSizes: readonly number[],
): InSteps<readonly TriedChange[]> {
  const place = input.waiting.findIndex((job) => job.uid === uid);
  const job = input.waiting[place];
  if (job === undefined || job.isOverQuota === true) return [];
  const ahead = input.waiting.slice(0, place);
  const occupancy = occupancyOf(input);
  yield;
  function* startWith(changes: Changes, on = occupancy): InSteps<number | undefined> {
    const starts = yield* expectedStartsInSteps({ ...input, waiting: [...ahead, job as WaitingGang], ...changes }, on);
    return starts.at(-1);
  }
  const today = yield* startWith({});
  if (today !== undefined && today <= input.nowMs) return [];
  const changes = [
    yield* moreNodes(input, job, { ahead, startOn: (more) => startWith({}, withEmptyNodes(occupancy, more)) }),
    yield* fewerGpus(input, job, {
      smallerSizes,
      startWith: (smaller) => startWith({ waiting: [...ahead, smaller] }),
    }),
    ahead.length === 0 ? undefined : higherPriority(yield* startWith({ waiting: [{ ...job, promised: undefined }] })),
  ];
  return changes.flatMap((change) =>
    change !== undefined && isWorthIt(change.startMs, today, input.nowMs) ? [change] : [],
  );
}

function isWorthIt(startMs: number, today: number | undefined, nowMs: number): boolean {
  if (today === undefined) return true;
  return today - startMs >= Math.max(WORTH_MS, WORTH_SHARE * (today - nowMs));
}

/** Empty nodes that are added to one type. */
interface MoreNodes {
  readonly type: string;
  readonly nodes: number;
}

type Changes = Partial<Pick<ForecastInput, 'waiting'>>;

/**
 * The fewest empty nodes with which the job starts now: at most what it and all jobs before it need. A cluster that must become more than twice as
 * large for it is no change that helps.
 */
function* moreNodes(
  { nodes, nowMs }: ForecastInput,
  job: WaitingGang,
  how: { readonly ahead: readonly WaitingGang[]; readonly startOn: (more: MoreNodes) => InSteps<number | undefined> },
): InSteps<TriedChange | undefined> {
  const [part, ...others] = job.parts;
  const node = nodes.find(({ type }) => part?.type === undefined || type === part.type);
  if (part === undefined || node === undefined || others.length > 0) return undefined;
  function* startsNow(count: number): InSteps<boolean> {
    return (yield* how.startOn({ type: node?.type ?? '', nodes: count })) === nowMs;
  }
  const ofAll = [...how.ahead, job].reduce((sum, gang) => sum + mostNodesOf(gang, node), 0);
  let [low, high] = [0, Math.min(ofAll, Math.max(nodes.length, mostNodesOf(job, node)))];
  if (!(yield* startsNow(high))) return undefined;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (yield* startsNow(middle)) high = middle;
    else low = middle;
  }
  return { kind: 'MoreNodes', amount: high, gpuType: part.type, startMs: nowMs };
}

function mostNodesOf({ parts }: WaitingGang, node: ForecastNode): number {
  return parts.reduce((sum, part) => sum + needOf(part, node.gpus).nodes + 1, 0);
}

function withEmptyNodes(
  occupancy: ReadonlyMap<string, Occupancy>,
  { type, nodes }: MoreNodes,
): ReadonlyMap<string, Occupancy> {
  const known = occupancy.get(type);
  return known === undefined ? occupancy : new Map(occupancy).set(type, { ...known, nodes: known.nodes + nodes });
}

/** The largest smaller size that starts now; else the one that starts first. */
function* fewerGpus(
  { nowMs }: ForecastInput,
  job: WaitingGang,
  how: {
    readonly smallerSizes: readonly number[];
    readonly startWith: (smaller: WaitingGang) => InSteps<number | undefined>;
  },
): InSteps<TriedChange | undefined> {
  const [part, ...others] = job.parts;
  if (part === undefined || others.length > 0) return undefined;
  const sizes = how.smallerSizes.filter((gpus) => gpus < part.gpus).sort((left, right) => right - left);
  let best: TriedChange | undefined;
  for (const gpus of sizes.slice(0, MAX_SIZES)) {
    const startMs = yield* how.startWith({ ...job, promised: undefined, parts: [{ ...part, gpus }] });
    if (startMs === undefined || (best !== undefined && startMs >= best.startMs)) continue;
    best = { kind: 'FewerGpus', amount: gpus, gpuType: part.type, startMs };
    if (startMs <= nowMs) break;
  }
  return best;
}

function higherPriority(startMs: number | undefined): TriedChange | undefined {
  return startMs === undefined ? undefined : { kind: 'HigherPriority', amount: null, gpuType: undefined, startMs };
}
