/** When does each call of a step begin and end? Ranks run their programs; an operation ends when all members have come and its bytes are through. */
import type { Call, StepModel } from './step-program.ts';

/** What is not as it should be in one step. */
export interface StepWorld {
  readonly program: (rank: number) => readonly Call[];
  /** Of a compute call, as a multiple. */
  readonly pace: (rank: number, part: string) => number;
  /** Of the transfer in a group, as a multiple; Infinity: never through. */
  readonly transfer: (group: number) => number;
  /** Index of the call that a rank never begins. */
  readonly freezesAt: (rank: number) => number | undefined;
  /** Whether hosts call operations before their GPUs come to them. */
  readonly hostsRunAhead: boolean;
}

export interface OperationTime {
  readonly group: number;
  readonly operation: string;
  readonly bytes: number;
  readonly waits: boolean;
  readonly beganMs: number;
  /** Infinity: never. */
  endedMs: number;
}

export interface RankStep {
  readonly rank: number;
  readonly beganMs: number;
  /** Infinity: it did not come to the end. */
  endedMs: number;
  readonly parts: Record<string, number>;
  readonly operations: OperationTime[];
  /** What its host has called in a step that stands still, and its GPU not come to. */
  readonly called: readonly OperationTime[];
  /** Where a phase that is no training begins and ends. */
  readonly saving: [number, number] | undefined;
}

interface Meeting {
  readonly there: { readonly rank: number; readonly at: OperationTime }[];
}

interface Runner {
  readonly step: RankStep;
  readonly calls: readonly Call[];
  next: number;
  nowMs: number;
  saving: [number, number] | undefined;
}

/** Calls of a rank in each group over the trace so far: the k-th call of one member meets the k-th of the others. */
export type CallCounts = Map<number, number>[];

export function runStep(
  model: StepModel,
  world: StepWorld,
  startsMs: ArrayLike<number>,
  counts: CallCounts,
): readonly RankStep[] {
  const meetings = new Map<string, Meeting>();
  const runners = Array.from({ length: model.ranks }, (_, rank): Runner => {
    const beganMs = startsMs[rank] ?? 0;
    const step: RankStep = {
      rank,
      beganMs,
      endedMs: Infinity,
      parts: {},
      operations: [],
      called: [],
      saving: undefined,
    };
    return { step, calls: world.program(rank), next: 0, nowMs: beganMs, saving: undefined };
  });
  const open = [...runners];
  for (let runner = open.pop(); runner !== undefined; runner = open.pop()) {
    open.push(...goOn(runner, { model, world, meetings, counts, runners }));
  }
  return runners.map((runner) => ({
    ...runner.step,
    saving: runner.saving,
    called: world.hostsRunAhead ? calledAhead(runner, world.freezesAt(runner.step.rank)) : [],
  }));
}

/** A host calls all of a step without waiting for its GPU, but for the one that does not go on. */
function calledAhead({ step, calls, next }: Runner, freezesAt: number | undefined): readonly OperationTime[] {
  if (freezesAt === next) return [];
  return calls
    .slice(next, freezesAt)
    .flatMap((call) => (call.kind === 'operation' ? [{ ...call, beganMs: step.beganMs, endedMs: Infinity }] : []));
}

interface Ground {
  readonly model: StepModel;
  readonly world: StepWorld;
  readonly meetings: Map<string, Meeting>;
  readonly counts: CallCounts;
  readonly runners: readonly Runner[];
}

/** Runs a rank until it waits; answers those that its coming set free. */
function goOn(runner: Runner, ground: Ground): Runner[] {
  const { step, calls } = runner;
  const { rank } = step;
  const freed: Runner[] = [];
  for (;;) {
    const call = calls[runner.next];
    if (call === undefined) {
      step.endedMs = runner.nowMs;
      return freed;
    }
    if (ground.world.freezesAt(rank) === runner.next) return freed;
    runner.next += 1;
    if (call.kind === 'compute') {
      const ms = call.ms * ground.world.pace(rank, call.part);
      step.parts[call.part] = (step.parts[call.part] ?? 0) + ms;
      if (call.part === 'saving') runner.saving = [runner.nowMs, runner.nowMs + ms];
      runner.nowMs += ms;
      continue;
    }
    const met = meet(runner, call, ground);
    freed.push(...met.filter((other) => other !== runner));
    if (call.waits && !met.includes(runner)) return freed;
  }
}

/** Comes to an operation. Answers the ranks that wait no longer, itself among them, where it was the last to come. */
function meet(runner: Runner, call: Extract<Call, { kind: 'operation' }>, ground: Ground): Runner[] {
  const { model, world, meetings, counts, runners } = ground;
  const { rank } = runner.step;
  const group = model.groups[call.group];
  const mine = counts[rank];
  if (group === undefined || mine === undefined) return [];
  const nth = (mine.get(call.group) ?? 0) + 1;
  mine.set(call.group, nth);
  const at: OperationTime = { ...call, beganMs: runner.nowMs, endedMs: Infinity };
  runner.step.operations.push(at);
  const key = `${call.group} ${nth}`;
  const meeting = meetings.get(key) ?? { there: [] };
  meetings.set(key, meeting);
  meeting.there.push({ rank, at });
  if (meeting.there.length < group.ranks.length) return [];
  meetings.delete(key);
  const alike = meeting.there.every(({ at: other }) => other.bytes === call.bytes);
  const endedMs =
    Math.max(...meeting.there.map(({ at: other }) => other.beganMs)) +
    (alike ? group.transferMs * world.transfer(call.group) : Infinity);
  for (const { at: other } of meeting.there) other.endedMs = endedMs;
  if (endedMs === Infinity) return [];
  return meeting.there.flatMap(({ rank: member, at: other }) => {
    const waiting = runners[member];
    if (waiting === undefined || !other.waits) return [];
    waiting.nowMs = endedMs;
    return [waiting];
  });
}
