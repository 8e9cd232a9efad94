/** Writes the tensors of a model in another spelling. */
import type { PartRun } from './arrangements.ts';
import { type ConvertedTensor, mergedPieces, type SourcePiece } from './converted-tensor.ts';
import type { ModelConfig } from './model-config.ts';
import { idOf, type ModelTensor } from './model-tensors.ts';
import { type Block, blockOf, nameOf, positionsOf, type SpelledModel, type SpelledPart } from './spelled-model.ts';
import type { Spelling } from './spellings.ts';

/** The model in a spelling, in the order of its table. Tensors of a layer stay together if the spelling names layers. */
export function respell(
  { parts }: SpelledModel,
  spelling: Spelling,
  model: ModelConfig,
): { readonly tensors: readonly ConvertedTensor[]; readonly problems: readonly string[] } {
  const tensors: (ConvertedTensor & { readonly layer: number })[] = [];
  const problems: string[] = [];
  const written = new Set<string>();
  const sides = new Map<readonly PartRun[], readonly SidedRuns[]>();
  for (const rule of spelling.rulesFor(model)) {
    if (rule.isFormer === true) continue;
    const block = blockOf(rule, model);
    for (const named of instancesOf(rule.name, model)) {
      const blocks = positionsOf(rule, block.counts).map((position) =>
        rule.roles.map((role) => {
          const id = idOf({ role, ...named, ...position });
          written.add(id);
          return parts.get(id);
        }),
      );
      const key = nameOf(rule, named);
      const found = blocks.flat().filter((part) => part !== undefined);
      if (found.length === 0) continue;
      const dtypes = new Set(found.map(({ source }) => source.dtype));
      const [dtype = ''] = dtypes;
      if (found.length < blocks.flat().length) problems.push(`Tensor ${key} of ${spelling.title} would have holes.`);
      else if (dtypes.size > 1)
        problems.push(
          `Tensor ${key} of ${spelling.title} would have several dtypes (${[...dtypes].join(', ')}): ${found[0]?.source.key ?? ''} and others are one tensor there.`,
        );
      else
        tensors.push({
          key,
          dtype,
          sourceDtype: dtype,
          shape: [...block.counts, ...block.shape],
          layer: named.layer ?? (/layers\./.test(key) ? 0 : key.includes('embed') ? -1 : Infinity),
          pieces: piecesOf(block, blocks as readonly (readonly SpelledPart[])[], sides),
        });
    }
  }
  for (const [id, { source }] of parts)
    if (!written.has(id)) problems.push(`Tensor ${source.key} has no place in ${spelling.title}.`);
  return { tensors: tensors.toSorted((a, b) => (a.layer === b.layer ? 0 : a.layer - b.layer)), problems };
}

/** The numbers of each tensor of a rule. */
function instancesOf(name: string, model: ModelConfig): readonly Pick<ModelTensor, 'layer' | 'expert'>[] {
  const layers = name.includes('{layer}') ? range(model.layers).map((layer) => ({ layer })) : [{}];
  return name.includes('{expert}')
    ? layers.flatMap((layer) => range(model.experts).map((expert) => ({ ...layer, expert })))
    : layers;
}

function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** The runs of one part, in the order of the part. */
type SidedRuns = readonly PartRun[];

function piecesOf(
  { volume, runs }: Block,
  blocks: readonly (readonly SpelledPart[])[],
  sides: Map<readonly PartRun[], readonly SidedRuns[]>,
): ConvertedTensor['pieces'] {
  const each = function* (from: number, to: number): Generator<SourcePiece> {
    for (let index = Math.floor(from / volume); index * volume < to; index++) {
      const at = index * volume;
      for (const run of runs) {
        const start = Math.max(at + run.to, from);
        const length = Math.min(at + run.to + run.length, to) - start;
        const part = blocks[index]?.[run.part];
        if (length <= 0 || part === undefined) continue;
        yield* inSource(part, { from: run.from + start - at - run.to, to: start, length }, sides);
      }
    }
  };
  return (from, to) => mergedPieces(each(from, to));
}

/** The elements of the source that a range of a tensor of the model has. */
function* inSource(
  { source, blockAt, part, runs }: SpelledPart,
  wanted: { readonly from: number; readonly to: number; readonly length: number },
  sides: Map<readonly PartRun[], readonly SidedRuns[]>,
): Generator<SourcePiece> {
  const side = sidesOf(runs, sides)[part] ?? [];
  const end = wanted.from + wanted.length;
  for (let index = firstAt(side, wanted.from); index < side.length; index++) {
    const run = side[index];
    if (run === undefined || run.from >= end) return;
    const from = Math.max(run.from, wanted.from);
    const length = Math.min(run.from + run.length, end) - from;
    yield { source, from: blockAt + run.to + from - run.from, to: wanted.to + from - wanted.from, length };
  }
}

function sidesOf(runs: readonly PartRun[], sides: Map<readonly PartRun[], readonly SidedRuns[]>): readonly SidedRuns[] {
  const known = sides.get(runs);
  if (known !== undefined) return known;
  const found: PartRun[][] = [];
  for (const run of runs) (found[run.part] ??= []).push(run);
  for (const side of found) side.sort((one, other) => one.from - other.from);
  sides.set(runs, found);
  return found;
}

/** The run that holds the element `at`: runs have no holes. */
function firstAt(runs: SidedRuns, at: number): number {
  let [low, high] = [0, runs.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((runs[middle]?.from ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}
