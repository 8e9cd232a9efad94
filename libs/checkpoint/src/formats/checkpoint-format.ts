/** What every format says about itself. Each folder here is the only place that knows its format. */
import type { ConversionOrder, ENGINE_CHECKPOINTS, EffectiveSpec, EngineName } from '@coxswain/api-types';
import type { LayoutCheckpointFormat, ParallelLayout } from '@coxswain/layout';

/** A format whose saves the launcher finds in the engine's own directory, as `engine.checkpointFormat` names it. */
export type EngineFormat = (typeof ENGINE_CHECKPOINTS)[number];

/** A format of the weights that a job starts from. */
export type WeightFormat = NonNullable<EffectiveSpec['initialWeights']>['format'];

/** A file below the directory of a save. */
export interface SavedFile {
  readonly path: string;
  readonly bytes: number;
}

/** How an engine names what it saves. */
export interface SaveNaming {
  /** Folders below the save directory that can hold saves; '' is the save directory itself. */
  readonly folders: readonly string[];
  /** Name of the directory of one save; the first group is the step. */
  readonly directory: RegExp;
  /** The file next to the saves that names the newest one. Absent: the engine writes none. */
  readonly pointer?: {
    readonly file: string;
    /** Matches the text of the file; the first group is the step. */
    readonly text: RegExp;
  };
}

/** How to recognise a save that an engine began and did not complete. */
export interface HalfWritten {
  /** Paths of files that such a save consists of. A folder with any other file is not only a save. */
  readonly part: RegExp;
  /** Files that complete a save, or may do so. A folder with one of them is no half-written save. */
  readonly markers: readonly string[];
  /** Paths that are written by this format alone, and before its marker. Without one of them the folder may be of a similar format. */
  readonly own: RegExp;
  /**
   * What shows that the save is not complete. marker: its marker is missing, and the engine always writes it last. content: a file is empty or cut off, or it is
   * missing and a complete save of the same run has it. Such an engine can save without a marker.
   */
  readonly proof: 'marker' | 'content';
  /** Paths of files without which the folder may be whole although a complete save has more, such as weights alone. Absent: every folder is compared. */
  readonly compared?: RegExp;
}

/** What an engine does with a format. All releases that Coxswain renders (`ENGINE_RELEASES`) do the same. */
export interface EngineUse {
  readonly engine: EngineName;
  /** save: it saves its state in this format and resumes from it. start: it starts a job from weights in this format. */
  readonly does: readonly ('save' | 'start')[];
}

/** A degree of a layout. */
export interface Degree {
  readonly field: string;
  readonly of: (layout: ParallelLayout) => number;
}

/** A degree that differs between the save and the layout that is to load it. */
export interface ChangedDegree {
  readonly field: string;
  readonly was: number;
  readonly becomes: number;
}

/** What a format's rule is asked: can this layout load that save? */
export interface LoadQuestion {
  /** Those of these degrees that differ, in their order. One that nothing tells counts as unchanged. */
  readonly changed: (degrees: readonly Degree[]) => readonly ChangedDegree[];
  /** How the optimizer is divided ({@link SavedFacts}); undefined: nothing tells. */
  readonly optimizerSharding: string | undefined;
  /** The layout that the job stated when it saved; undefined: the save stands alone. */
  readonly savedLayout: ParallelLayout | undefined;
  readonly wanted: ParallelLayout;
  /** Release of the engine that loads it; undefined: a new one. */
  readonly release: string | undefined;
  /** Whether a converted copy of the save is there that every layout loads; undefined: not known. */
  readonly hasUniversal: boolean | undefined;
}

/** A conversion that a pod can do by itself. */
export type ConverterKind = ConversionOrder['kind'];

/** What a format's rule answers. */
export interface LoadAnswer {
  /** undefined: the engine loads it; whether it divides the state anew follows from the degrees. */
  readonly problem?: 'needs conversion' | 'cannot';
  /** Names the degrees that matter. */
  readonly changed: readonly ChangedDegree[];
  /** What to do, or why the engine loads it: the end of a sentence, without its full stop. */
  readonly reason: string;
  /** Of a conversion. */
  readonly tool?: string;
  /** How a pod can do that conversion. Absent: only a user can. */
  readonly converter?: ConverterKind;
  /** The layout states that the conversion has run, and nothing shows that it has not. */
  readonly isStated?: boolean;
  /** Whole sentences. */
  readonly warnings?: readonly string[];
}

/** How Megatron-LM, and Megatron-Bridge with it, use a format. */
export interface MegatronUse {
  /** As a layout names the format. */
  readonly layoutFormat: LayoutCheckpointFormat;
  /** Value of `--ckpt-format`. */
  readonly option: string;
  /** The format holds no state that FSDP shards. */
  readonly excludesFsdp?: boolean;
  /** The engine refuses tensor and pipeline parallelism with the format. */
  readonly isDataParallelOnly?: boolean;
}

/** One format: plain data and pure functions. The launcher reads the files and passes names, sizes and text. */
export interface CheckpointFormat {
  /** As manifests, Checkpoint objects, layouts and jobs call it; the first is the usual one. */
  readonly names: readonly string[];
  /** Whether a directory with files of these paths, relative to it, is a save of this format. */
  readonly detect: (paths: ReadonlySet<string>) => boolean;
  /** The file that lists what the save holds. undefined: the format has none. */
  readonly indexFile: string | undefined;
  /** What a save with these files still misses, as the end of a sentence; undefined if the names show nothing missing. */
  readonly describeMissing: (paths: ReadonlySet<string>, worldSize: number) => string | undefined;
  /** Files that must parse as JSON once the save is complete. */
  readonly jsonFiles?: readonly string[];
  /** How to find saves below a save directory. Absent: the engine reports each save itself. */
  readonly saves?: SaveNaming & { readonly format: EngineFormat };
  /** How to recognise a save that was not completed. Absent: no file shows it, so every save stays. */
  readonly halfWritten?: HalfWritten;
  /** Matches paths of files that one rank wrote alone; the only group that takes part is the global rank. */
  readonly rankFile?: RegExp;
  /** Which layouts load it. Absent: every layout does, or the engine decides. */
  readonly loads?: (question: LoadQuestion) => LoadAnswer;
  /** Engines that load it beside those that `engines` and `megatron` name. */
  readonly alsoLoadedBy?: readonly EngineName[];
  /** Its name as the format of the weights that a job starts from. Absent: jobs cannot start from it. */
  readonly weights?: WeightFormat;
  readonly megatron?: MegatronUse;
  readonly engines: readonly EngineUse[];
}
