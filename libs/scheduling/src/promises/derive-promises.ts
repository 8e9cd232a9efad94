/** Which nodes are held for whom, from when on? Pure; searches of nodes are asked for, because a large one runs in another process. */
import { type FabricCapacity, type FabricNode, findNodes, type placeGang } from '@coxswain/fabric';
import { worldSize } from '@coxswain/layout';
import type { GangRequest, NodeQuestion } from '../gang-request.ts';
import type { GpusByNode, NodePromise } from './node-promise.ts';
import type { Holder, PromiseInput, WaitingGang } from './promise-input.ts';
import { UsageOverTime } from './usage-over-time.ts';
import { whyMoved } from './why-moved.ts';

type Found = Extract<ReturnType<typeof placeGang>, { readonly kind: 'placed' }> | undefined;
/** Yields the searches of nodes and continues with what they find. It pauses between passes over nodes and jobs, so that the caller can do other work. */
export type PromiseDerivation = Generator<NodeQuestion | 'pause', readonly NodePromise[], Found>;

/** Most promises: each costs a few searches, and holds nodes. */
export const MAX_PROMISES = 8;
/** Requests of one kind and priority that are tried: one that would not fit an empty cluster is skipped. */
const MAX_TRIED = 16;
/** A start that moves less than this did not move. */
const SAME_START_MS = 60_000;

/** The same, with every search at once. */
export function promisesOf(input: PromiseInput): readonly NodePromise[] {
  const deriving = derivePromises(input);
  let step = deriving.next();
  while (step.done !== true) {
    const { value } = step;
    step = deriving.next(value === 'pause' ? undefined : findNodes(value.request, value.capacity));
  }
  return step.value;
}

/**
 * In order, the first job of each kind of GPU and priority that an emptied cluster would hold gets nodes: those on which it can start earliest, while
 * nodes of earlier promises count as used. Kept nodes change only where others are free earlier, or where the kept ones became impossible.
 */
export function* derivePromises(input: PromiseInput): PromiseDerivation {
  const promises: NodePromise[] = [];
  const triedIn = new Map<string, Set<string>>();
  const { starting = [] } = input;
  const served = new Set(starting.map(slotOf));
  for (const gang of input.waiting) {
    if (starting.length + promises.length >= MAX_PROMISES) break;
    const slot = slotOf(gang);
    const tried = triedIn.get(slot) ?? new Set();
    triedIn.set(slot, tried);
    if (served.has(slot) || tried.has(gang.requestKey) || tried.size >= MAX_TRIED) continue;
    tried.add(gang.requestKey);
    yield 'pause';
    const promise = yield* promiseFor(gang, input, promises);
    if (promise === undefined) continue;
    promises.push(promise);
    served.add(slot);
  }
  return [...starting, ...promises];
}

/** Equal for jobs that compete for one promise: only the first of them has nodes held for it. */
function slotOf({ priority, pool }: Pick<WaitingGang, 'priority' | 'pool'>): string {
  return `${priority} ${pool}`;
}

function* promiseFor(
  gang: WaitingGang,
  input: PromiseInput,
  earlier: readonly NodePromise[],
): Generator<NodeQuestion | 'pause', NodePromise | undefined, Found> {
  const before = input.kept.find(({ job }) => job.uid === gang.job.uid);
  const same = before?.request === gang.requestKey ? before : undefined;
  const returning = (input.returning ?? []).filter(
    ({ job, priority }) => job.uid !== gang.job.uid && priority >= gang.priority,
  );
  const usage = new UsageOverTime(
    input,
    [...earlier, ...returning].map(({ gpus }) => gpus),
  );
  const around = input.capacityOf(gang.request);
  const withClosed = (used: GpusByNode): GpusByNode => input.withClosed(used, gang.job.uid);
  const isOpen = same !== undefined && isOpenTo(same, withClosed);
  const kept = isOpen ? keptNodes(same, usage, around.fabric.nodes) : undefined;
  yield 'pause';
  const chosen = (yield* earliest(gang, usage, { around, withClosed, beforeMs: kept?.startMs })) ?? kept;
  yield 'pause';
  return chosen === undefined ? undefined : toPromise(gang, input, { ...chosen, before: same });
}

/** Whether no window keeps the job off its promised nodes. */
function isOpenTo({ gpus }: NodePromise, withClosed: (used: GpusByNode) => GpusByNode): boolean {
  const closed = withClosed(NOTHING);
  return ![...gpus.keys()].some((name) => closed.has(name));
}

const NOTHING: GpusByNode = new Map();

interface Choice {
  readonly gpus: GpusByNode;
  readonly startMs: number;
}

/** The kept nodes with the time at which they are free now; undefined: they cannot hold the gang any more. */
function keptNodes({ gpus }: NodePromise, usage: UsageOverTime, nodes: readonly FabricNode[]): Choice | undefined {
  const byName = nodesByName(nodes);
  if ([...gpus.keys()].some((name) => byName.get(name)?.usable !== true)) return undefined;
  const startMs = usage.freeFrom(gpus, byName);
  return startMs === undefined ? undefined : { gpus, startMs };
}

/** A fabric stays the same until its nodes change, and each promise is checked against it. */
const named = new WeakMap<readonly FabricNode[], ReadonlyMap<string, FabricNode>>();

function nodesByName(nodes: readonly FabricNode[]): ReadonlyMap<string, FabricNode> {
  const known = named.get(nodes) ?? new Map(nodes.map((node) => [node.name, node]));
  named.set(nodes, known);
  return known;
}

interface Around {
  readonly around: Omit<FabricCapacity, 'usedGpus'>;
  readonly withClosed: (used: GpusByNode) => GpusByNode;
  /** Only starts clearly before that time count. Absent: any. */
  readonly beforeMs: number | undefined;
}

/** Nodes on which the gang can start earliest; undefined: none. */
function* earliest(
  { request, job }: WaitingGang,
  usage: UsageOverTime,
  { around, withClosed, beforeMs = Infinity }: Around,
): Generator<NodeQuestion, Choice | undefined, Found> {
  const starts = usage.starts.filter((atMs) => atMs < beforeMs - SAME_START_MS);
  function* search(at: number): Generator<NodeQuestion, Choice | undefined, Found> {
    const startMs = starts[at] ?? 0;
    const found: Found = yield { job, request, capacity: { ...around, usedGpus: withClosed(usage.at(startMs)) } };
    return found === undefined ? undefined : { gpus: gpusOfGang(found, request), startMs };
  }
  let low = usage.firstByCount(request, around.fabric.nodes);
  let high = starts.length - 1;
  if (low < 0 || low > high) return undefined;
  // Mostly enough GPUs are room enough.
  const first = yield* search(low);
  if (first !== undefined || low === high) return first;
  let best = yield* search(high);
  while (best !== undefined && high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const found = yield* search(middle);
    if (found === undefined) low = middle;
    else [best, high] = [found, middle];
  }
  return best;
}

/** Ranks of the gang on each node. */
function gpusOfGang({ nodes, ranksPerPod }: NonNullable<Found>, { layout }: GangRequest): GpusByNode {
  const ranks = worldSize(layout);
  const gpus = new Map<string, number>();
  nodes.forEach((name, pod) =>
    gpus.set(name, (gpus.get(name) ?? 0) + Math.min(ranksPerPod, ranks - pod * ranksPerPod)),
  );
  return gpus;
}

function toPromise(
  gang: WaitingGang,
  input: PromiseInput,
  { gpus, startMs, before }: Choice & { readonly before: NodePromise | undefined },
): NodePromise {
  const { now } = input;
  const on = input.holders.filter((holder) => [...holder.gpus.keys()].some((name) => gpus.has(name)));
  const awaited = on.filter(({ end }) => end.at.getTime() <= startMs);
  const last = awaited.reduce<Holder | undefined>(
    (one, other) => (one !== undefined && one.end.at >= other.end.at ? one : other),
    undefined,
  );
  const latest = awaited.map(({ end }) => end.latest?.getTime() ?? Infinity);
  const latestMs = Math.max(startMs, ...latest);
  const start = new Date(startMs);
  const isLater = before !== undefined && startMs > before.start.getTime() + SAME_START_MS;
  const moved = isLater ? whyMoved(before, { gang, input }) : before?.moved;
  return {
    job: gang.job,
    priority: gang.priority,
    pool: gang.pool,
    request: gang.requestKey,
    gpus,
    start,
    earliest: new Date(Math.max(now.getTime(), ...awaited.map(({ end }) => end.earliest.getTime()))),
    ...(Number.isFinite(latestMs) ? { latest: new Date(latestMs) } : {}),
    restsOn: awaited.some(({ end }) => end.restsOn === 'Assumed') ? 'Assumed' : (last?.end.restsOn ?? 'Measured'),
    awaits: new Map(awaited.map(({ job, end }) => [job.uid, end.at])),
    beyond: new UsageOverTime(input, []).beyond(gpus, startMs),
    promisedAt: before?.promisedAt ?? gang.recorded?.promisedAt ?? now,
    firstStart: before?.firstStart ?? gang.recorded?.firstStart ?? start,
    ...(moved === undefined ? {} : { moved }),
  };
}
