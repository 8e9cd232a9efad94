/** Which saves may be deleted, and why does each other one stay? */
import type { RetentionPolicy } from '@coxswain/api-types';
import { type Level, LEVELS } from '../verify/finding.ts';
import type { Verdict } from '../verify/verify-save.ts';

/** A save, with what retention has to know of it. */
export interface RetainedSave {
  /** Unique among the saves. */
  readonly name: string;
  readonly step: number;
  /** The layout that saved it, in any form that is equal for equal layouts. */
  readonly layout: string;
  /** The closest verification; absent: none. */
  readonly verification?: { readonly level: Level; readonly verdict: Verdict };
  /** Absent: not known. */
  readonly loss?: number;
  /** Coxswain did not write it. */
  readonly isAdopted?: boolean;
  /** Its format is not known, so it may be anything. */
  readonly isUnknown?: boolean;
  /** The reason of a user to keep it. */
  readonly pin?: string;
  /** What reads it or is about to, such as a job that resumes from it. */
  readonly leases?: readonly string[];
  /** Name of the save that its run, or its conversion, began from. */
  readonly base?: string;
}

/** What retention decides. Each save is in one of the lists, in the order in which saves were given. */
export interface RetentionDecision {
  readonly delete: readonly string[];
  /** `because`: each reason is a clause without its full stop. */
  readonly keep: readonly { readonly name: string; readonly because: readonly string[] }[];
}

/** Saves that an engine loads: their envelopes were read, and nothing was wrong. */
const VERIFIED: Level = 'V2';

/**
 * Applies a policy to the saves of a job, in the order in which they were saved, oldest first. Whatever the policy is, these stay: adopted, unknown,
 * pinned and leased saves, the newest verified save of each layout, and what saves that stay began from. Without a policy all stay.
 */
export function applyRetention(saves: readonly RetainedSave[], policy: RetentionPolicy | undefined): RetentionDecision {
  const reasons = new Map<RetainedSave, string[]>(saves.map((save) => [save, []]));
  const keep = (save: RetainedSave, because: string): void => void reasons.get(save)?.push(because);
  if (policy === undefined) for (const save of saves) keep(save, 'no retention policy is written');
  else keepByPolicy(saves, policy, keep);
  for (const save of saves) for (const because of protectionsOf(save)) keep(save, because);
  for (const save of newestOfLayouts(saves)) keep(save, 'it is the newest verified save of its layout');
  keepBases(saves, reasons);
  return {
    delete: saves.filter((save) => reasons.get(save)?.length === 0).map(({ name }) => name),
    keep: saves.flatMap((save) => {
      const because = reasons.get(save) ?? [];
      return because.length === 0 ? [] : [{ name: save.name, because }];
    }),
  };
}

/** Whether a save counts as verified: it was sound when at least its envelopes were read. */
export function isVerified({ verification }: Pick<RetainedSave, 'verification'>): boolean {
  if (verification?.verdict !== 'sound') return false;
  return LEVELS.indexOf(verification.level) >= LEVELS.indexOf(VERIFIED);
}

type Keep = (save: RetainedSave, because: string) => void;

function keepByPolicy(saves: readonly RetainedSave[], policy: RetentionPolicy, keep: Keep): void {
  const { keepNewestVerified, keepEverySteps, keepBestByLoss } = policy;
  const verified = saves.filter(isVerified);
  const oldestKept = verified.at(-keepNewestVerified);
  const firstKept = oldestKept === undefined ? 0 : saves.indexOf(oldestKept);
  const because =
    oldestKept === undefined
      ? `fewer than ${String(keepNewestVerified)} saves are verified`
      : `fewer than ${String(keepNewestVerified)} newer saves are verified`;
  for (const save of saves.slice(firstKept)) keep(save, because);
  if (keepEverySteps !== undefined)
    for (const save of firstOfIntervals(saves, keepEverySteps))
      keep(save, `it is the first good save of its ${String(keepEverySteps)} steps`);
  if (keepBestByLoss !== undefined)
    for (const save of bestByLoss(verified, keepBestByLoss))
      keep(save, `it is one of the ${String(keepBestByLoss)} verified saves with the lowest loss`);
}

/** What keeps a save whatever the policy is: clauses without a full stop. */
export function protectionsOf({
  isAdopted = false,
  isUnknown = false,
  pin,
  leases = [],
}: RetainedSave): readonly string[] {
  return [
    ...(isAdopted ? ['Coxswain did not write it'] : []),
    ...(isUnknown ? ['its format is not known'] : []),
    ...(pin === undefined ? [] : [`it is pinned: ${pin}`]),
    ...leases.map((lease) => `it is in use: ${lease}`),
  ];
}

function newestOfLayouts(saves: readonly RetainedSave[]): readonly RetainedSave[] {
  const verified = saves.filter(isVerified);
  return [...Map.groupBy(verified, ({ layout }) => layout).values()].flatMap((ofLayout) => ofLayout.slice(-1));
}

/** A verified save is preferred to one that was not found bad; among equals the lowest step counts. */
function firstOfIntervals(saves: readonly RetainedSave[], steps: number): readonly RetainedSave[] {
  const intervals = Map.groupBy(saves.filter(mayBeGood), ({ step }) => Math.floor(step / steps));
  return [...intervals.values()].flatMap((candidates) => {
    const verified = candidates.filter(isVerified);
    const lowestFirst = (verified.length > 0 ? verified : candidates).toSorted((one, other) => one.step - other.step);
    return lowestFirst.slice(0, 1);
  });
}

function mayBeGood({ verification }: RetainedSave): boolean {
  return verification?.verdict !== 'damaged' && verification?.verdict !== 'incomplete';
}

/** Of equal losses the save of the lower step. */
function bestByLoss(verified: readonly RetainedSave[], count: number): readonly RetainedSave[] {
  return verified
    .flatMap((save) => (save.loss !== undefined && Number.isFinite(save.loss) ? [{ save, loss: save.loss }] : []))
    .toSorted((one, other) => one.loss - other.loss || one.save.step - other.save.step)
    .slice(0, count)
    .map(({ save }) => save);
}

/** Bases of saves that stay, and their bases. */
function keepBases(saves: readonly RetainedSave[], reasons: ReadonlyMap<RetainedSave, string[]>): void {
  const byName = new Map(saves.map((save) => [save.name, save]));
  const waiting = saves.filter((save) => (reasons.get(save)?.length ?? 0) > 0);
  for (let save = waiting.pop(); save !== undefined; save = waiting.pop()) {
    const base = save.base === undefined ? undefined : byName.get(save.base);
    const because = base && reasons.get(base);
    if (base === undefined || because === undefined) continue;
    if (because.length === 0) waiting.push(base);
    because.push(`${save.name} began from it`);
  }
}
