/** Which layouts of published systems were trained, scaled down to a few CPU ranks: the record that `npm run campaign -- seed-systems` writes. */
import { ParallelLayout } from '@coxswain/layout';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';

/** Beside the examples that it is about. */
export const TRAINED_RECORD = resolve(import.meta.dirname, '../../examples/layouts/trained.json');

/** Degrees of a layout that are axes of a system. */
export const TRAINED_AXES = [
  'tensorParallelDegree',
  'contextParallelDegree',
  'pipelineParallelDegree',
  'dataParallelDegree',
  'expert.expertParallelDegree',
] as const;

/** One layout that was trained. */
export const TrainedRow = z.strictObject({
  /** Of examples/layouts. */
  file: z.string(),
  /** Of a file with several. */
  role: z.string().optional(),
  engine: z.string(),
  version: z.string(),
  /** What was rendered and trained. */
  layout: ParallelLayout,
  /** What trained the first half and saved, if `layout` loaded that save. */
  savedAt: ParallelLayout.optional(),
  /** The degrees that the system is about; each is above 1. */
  axes: z.array(z.enum(TRAINED_AXES)).min(1),
  ranks: z.int().min(2),
  steps: z.int().min(20),
  /** What the layout has otherwise than the example, beside degrees, and why. */
  changes: z.array(z.strictObject({ option: z.string(), to: z.unknown(), why: z.string() })),
  /** Of one rank: of the first and of the last step. */
  losses: z.tuple([z.number(), z.number()]),
  /** Largest difference of the loss of a step to that of one rank. */
  largestDifference: z.number().min(0),
  tolerance: z.number().positive(),
  /** Program and arguments of each rank. */
  command: z.array(z.string()).min(1),
  measured: z.iso.date(),
});
export type TrainedRow = z.infer<typeof TrainedRow>;

/** All rows, by file. Throws if the file is not a record. */
export function trainedRows(): readonly TrainedRow[] {
  return z.array(TrainedRow).parse(JSON.parse(readFileSync(TRAINED_RECORD, 'utf8')));
}

const SHORT: Readonly<Record<(typeof TRAINED_AXES)[number], string>> = {
  tensorParallelDegree: 'tp',
  contextParallelDegree: 'cp',
  pipelineParallelDegree: 'pp',
  dataParallelDegree: 'dp',
  'expert.expertParallelDegree': 'ep',
};

/** Value of a dotted option; undefined if the layout lacks it. */
export function optionOf(layout: object, option: string): unknown {
  return option
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined,
      layout,
    );
}

/** In words: how the layout of the file was trained; `no` if it was not. */
export function trainedToday(file: string, rows: readonly TrainedRow[]): string {
  const row = rows.find((one) => one.file === file);
  if (row === undefined) return 'no';
  const { role, engine, version, layout, savedAt, ranks, steps, largestDifference, tolerance, changes } = row;
  const saved = savedAt === undefined ? '' : `saved at ${degreesOf(savedAt)}, loaded at `;
  const without = changes.filter(({ to }) => to === null).map(({ option }) => option);
  const instead = changes.filter(({ to }) => to !== null).map(({ option, to }) => `${option} ${valueInWords(to)}`);
  return [
    `${role === undefined ? '' : `${role}: `}${engine} ${version}, ${saved}${degreesOf(layout)}: ${steps} steps on ${ranks} ranks, ${differenceInWords(largestDifference)} (allowed ${tolerance.toExponential(0)})`,
    ...(without.length === 0 ? [] : [`without ${without.join(', ')}`]),
    ...(instead.length === 0 ? [] : [`with ${instead.join(', ')}`]),
  ].join('; ');
}

function differenceInWords(difference: number): string {
  if (difference === 0) return 'the losses of one rank in all printed digits';
  return `losses within ${difference.toExponential(1)} of those of one rank`;
}

function degreesOf(layout: ParallelLayout): string {
  return TRAINED_AXES.map((axis) => [SHORT[axis], Number(optionOf(layout, axis) ?? 1)] as const)
    .filter(([, degree]) => degree > 1)
    .map(([name, degree]) => `${name}${degree}`)
    .join(' x ');
}

/** Stages are as many as the model has layers for. */
function valueInWords(value: unknown): string {
  if (Array.isArray(value)) return `of ${value.length} parts`;
  return typeof value === 'object' ? JSON.stringify(value).replaceAll('"', '') : String(value);
}
