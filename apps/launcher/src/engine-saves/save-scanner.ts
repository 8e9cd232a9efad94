/** Finds the saves of an engine that are complete, scan after scan while it trains. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { SavedBy } from '@coxswain/api-types';
import {
  saveLocations,
  candidateSaves,
  DELETION_FILE,
  describeIncomplete,
  describeIncompletePart,
  type EngineFormat,
  type EngineSave,
  type NamedSaves,
  unpointedSaves,
} from '@coxswain/checkpoint';
import type { SavedFact } from '../facts/engine-facts.ts';
import type { HashBudget } from './hash-budget.ts';
import {
  filesBelow,
  namesIn,
  textOf,
  unlessGone,
  describeTruncated,
  type FoundFile,
} from '../checkpoints/saved-files.ts';
import { UnmarkedSaves } from './unmarked-saves.ts';
import { writeManifest } from './write-manifest.ts';

/** The directory to scan, as the launcher passes it to the watching process. */
export interface WatchedSaves {
  /** The save directory of one incarnation. */
  readonly saveDirectory: string;
  readonly format: EngineFormat;
  readonly worldSize: number;
  readonly savedBy: SavedBy;
  /** Whether the launcher removes a save once another place has it. */
  readonly isRemovedLater?: boolean;
  /** Whether other nodes have files of the save on their own disks. Then the launcher makes the manifest. */
  readonly isPart?: boolean;
  /** Directories of saves that were reported already. */
  readonly reported: readonly string[];
}

/** A result of a scan: a complete checkpoint, or a sentence for the log. */
export type ScanResult = SavedFact | { readonly kind: 'notice'; readonly sentence: string };

interface ScannerOptions {
  readonly budget: () => HashBudget;
  readonly onAnswer: () => void;
  /** Milliseconds since the Unix epoch; default: the clock. */
  readonly now?: () => number;
}

/** Compares each scan with the one before: a save that is still being written differs. */
export class SaveScanner {
  readonly #watched: WatchedSaves;
  readonly #options: ScannerOptions;
  readonly #done: Set<string>;
  /** By directory, the step of each save that existed at the last scan. */
  readonly #known = new Map<string, number>();
  /** By directory, the files at the last scan. */
  readonly #before = new Map<string, string>();
  /** By directory, why it was not complete at the last scan. */
  readonly #missing = new Map<string, string>();
  readonly #unmarked = new UnmarkedSaves();

  constructor(watched: WatchedSaves, options: ScannerOptions) {
    this.#watched = watched;
    this.#options = options;
    this.#done = new Set(watched.reported);
  }

  /** The saves that became complete since the last scan, oldest first. With `isLast` no rank is left that could write, so one scan is enough. */
  async scan({ isLast }: { readonly isLast: boolean }): Promise<readonly ScanResult[]> {
    const nowMs = (this.#options.now ?? Date.now)();
    const candidates = await this.#candidates(nowMs);
    const results = this.#deletedSince(candidates);
    for (const save of candidates.filter(({ directory }) => !this.#done.has(directory))) {
      this.#known.set(save.directory, save.step);
      const result = await this.#examine(save, { isLast, nowMs });
      if (result !== undefined) results.push(result);
    }
    return isLast ? [...results, ...this.#unfinished()] : results;
  }

  async #candidates(nowMs: number): Promise<readonly EngineSave[]> {
    const { saveDirectory, format } = this.#watched;
    const found: EngineSave[] = [];
    for (const { folder, pointer } of saveLocations(format)) {
      const names = await namesIn(join(saveDirectory, folder));
      const text = pointer === undefined ? undefined : await textOf(join(saveDirectory, pointer));
      this.#options.onAnswer();
      found.push(...this.#pointed({ folder, names, ...(text === undefined ? {} : { pointer: text }) }, nowMs));
    }
    return found;
  }

  /** The pointer file marks the newest save. One that it was never seen to name has no known end. */
  #pointed(named: NamedSaves, nowMs: number): readonly EngineSave[] {
    const { format } = this.#watched;
    const unpointed = unpointedSaves(format, named);
    const pointed = candidateSaves(format, named);
    for (const { directory } of unpointed) this.#unmarked.note(directory, nowMs);
    if (saveLocations(format).some(({ pointer }) => pointer !== undefined))
      for (const { directory } of pointed.slice(0, -1)) this.#unmarked.forget(directory);
    return pointed;
  }

  /** Engines delete their oldest saves, unless they are configured otherwise. */
  #deletedSince(candidates: readonly EngineSave[]): ScanResult[] {
    const there = new Set(candidates.map(({ directory }) => directory));
    const gone = [...this.#known].filter(([directory]) => !there.has(directory));
    return gone.flatMap(([directory, step]) => {
      this.#known.delete(directory);
      this.#before.delete(directory);
      this.#missing.delete(directory);
      this.#unmarked.forget(directory);
      if (this.#watched.isRemovedLater === true && this.#done.has(directory)) return [];
      const when = this.#done.has(directory)
        ? 'although it is recorded; have the engine keep every checkpoint'
        : 'before it was recorded';
      return [{ kind: 'notice', sentence: `The checkpoint of step ${step} (${directory}) was deleted, ${when}.` }];
    });
  }

  async #examine(
    save: EngineSave,
    { isLast, nowMs }: { readonly isLast: boolean; readonly nowMs: number },
  ): Promise<ScanResult | undefined> {
    const { directory, step } = save;
    const path = join(this.#watched.saveDirectory, directory);
    const files = await filesBelow(path);
    this.#options.onAnswer();
    // What a deletion has left is no save, although some formats would take it for one.
    if (files === undefined || files.some((file) => file.path === DELETION_FILE)) return undefined;
    const { format, worldSize, isPart } = this.#watched;
    const unmarked = describeIncompletePart(format, files);
    if (unmarked !== undefined) this.#unmarked.note(directory, nowMs);
    const missing = isPart === true ? unmarked : describeIncomplete(format, files, worldSize);
    const isSettled = this.#isAsBefore(directory, files) || isLast;
    const why = missing ?? (isSettled ? await unlessGone(() => describeTruncated(path, files)) : undefined);
    if (why === undefined) this.#missing.delete(directory);
    else this.#missing.set(directory, `The checkpoint of step ${step} (${directory}) is not complete: ${why}.`);
    return why === undefined && isSettled ? await this.#write(save, files) : undefined;
  }

  async #write(save: EngineSave, files: readonly FoundFile[]): Promise<ScanResult | undefined> {
    const { saveDirectory, format, savedBy, isPart } = this.#watched;
    if (isPart === true) {
      this.#done.add(save.directory);
      return this.#dated(partFact(save, files));
    }
    const written = await writeManifest(save, files, {
      saveDirectory,
      format,
      savedBy,
      budget: this.#options.budget(),
      onAnswer: this.#options.onAnswer,
    });
    if (written.kind === 'changed') return undefined;
    this.#done.add(save.directory);
    if (written.kind === 'written') return this.#dated(written.fact);
    return {
      kind: 'notice',
      sentence: `The checkpoint of step ${save.step} is not recorded: ${save.directory} holds a manifest.json that is not Coxswain's.`,
    };
  }

  #dated(fact: SavedFact): SavedFact {
    const unmarked = this.#unmarked.of(fact.directory);
    return unmarked === undefined ? fact : { ...fact, unmarked };
  }

  #isAsBefore(directory: string, files: readonly FoundFile[]): boolean {
    const now = JSON.stringify(files);
    const isSame = this.#before.get(directory) === now;
    this.#before.set(directory, now);
    return isSame;
  }

  #unfinished(): readonly ScanResult[] {
    return [...this.#missing.values()].map((sentence) => ({ kind: 'notice', sentence }));
  }
}

/** This node has a part of the save. The SHA-256 is of the list of its files, because there is no manifest yet. */
function partFact({ step, directory }: EngineSave, files: readonly FoundFile[]): SavedFact {
  return {
    kind: 'checkpointSaved',
    step,
    directory,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    files: files.length,
    manifestSha256: createHash('sha256').update(JSON.stringify(files)).digest('hex'),
  };
}
