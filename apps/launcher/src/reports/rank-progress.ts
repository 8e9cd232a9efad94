/** The progress of each rank of this pod, as it reported last. */
import {
  MAX_GROUPS_PER_HEARTBEAT,
  type LauncherMessage,
  type ProcessGroup,
  type RankWatermark,
} from '@coxswain/api-types';
import type { HeartbeatFact } from '../facts/engine-facts.ts';

/** Of the frame of a heartbeat, MAX_REPORT_BYTES, what its two long parts may have; the rest is 2 KiB. */
const MOST_WATERMARK_BYTES = 131_072;
const MOST_GROUP_BYTES = 65_536;
/** Hooks report every 10 s, so an older watermark is outdated. */
const MOST_AGE_MS = 25_000;
/** Waiting ranks are reported at once, at most one heartbeat in this time. */
const STANDING_MS = 2_000;

type Heartbeat = Extract<LauncherMessage, { kind: 'heartbeat' }>;
type Watermark = NonNullable<HeartbeatFact['watermark']>;

interface Mark {
  readonly watermark: Watermark;
  readonly atMs: number;
}

/** Keeps the progress of the running ranks. Reports are bounded in size, whatever ranks send. */
export class RankProgress {
  readonly #stepOf = new Map<number, number>();
  readonly #steppedAtMs = new Map<number, number>();
  readonly #markOf = new Map<number, Mark>();
  readonly #groupsOf = new Map<number, readonly ProcessGroup[]>();
  #stoodAtMs = Number.NEGATIVE_INFINITY;

  /** The latest step that a rank completed. */
  get lastStep(): number | undefined {
    return this.#stepOf.size === 0 ? undefined : Math.max(...this.#stepOf.values());
  }

  /** Collectives of the rank that completed the most, in all its groups; undefined: no rank reports them. */
  get collectives(): number | undefined {
    const counts = [...this.#markOf.values()].map(({ watermark }) =>
      watermark.groups.reduce((sum, { completed }) => sum + completed, 0),
    );
    return counts.length === 0 ? undefined : Math.max(...counts);
  }

  recordStep(rank: number, step: number, nowMs: number): void {
    if (step <= (this.#stepOf.get(rank) ?? 0)) return;
    this.#stepOf.set(rank, step);
    this.#steppedAtMs.set(rank, nowMs);
  }

  /** Records a heartbeat. Returns whether the rank waits for others, so that the operator should know before the next heartbeat is due. */
  receive(rank: number, { step, watermark, processGroups }: HeartbeatFact, nowMs: number): boolean {
    if (step !== null) this.recordStep(rank, step, nowMs);
    if (processGroups !== undefined) this.#groupsOf.set(rank, processGroups);
    if (watermark === undefined) return false;
    this.#markOf.set(rank, { watermark, atMs: nowMs });
    if (!watermark.groups.some(standing) || nowMs - this.#stoodAtMs < STANDING_MS) return false;
    this.#stoodAtMs = nowMs;
    return true;
  }

  /** The fields of a heartbeat; with watermarks if the operator reads them. */
  heartbeat(
    alive: readonly { readonly rank: number; readonly alive: boolean }[],
    { nowMs, readsWatermarks }: { readonly nowMs: number; readonly readsWatermarks: boolean },
  ): Pick<Heartbeat, 'ranks' | 'watermarks' | 'processGroups'> {
    const ranks = alive.map((one) => ({ ...one, step: this.#stepOf.get(one.rank) ?? null }));
    if (!readsWatermarks || this.#markOf.size === 0) return { ranks };
    const marks = alive.flatMap(({ rank }) => this.#watermarkOf(rank, nowMs) ?? []);
    const watermarks = fitting(marks, MOST_WATERMARK_BYTES);
    const named = new Set(watermarks.flatMap(({ groups }) => groups.map(({ group }) => group)));
    return { ranks, watermarks, processGroups: this.#processGroups(named) };
  }

  /** Adds the time since the report to its ages. Undefined for a silent rank, so that the operator notices. */
  #watermarkOf(rank: number, nowMs: number): RankWatermark | undefined {
    const mark = this.#markOf.get(rank);
    if (mark === undefined || nowMs - mark.atMs > MOST_AGE_MS) return undefined;
    const sinceMs = Math.max(0, nowMs - mark.atMs);
    const { groups } = mark.watermark;
    return {
      rank,
      step: this.#stepOf.get(rank) ?? null,
      ...this.#phaseOf(rank, mark, nowMs),
      groups: groups.map((group) => ({ ...group, ageMs: aged(group.ageMs, sinceMs) })),
    };
  }

  /** The hook sees no step if the engine reports its steps itself. A rank that completed a step has started. */
  #phaseOf(rank: number, { watermark, atMs }: Mark, nowMs: number): Pick<RankWatermark, 'phase' | 'phaseAgeMs'> {
    const { phase, phaseAgeMs } = watermark;
    const steppedAtMs = this.#steppedAtMs.get(rank);
    if (phase === 'starting' && steppedAtMs !== undefined) {
      return { phase: 'training', phaseAgeMs: aged(0, Math.max(0, nowMs - steppedAtMs)) };
    }
    return { phase, phaseAgeMs: aged(phaseAgeMs, Math.max(0, nowMs - atMs)) };
  }

  /** One group per name: ranks that share a group report the same. */
  #processGroups(named: ReadonlySet<string>): ProcessGroup[] {
    const all = [...this.#groupsOf.values()].flat().filter(({ group }) => named.has(group));
    const byName = [...new Map(all.map((group) => [group.group, group])).values()];
    return fitting(byName.slice(0, MAX_GROUPS_PER_HEARTBEAT), MOST_GROUP_BYTES);
  }
}

function standing({ enqueued, completed }: Watermark['groups'][number]): boolean {
  return completed < enqueued;
}

const MOST_MS = 1e12;

function aged(ageMs: number, sinceMs: number): number {
  return Math.min(MOST_MS, Math.round(ageMs + sinceMs));
}

/** The first of them, as many as fit. */
function fitting<T>(items: readonly T[], mostBytes: number): T[] {
  let left = mostBytes;
  return items.filter((item) => {
    left -= Buffer.byteLength(JSON.stringify(item));
    return left >= 0;
  });
}
