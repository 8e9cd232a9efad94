/** Finds the tensors of a model in those of a save, by the table of a spelling. */
import { type SavedTensor, volumeOf } from '../read/saved-state.ts';
import { ARRANGEMENTS, type PartRun } from './arrangements.ts';
import type { ModelConfig } from './model-config.ts';
import { idOf, type ModelTensor, ROLES, shapeOf, tensorsOf } from './model-tensors.ts';
import type { NameRule, Spelling } from './spellings.ts';

/** Where a tensor of the model is: a part of a block of a tensor of the save. */
export interface SpelledPart {
  readonly source: SavedTensor;
  /** Elements of the source before the block. */
  readonly blockAt: number;
  readonly part: number;
  /** Of all parts of the block, in the order of the block. The same list for all blocks of a rule. */
  readonly runs: readonly PartRun[];
}

/** A model as a save spells it. */
export interface SpelledModel {
  /** By {@link idOf}. */
  readonly parts: ReadonlyMap<string, SpelledPart>;
  /** Whole sentences; none: all is there. */
  readonly problems: readonly string[];
}

/** A rule with what follows from the model, computed once. */
export interface Block {
  readonly rule: NameRule;
  readonly shape: readonly number[];
  readonly volume: number;
  readonly runs: readonly PartRun[];
  /** Sizes of the leading dims. */
  readonly counts: readonly number[];
}

/** The block of a rule. */
export function blockOf(rule: NameRule, model: ModelConfig): Block {
  const { blockOf: shapeOfBlock, runsOf } = ARRANGEMENTS[rule.arrange ?? 'plain'];
  const shapes = rule.roles.map((role) => shapeOf(role, model));
  const shape = shapeOfBlock(shapes);
  const counts = (rule.stacked ?? []).map((axis) => (axis === 'layer' ? model.layers : model.experts));
  return { rule, shape, volume: volumeOf(shape), runs: runsOf(shapes, model), counts };
}

/** The tensors of the model in `tensors`, with all that is wrong. */
export function readSpelledModel(
  tensors: readonly SavedTensor[],
  spelling: Spelling,
  model: ModelConfig,
): SpelledModel {
  const matchers = spelling.rulesFor(model).map((rule) => ({ block: blockOf(rule, model), pattern: patternOf(rule) }));
  const expected = new Set([...tensorsOf(model)].map(idOf));
  const parts = new Map<string, SpelledPart>();
  const problems: string[] = [];
  for (const source of tensors) {
    const found = matchers.flatMap(({ block, pattern }) => {
      const match = pattern.exec(source.key);
      return match === null ? [] : [{ block, groups: match.groups ?? {} }];
    })[0];
    const problem =
      found === undefined
        ? `Tensor ${source.key} has no place in a ${model.family} model of ${spelling.title}.`
        : placeBlocks(source, found.block, numbersOf(found.groups), { model, expected, parts });
    if (problem !== undefined) problems.push(problem);
  }
  for (const tensor of tensorsOf(model))
    if (!parts.has(idOf(tensor)))
      problems.push(
        `The save has no tensor ${nameIn(spelling, model, tensor)}, and config.json says that the model has it.`,
      );
  return { parts, problems };
}

interface Finding {
  readonly model: ModelConfig;
  readonly expected: ReadonlySet<string>;
  readonly parts: Map<string, SpelledPart>;
}

/** Notes where each part of a tensor is. Returns what is wrong with it. */
function placeBlocks(
  source: SavedTensor,
  block: Block,
  { layer, expert }: Pick<ModelTensor, 'layer' | 'expert'>,
  { model, expected, parts }: Finding,
): string | undefined {
  const { rule, volume, runs } = block;
  const wanted = [...block.counts, ...block.shape];
  if (!isShape(source.shape, wanted, rule.isPadded === true))
    return `Tensor ${source.key} has the shape [${source.shape.join(', ')}], and after config.json it would be [${wanted.join(', ')}].`;
  for (const [index, stackedAt] of positionsOf(rule, block.counts).entries()) {
    for (const [part, role] of rule.roles.entries()) {
      const id = idOf({ role, ...numbered({ layer, expert, ...stackedAt }) });
      const isTiedHead = role === 'head' && model.isTied;
      if (!expected.has(id) && !isTiedHead)
        return `Tensor ${source.key} is beyond what config.json describes: a ${model.family} model with num_hidden_layers ${String(model.layers)}${model.experts === 0 ? '' : ` and ${String(model.experts)} experts`}.`;
      const other = parts.get(id);
      if (other !== undefined) return `Tensors ${other.source.key} and ${source.key} are the same part of the model.`;
      parts.set(id, { source, blockAt: index * volume, part, runs });
    }
  }
  return undefined;
}

function isShape(found: readonly number[], wanted: readonly number[], isPadded: boolean): boolean {
  return (
    found.length === wanted.length &&
    found.every((size, dim) => size === wanted[dim] || (isPadded && dim === 0 && size > (wanted[0] ?? 0)))
  );
}

/** The numbers of each block of a tensor, the last leading dim moving fastest. */
export function positionsOf(
  { stacked = [] }: NameRule,
  counts: readonly number[],
): readonly Readonly<Partial<Record<'layer' | 'expert', number>>>[] {
  let positions: readonly Readonly<Partial<Record<'layer' | 'expert', number>>>[] = [{}];
  for (const [dim, axis] of stacked.entries())
    positions = positions.flatMap((position) =>
      Array.from({ length: counts[dim] ?? 0 }, (_, index) => ({ ...position, [axis]: index })),
    );
  return positions;
}

function patternOf({ name }: NameRule): RegExp {
  const escaped = name.replace(/[.]/g, '\\.');
  return new RegExp(`^${escaped.replace(/\{(layer|expert)\}/g, String.raw`(?<$1>0|[1-9]\d{0,6})`)}$`);
}

function numbersOf(groups: Readonly<Record<string, string>>): Pick<ModelTensor, 'layer' | 'expert'> {
  return numbered({
    layer: groups['layer'] === undefined ? undefined : Number(groups['layer']),
    expert: groups['expert'] === undefined ? undefined : Number(groups['expert']),
  });
}

function numbered({
  layer,
  expert,
}: {
  readonly layer: number | undefined;
  readonly expert: number | undefined;
}): Pick<ModelTensor, 'layer' | 'expert'> {
  return { ...(layer === undefined ? {} : { layer }), ...(expert === undefined ? {} : { expert }) };
}

/** What a spelling calls a tensor of the model. */
export function nameIn(spelling: Spelling, model: ModelConfig, tensor: ModelTensor): string {
  const rule = spelling.rulesFor(model).find(({ roles, isFormer }) => roles.includes(tensor.role) && isFormer !== true);
  return rule === undefined ? `${tensor.role} of ${ROLES[tensor.role]}` : nameOf(rule, tensor);
}

/** A name with its numbers. */
export function nameOf({ name }: NameRule, { layer, expert }: Pick<ModelTensor, 'layer' | 'expert'>): string {
  return name.replace('{layer}', String(layer)).replace('{expert}', String(expert));
}
