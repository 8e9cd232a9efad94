/** What an adapter makes of a job: arguments, files and environment, or a refusal. */
import type { EffectiveSpec, EngineRun } from '@coxswain/api-types';
import type { EngineRefusal } from './engine-refusal.ts';

/** What an adapter knows besides the job; whatever is absent is not known yet. */
export interface RenderContext {
  /** GPUs of each pod. */
  readonly gpusPerPod?: number;
  /** Class of the NICs of each pod, in the order of pods: infiniband, roce or ethernet. */
  readonly nicClasses?: readonly string[];
  /** Preset of the planner that names the GPU, such as `h100-sxm`. */
  readonly gpu?: string;
}

/** A file that the ranks read, which their launcher writes below `$(COXSWAIN_ENGINE_FILES)` before they start. */
export type EngineFile = EngineRun['files'][number];

/**
 * What is run. In `command`, `resumeArgs` and the texts of files `$(NAME)` stands for a variable of the rank (`LAUNCHER_RANK_ENV`, `TORCH_RANK_ENV`),
 * which its launcher puts there; `$$` is a dollar sign.
 */
export interface RenderedEngine extends EngineRun {
  readonly kind: 'rendered';
  /** Of the engine, as it names it; absent where the program is the user's own. */
  readonly release?: string;
  /** Of a rank where the launcher starts each; of a pod where torchrun or ft_launcher does. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Ports that the engine listens on beside the rendezvous, which the launcher chooses. */
  readonly ports: readonly { readonly name: string; readonly port: number }[];
  /** Of the host, for what is offloaded. */
  readonly hostMemoryGibPerGpu?: number;
  /** What a person should know: consequences of other fields, and peculiarities of the engine. */
  readonly notes: readonly string[];
}

/** The program of a job, or the refusal of its engine. */
export type Rendering = RenderedEngine | ({ readonly kind: 'refused' } & EngineRefusal);

/** One engine. Every field of the job becomes an argument, a file or a variable, or is refused. */
export type EngineAdapter = (spec: EffectiveSpec, context: RenderContext) => Rendering;

/** Of all arguments together: a pod is stored in 1.5 MB, and its command is written twice, with dollar signs doubled each time. */
export const MAX_COMMAND_BYTES = 262_144;

/** A rendering with a command only. */
export function plainly(command: readonly string[], env: Readonly<Record<string, string>>): RenderedEngine {
  return { kind: 'rendered', startedBy: 'launcher', command, resumeArgs: [], files: [], env, ports: [], notes: [] };
}

/** The rendering of a job that its engine cannot run. */
export function refused(refusal: EngineRefusal): Rendering {
  return { kind: 'refused', ...refusal };
}

/** Escapes dollar signs, so that the launcher replaces nothing in the text. */
export function literally(text: string): string {
  return text.replaceAll('$', '$$$$');
}
