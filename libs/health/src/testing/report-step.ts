/** What do launchers tell of a step that ran? */
import type { RankWatermark } from '@coxswain/api-types';
import type { TraceRecord } from '../trace/records.ts';
import { type Plot, REPORT_EVERY_MS } from './plot.ts';
import type { OperationTime, RankStep } from './run-step.ts';

/** In the order of arrival; what arrives later than the step ends is kept for the next one. `untilMs`: the job stands still, tell that until then. */
export type StepReporter = (
  ran: readonly RankStep[],
  step: number,
  untilMs: number | undefined,
) => readonly TraceRecord[];

type Timed = Exclude<TraceRecord, { kind: 'group' }>;
const COLLECTIVES_EVERY_MS = 60_000;

interface GroupHistory {
  started: number;
  completed: number;
  changedMs: number;
  last: { readonly operation: string; readonly bytes: number };
}

export function reportStep({ scenario, model, size, random, faults }: Plot): StepReporter {
  const histories = Array.from({ length: model.ranks }, () => new Map<number, GroupHistory>());
  const inside = Array.from({ length: model.ranks }, () => new Map<number, number[]>());
  const steppedAt = new Float64Array(model.ranks);
  let pending: Timed[] = [];
  let reportAtMs = REPORT_EVERY_MS;
  let collectivesAtMs = COLLECTIVES_EVERY_MS;
  let writtenAtMs = 0;
  const nodes = Array.from({ length: Math.ceil(model.ranks / size.ranksPerNode) }, (_, node) =>
    Array.from({ length: size.ranksPerNode }, (_, at) => node * size.ranksPerNode + at).filter((r) => r < model.ranks),
  );

  const send = (record: Timed): void => {
    if (record.kind !== 'tick' && random.uniform() < (scenario.lost ?? 0)) return;
    pending.push({ ...record, atMs: record.atMs + random.uniform() * (scenario.arrivesLateMs ?? 0) });
  };
  const reporting = (ranks: readonly number[], atMs: number): readonly number[] =>
    ranks.filter((rank) => atMs < faults.silentFromMs(rank));

  const watermark = (ran: RankStep, step: number, atMs: number): RankWatermark => {
    const before = histories[ran.rank] ?? new Map<number, GroupHistory>();
    const byGroup = Map.groupBy(
      // NCCL that is not timed tells all that is called as begun.
      [...ran.operations, ...ran.called].filter(({ beganMs }) => beganMs <= atMs),
      ({ group }) => group,
    );
    const all = new Set([...before.keys(), ...byGroup.keys()]);
    const saving = ran.saving !== undefined && ran.saving[0] <= atMs && atMs < ran.endedMs;
    return {
      rank: ran.rank,
      step: step === 1 ? null : step - 1,
      phase: saving ? 'saving' : 'training',
      phaseAgeMs: atMs - (saving ? (ran.saving?.[0] ?? 0) : (steppedAt[ran.rank] ?? 0)),
      groups: [...all].map((group) =>
        groupMark(model.groups[group]?.group ?? '', before.get(group), byGroup.get(group) ?? [], atMs),
      ),
    };
  };

  const close = (ran: readonly RankStep[]): void => {
    for (const { rank, operations, endedMs } of ran) {
      const history = histories[rank];
      const spent = inside[rank];
      steppedAt[rank] = endedMs;
      for (const { group, operation, bytes, beganMs, endedMs: throughMs } of operations) {
        const old = history?.get(group) ?? { started: 0, completed: 0, changedMs: 0, last: { operation, bytes } };
        old.started += 1;
        old.completed += 1;
        old.changedMs = throughMs;
        old.last = { operation, bytes };
        history?.set(group, old);
        const times = spent?.get(group) ?? [];
        times.push(throughMs - beganMs);
        spent?.set(group, times);
      }
    }
  };

  const stepRecords = (ran: readonly RankStep[], step: number): void => {
    for (const node of nodes) {
      const ranks = node.flatMap((rank) => ran[rank] ?? []);
      const atMs = Math.max(...ranks.map(({ endedMs }) => endedMs));
      const known = node.includes(0);
      const reporters = reporting(node, atMs);
      if (reporters.length === 0) continue;
      const loss = 2 + 9 / Math.sqrt(step) + 0.02 * random.normal();
      const work = scenario.tellsWork === true ? reporters.map((rank) => ({ rank, ...faults.work(rank) })) : undefined;
      send({
        kind: 'step',
        atMs,
        step,
        loss: known ? loss : null,
        gradNorm: known ? 0.5 + 0.05 * Math.abs(random.normal()) : null,
        ranks: reporters.flatMap((rank) => (ran[rank] === undefined ? [] : [timing(ran[rank])])),
        ...(work === undefined ? {} : { work }),
      });
    }
  };

  const collectives = (atMs: number): void => {
    for (const node of nodes) {
      const ranks = reporting(node, atMs).map((rank) => ({
        rank,
        groups: [...(inside[rank] ?? [])].map(([group, times]) => ({
          group: model.groups[group]?.group ?? '',
          operation: histories[rank]?.get(group)?.last.operation ?? '',
          bytes: histories[rank]?.get(group)?.last.bytes ?? 0,
          count: times.length,
          medianMs: times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0,
          maxMs: Math.max(...times),
        })),
      }));
      if (ranks.length > 0) send({ kind: 'collectives', atMs, ranks });
    }
    for (const spent of inside) spent.clear();
  };

  return (ran, step, untilMs) => {
    const endMs = untilMs ?? Math.max(...ran.map(({ endedMs }) => endedMs));
    for (; reportAtMs <= endMs; reportAtMs += REPORT_EVERY_MS) {
      for (const node of nodes) {
        const ranks = reporting(node, reportAtMs).flatMap((rank) =>
          ran[rank] === undefined ? [] : [watermark(ran[rank], step, reportAtMs)],
        );
        if (ranks.length > 0) send({ kind: 'watermarks', atMs: reportAtMs, ranks });
      }
      send({ kind: 'tick', atMs: reportAtMs });
    }
    if (untilMs === undefined) {
      close(ran);
      stepRecords(ran, step);
      if (endMs >= collectivesAtMs) {
        collectives(endMs);
        collectivesAtMs += COLLECTIVES_EVERY_MS;
      }
    }
    pending.sort((a, b) => a.atMs - b.atMs);
    const due = untilMs === undefined ? pending.findIndex(({ atMs }) => atMs > endMs) : -1;
    const now = due === -1 ? pending : pending.slice(0, due);
    pending = due === -1 ? [] : pending.slice(due);
    return now.map((record) => ({ ...record, atMs: (writtenAtMs = Math.max(writtenAtMs, rounded(record.atMs))) }));
  };
}

function timing({ rank, beganMs, endedMs, parts }: RankStep) {
  const stepTimeMs = endedMs - beganMs;
  const own = Object.values(parts).reduce((sum, ms) => sum + ms, 0);
  const timingsMs = Object.fromEntries(Object.entries(parts).map(([part, ms]) => [part, rounded(ms)]));
  return {
    rank,
    stepTimeMs: rounded(stepTimeMs),
    timingsMs: { ...timingsMs, communication: rounded(Math.max(0, stepTimeMs - own)) },
  };
}

function groupMark(
  group: string,
  before: GroupHistory | undefined,
  began: readonly OperationTime[],
  atMs: number,
): RankWatermark['groups'][number] {
  const through = began.filter(({ endedMs }) => endedMs <= atMs);
  const oldest = began.find(({ endedMs }) => endedMs > atMs) ?? began.at(-1) ?? before?.last;
  const changedMs = Math.max(
    before?.changedMs ?? 0,
    ...began.map(({ beganMs }) => beganMs),
    ...through.map(({ endedMs }) => endedMs),
  );
  const started = (before?.started ?? 0) + began.length;
  return {
    group,
    operation: oldest?.operation ?? '',
    bytes: oldest?.bytes ?? 0,
    enqueued: started,
    started,
    completed: (before?.completed ?? 0) + through.length,
    ageMs: rounded(Math.max(0, atMs - changedMs)),
  };
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
