import type { RetentionPolicy } from '@coxswain/api-types';
import {
  applyRetention,
  DELETION_FILE,
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
  /** changed: it was to be deleted, and the reason for that no longer holds. */
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
    const inUse = await leasesOf(opened, below);
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
    const retained = [...looks].map(([save, look]) => retainedOf(save, look, { ...options, inUse }));
    const reasons = reasonsToKeep(retained, options.policy);
    const saves = below.map((save) => {
      const look = looks.get(save);
      return look === undefined ? interrupted(save, { ...options, inUse }) : plannedOf(save, look, reasons);
    });
    return { store: opened.store, below, saves };
  });
}

/** Deletes what a plan deletes, unless it changed since. Resolves to what became of each save. */
export async function deletePlanned(
  { signal }: Pick<Session, 'signal'>,
  plan: PruningPlan,
): Promise<readonly PlannedSave[]> {
  return await withStoreErrors(async () => {
    const { store, below, saves } = plan;
    const hindrances = await hindrancesOf(plan);
    const done: PlannedSave[] = [];
    for (const [index, save] of saves.entries()) {
      signal.throwIfAborted();
      if (save.action !== 'delete') done.push(save);
      else done.push(await deleteUnchanged(store, save, { before: below[index], hindrance: hindrances.get(save) }));
    }
    return done;
  });
}

/** Why saves that a plan deletes stay now: an engine names one, or what stays for it is no longer there. */
async function hindrancesOf({ store, below, saves }: PruningPlan): Promise<ReadonlyMap<PlannedSave, string>> {
  const files = await store.list();
  const now = savesBelow(files);
  const inUse = await leasesOf({ store, files }, now);
  const hasLost = saves.some(({ name, action, verdict }, index) => {
    const after = now.find((save) => save.name === name);
    return action === 'keep' && verdict === 'sound' && !isSame(after?.files ?? [], below[index]?.files ?? []);
  });
  return new Map(
    saves.flatMap((save) => {
      const lost =
        hasLost && save.verdict !== 'being deleted' ? 'a save that stays changed: run this again' : undefined;
      const why = inUse.get(save.name)?.[0] ?? lost;
      return why === undefined ? [] : [[save, why]];
    }),
  );
}

/** Deletes one save if its files are still those of the plan: others can have been deleted for hours. */
async function deleteUnchanged(
  store: CheckpointStore,
  save: PlannedSave,
  { before, hindrance }: { readonly before: SaveBelow | undefined; readonly hindrance: string | undefined },
): Promise<PlannedSave> {
  if (hindrance !== undefined) return { ...save, action: 'changed', because: [hindrance] };
  const [now] = savesBelow(await store.list(save.name));
  const files = now?.files ?? [];
  if (save.verdict === 'being deleted' ? now?.isWrittenSince === true : !isSame(files, before?.files ?? []))
    return { ...save, action: 'changed', because: ['its files changed after this command read them'] };
  await deleteSave(
    store,
    save.name,
    files.map(({ path }) => path),
  );
  return { ...save, action: 'deleted' };
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
  { name, step }: SaveBelow,
  { verdict }: SaveLook,
  reasons: ReadonlyMap<string, ReadonlySet<string>>,
): PlannedSave {
  const because = reasons.get(name);
  if (because !== undefined) return { name, step, verdict, action: 'keep', because: [...because] };
  return { name, step, verdict, action: 'delete', because: ['the policy does not keep it'] };
}

/** A save whose deletion began and did not end. The rest of it goes, unless somebody wants or writes it. */
function interrupted({ name, step, isWrittenSince }: SaveBelow, { keep, inUse }: Protected): PlannedSave {
  const because = [
    ...(keep.includes(name) ? ['--keep names it'] : []),
    ...(inUse.get(name) ?? []),
    ...(isWrittenSince
      ? [`something wrote to it after its deletion began: delete ${DELETION_FILE} in it, and verify it`]
      : []),
  ];
  const planned = { name, step, verdict: 'being deleted' } as const;
  return because.length > 0
    ? { ...planned, action: 'keep', because }
    : { ...planned, action: 'delete', because: ['its deletion was interrupted'] };
}

/** What stays whatever the policy is. `inUse`: what names a save, by the name of the save. */
interface Protected {
  readonly keep: readonly string[];
  readonly inUse: ReadonlyMap<string, readonly string[]>;
}

function retainedOf(
  { name, step }: SaveBelow,
  { format, verdict, state }: SaveLook,
  { level, keep, inUse }: Protected & { readonly level: Level },
): RetainedSave {
  const { worldSize, degrees } = state?.facts ?? {};
  return {
    name,
    step,
    layout: JSON.stringify([format, worldSize, Object.entries(degrees ?? {}).toSorted()]),
    verification: { level, verdict },
    isUnknown: format === undefined,
    leases: inUse.get(name) ?? [],
    ...(keep.includes(name) && { pin: '--keep names it' }),
  };
}

/** What names each save, or leads to it: pointer files of engines, and links such as `latest`. */
async function leasesOf(
  opened: OpenedStore,
  below: readonly SaveBelow[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const pointed = await pointedSteps(opened);
  const links = opened.files.flatMap(({ path, leadsTo }) => (leadsTo === undefined ? [] : [{ path, leadsTo }]));
  const isBelow = (path: string, name: string): boolean => path === name || path.startsWith(`${name}/`);
  return new Map(
    below.map(({ name, step }) => {
      const pointer = pointed.get(step);
      const link = links.find(({ path, leadsTo }) => isBelow(leadsTo, name) && !isBelow(path, name));
      return [
        name,
        [
          ...(pointer === undefined ? [] : [`file ${pointer} names it`]),
          ...(link === undefined ? [] : [`link ${link.path} leads to it`]),
        ],
      ];
    }),
  );
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
