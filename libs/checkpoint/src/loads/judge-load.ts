/** Decides whether a layout can load a save: from what its files say, and from the job's words where they say nothing. */
import type { EngineName } from '@coxswain/api-types';
import type { ParallelLayout } from '@coxswain/layout';
import type {
  ChangedDegree,
  CheckpointFormat,
  ConverterKind,
  Degree,
  LoadAnswer,
  LoadQuestion,
} from '../formats/checkpoint-format.ts';
import { ALL_DEGREES, WORLD } from '../formats/degrees.ts';
import { formatNamed } from '../formats/formats.ts';
import { torchDistConverter } from '../formats/torch-dist/torch-dist.ts';
import type { KnownSave, LoadTarget } from './known-save.ts';
import { notesOf, warningsOf } from './load-warnings.ts';

/** An offline conversion that has to run before. */
export interface Conversion {
  readonly tool: string;
  /** How a pod can do it. Absent: only a user can. */
  readonly kind?: ConverterKind;
  /** It reads so many and writes about as many; absent: not known. */
  readonly bytes?: number;
  /** Estimated at `bytesPerSecond`. */
  readonly seconds?: number;
  readonly bytesPerSecond: number;
  /** The layout states that it has run, and nothing shows that it has not. */
  readonly isStated: boolean;
}

/** Whether a layout loads a save, why, and what is lost on the way. */
export interface LoadVerdict {
  readonly verdict: 'loads as is' | 'engine reshards' | 'needs conversion' | 'cannot';
  /** A sentence without its subject and its full stop: "was saved as ...". */
  readonly because: string;
  readonly conversion?: Conversion;
  /** What is lost or not known, in whole sentences. */
  readonly warnings: readonly string[];
  /** What differs although nothing is lost, in whole sentences. */
  readonly notes: readonly string[];
  /** files: its bytes say at which degrees it was saved. record: only the layout of its job does. */
  readonly basis: 'files' | 'record';
}

/** PyTorch loads and saves 1.61 GB in 3.7 to 4.9 s on one core; converters do the same work. */
const CONVERTED_BYTES_PER_SECOND = 350 * 2 ** 20;

/** Whether the target can load the save. A format that is not known here is left to its engine. */
export function judgeLoad(saved: KnownSave, target: LoadTarget): LoadVerdict {
  const format = formatNamed(saved.format);
  const { degrees, optimizerSharding, worldSize } = saved.facts ?? {};
  const basis = (degrees ?? optimizerSharding ?? worldSize) === undefined ? 'record' : 'files';
  const answer = broken(saved) ?? foreignTo(format, saved.format, target.engine) ?? answerOf(format, saved, target);
  const all = changedDegrees(saved, target.layout, ALL_DEGREES);
  return {
    verdict: answer.problem ?? (all.length === 0 ? 'loads as is' : 'engine reshards'),
    because: describe(saved, answer, all),
    ...(answer.problem === 'needs conversion' ? { conversion: conversionOf(answer, saved.bytes) } : {}),
    warnings:
      answer.problem === undefined ? [...(answer.warnings ?? []), ...warningsOf({ saved, target, changed: all })] : [],
    notes: answer.problem === undefined || answer.problem === 'needs conversion' ? notesOf({ changed: all }) : [],
    basis,
  };
}

function broken({ problem }: KnownSave): LoadAnswer | undefined {
  return problem === undefined
    ? undefined
    : { problem: 'cannot', changed: [], reason: `is not whole: ${problem.replace(/\.$/, '')}` };
}

function answerOf(format: CheckpointFormat | undefined, saved: KnownSave, { layout, release }: LoadTarget): LoadAnswer {
  if (format === undefined) return { changed: [], reason: 'its format is not known here, so its engine decides' };
  if (format.loads === undefined) return { changed: [], reason: 'its tensors are stored by name, for every layout' };
  const question: LoadQuestion = {
    changed: (degrees) => changedDegrees(saved, layout, degrees),
    optimizerSharding: saved.facts?.optimizerSharding,
    savedLayout: saved.layout,
    wanted: layout,
    release,
    hasUniversal: saved.hasUniversal,
  };
  return format.loads(question);
}

/** The answer if the engine does not load the format at all; undefined: it does, or the target names no engine. */
function foreignTo(
  format: CheckpointFormat | undefined,
  name: string,
  engine: EngineName | undefined,
): LoadAnswer | undefined {
  if (format === undefined || engine === undefined || PROGRAMS.has(engine) || enginesOf(format).has(engine))
    return undefined;
  if (MEGATRON.has(engine) && name === 'safetensors')
    return {
      problem: 'needs conversion',
      changed: [],
      reason: `${engine} does not load safetensors: convert it to torch_dist`,
      tool: torchDistConverter(name),
    };
  const others = [...enginesOf(format)];
  const instead = others.length === 0 ? 'go on with the engine that saved it' : `go on with ${others.join(' or ')}`;
  return { problem: 'cannot', changed: [], reason: `${engine} does not load that format: ${instead}` };
}

/** Programs of users load what they can. */
const PROGRAMS: ReadonlySet<EngineName> = new Set<EngineName>(['command', 'custom']);
const MEGATRON: ReadonlySet<EngineName> = new Set<EngineName>(['megatron-lm', 'megatron-bridge']);

function enginesOf({ engines, megatron, alsoLoadedBy = [] }: CheckpointFormat): ReadonlySet<EngineName> {
  return new Set([
    ...engines.map(({ engine }) => engine),
    ...(megatron === undefined ? [] : MEGATRON),
    ...alsoLoadedBy,
  ]);
}

/** The degrees that differ. Files count before the record; a degree that neither tells counts as unchanged. */
function changedDegrees(
  saved: KnownSave,
  wanted: ParallelLayout,
  degrees: readonly Degree[],
): readonly ChangedDegree[] {
  return degrees.flatMap((degree) => {
    const was = savedDegree(saved, degree);
    const becomes = degree.of(wanted);
    return was === undefined || was === becomes ? [] : [{ field: degree.field, was, becomes }];
  });
}

function savedDegree({ facts, layout }: KnownSave, { field, of }: Degree): number | undefined {
  const recorded = layout === undefined ? undefined : of(layout);
  if (field === WORLD.field) return facts?.worldSize ?? recorded;
  return facts?.degrees?.[field] ?? recorded;
}

/** "was saved as torch_dist with tensorParallelDegree 2, and the layout has tensorParallelDegree 1: ..." */
function describe(
  { format, facts, layout }: KnownSave,
  { problem, changed, reason }: LoadAnswer,
  all: readonly ChangedDegree[],
): string {
  const shown = problem === undefined && changed.length === 0 ? all : changed;
  const optimizer = facts?.optimizerSharding === undefined ? '' : ` (optimizer ${facts.optimizerSharding})`;
  if (shown.length === 0) {
    if (problem !== undefined) return `was saved as ${format}${optimizer}, and ${reason}`;
    const isKnown = (facts?.degrees ?? facts?.worldSize ?? layout) !== undefined;
    return `was saved as ${format}${optimizer}${isKnown ? ' at the degrees of the layout' : ''}: ${reason}`;
  }
  const was = shown.map((each) => `${each.field} ${each.was}`).join(', ');
  const becomes = shown.map((each) => `${each.field} ${each.becomes}`).join(', ');
  return `was saved as ${format}${optimizer} with ${was}, and the layout has ${becomes}: ${reason}`;
}

function conversionOf({ tool = '', converter, isStated = false }: LoadAnswer, bytes: number | undefined): Conversion {
  const kind = converter === undefined ? {} : { kind: converter };
  const rate = { tool, ...kind, isStated, bytesPerSecond: CONVERTED_BYTES_PER_SECOND };
  return bytes === undefined ? rate : { ...rate, bytes, seconds: Math.ceil(bytes / CONVERTED_BYTES_PER_SECOND) };
}
