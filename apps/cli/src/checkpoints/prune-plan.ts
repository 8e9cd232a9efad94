import type { RetentionPolicy } from '@coxswain/api-types';
import {
  applyRetention,
  type Level,
  pointerFiles,
  type RetainedSave,
  type SaveBelow,
  type SaveLook,
  savesBelow,
  stepOfPointer,
  type StoredFile,
  type Verdict,
} from '@coxswain/checkpoint';
import { type CheckpointStore, deleteSave, type ReadableStore } from '@coxswain/checkpoint-store';
import { CliError } from '../cli-error.ts';
import type { Session } from '../session/session.ts';
import { progressOf, verifyFiles } from './look-at-save.ts';
import { openAndList, type OpenedStore, type StoreOptions, withStoreErrors } from './opened-store.ts';

/** A save with what becomes of it. */
export interface PlannedSave {
  readonly name: string;
  readonly step: number;
  readonly verdict: Verdict | 'being deleted';
  /** changed: it was to be deleted, and something wrote to it after it was verified. */
  readonly action: 'keep' | 'delete' | 'deleted' | 'changed';
  readonly because: readonly string[];
}

/** What pruning would do. */
export interface PruningPlan {
  readonly store: CheckpointStore;
  readonly below: readonly SaveBelow[];
  readonly saves: readonly PlannedSave[];
}

/** Text of a pointer file that is read; engines write a step. */
const MAX_POINTER = 256;

/** Verifies the saves at a location, and applies a policy to them. Deletes nothing. */
export async function planPruning(
  session: Session,
  location: string,
  options: StoreOptions & { readonly policy: RetentionPolicy; readonly keep: readonly string[]; readonly level: Level },
): Promise<PruningPlan> {
  return await withStoreErrors(async () => {
    const what = 'the directory that holds the saves of a job, such as outputs/checkpoint';
    const opened = await openAndList(session, location, options, what);
    const below = savesBelow(opened.files);
    const unknown = options.keep.find((name) => !below.some((save) => save.name === name));
    if (unknown !== undefined) throw new CliError(`${location} holds no save ${unknown}, which --keep names.`);
    const pointed = await pointedSteps(opened);
    const progress = progressOf(
      session,
      below.flatMap(({ files }) => files),
    );
    const looks = new Map<SaveBelow, SaveLook>();
    for (const save of below.filter(({ isBeingDeleted }) => !isBeingDeleted)) {
      const found = await verifyFiles(session, within(opened.store, save.name), save.files, {
        level: options.level,
        onBytes: progress.add,
      });
      looks.set(save, found);
    }
    const retained = [...looks].map(([save, look]) => retainedOf(save, look, { ...options, pointed }));
    return { store: opened.store, below, saves: plannedOf(below, looks, reasonsToKeep(retained, options.policy)) };
  });
}

/** Deletes what a plan deletes, unless it changed since. Resolves to what became of each save. */
export async function deletePlanned(
  { signal }: Session,
  { store, below, saves }: PruningPlan,
): Promise<readonly PlannedSave[]> {
  return await withStoreErrors(async () => {
    const now = new Map(savesBelow(await store.list()).map((save) => [save.name, save]));
    const done: PlannedSave[] = [];
    for (const [index, save] of saves.entries()) {
      signal.throwIfAborted();
      const files = now.get(save.name)?.files ?? [];
      if (save.action !== 'delete') done.push(save);
      else if (save.verdict !== 'being deleted' && !isSame(files, below[index]?.files ?? []))
        done.push({ ...save, action: 'changed', because: ['something wrote to it after it was verified'] });
      else {
        await deleteSave(
          store,
          save.name,
          files.map(({ path }) => path),
        );
        done.push({ ...save, action: 'deleted' });
      }
    }
    return done;
  });
}

/** By name. Copied files have other times, and users go back to earlier steps: a save stays if it stays in either order. */
function reasonsToKeep(
  saves: readonly RetainedSave[],
  policy: RetentionPolicy,
): ReadonlyMap<string, ReadonlySet<string>> {
  const orders = [saves, saves.toSorted((one, other) => one.step - other.step)];
  const kept = orders.flatMap((order) => applyRetention(order, policy).keep);
  return new Map(
    [...Map.groupBy(kept, ({ name }) => name)].map(([name, each]) => [
      name,
      new Set(each.flatMap(({ because }) => because)),
    ]),
  );
}

function plannedOf(
  below: readonly SaveBelow[],
  looks: ReadonlyMap<SaveBelow, SaveLook>,
  reasons: ReadonlyMap<string, ReadonlySet<string>>,
): readonly PlannedSave[] {
  return below.map((save) => {
    const { name, step } = save;
    const look = looks.get(save);
    if (look === undefined)
      return { name, step, verdict: 'being deleted', action: 'delete', because: ['its deletion was interrupted'] };
    const because = reasons.get(name);
    if (because !== undefined) return { name, step, verdict: look.verdict, action: 'keep', because: [...because] };
    return { name, step, verdict: look.verdict, action: 'delete', because: ['the policy does not keep it'] };
  });
}

function retainedOf(
  { name, step }: SaveBelow,
  { format, verdict, state }: SaveLook,
  {
    level,
    keep,
    pointed,
  }: { readonly level: Level; readonly keep: readonly string[]; readonly pointed: ReadonlyMap<number, string> },
): RetainedSave {
  const pointer = pointed.get(step);
  const { worldSize, degrees } = state?.facts ?? {};
  return {
    name,
    step,
    layout: JSON.stringify([format, worldSize, Object.entries(degrees ?? {}).toSorted()]),
    verification: { level, verdict },
    // What is not recognised may be anything.
    isAdopted: format === undefined,
    leases: pointer === undefined ? [] : [`file ${pointer} names it`],
    ...(keep.includes(name) && { pin: '--keep names it' }),
  };
}

async function pointedSteps({ store, files }: OpenedStore): Promise<ReadonlyMap<number, string>> {
  const pointed = new Map<number, string>();
  for (const path of pointerFiles()) {
    if (!files.some((file) => file.path === path && file.isLink !== true)) continue;
    const step = stepOfPointer(path, new TextDecoder().decode(await store.read(path, 0, MAX_POINTER)));
    if (step !== undefined) pointed.set(step, path);
  }
  return pointed;
}

/** The same store, for the files of one folder. */
function within(store: CheckpointStore, folder: string): ReadableStore {
  return {
    isRemote: store.isRemote,
    read: (path, offset, length) => store.read(`${folder}/${path}`, offset, length),
  };
}

function isSame(now: readonly StoredFile[], before: readonly StoredFile[]): boolean {
  const textOf = (files: readonly StoredFile[]): string =>
    JSON.stringify(files.map(({ path, bytes, writtenMs }) => [path, bytes, writtenMs]).toSorted());
  return textOf(now) === textOf(before);
}
