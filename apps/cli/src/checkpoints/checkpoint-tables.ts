import {
  bytesOfDtype,
  holdsOptimizer,
  type Level,
  type SaveLook,
  type SavedTensor,
  type Verdict,
  volumeOf,
} from '@coxswain/checkpoint';
import { formatBytes, formatCount } from '@coxswain/units';
import { columns } from '../output/output.ts';

/** More rows than a reader takes in; `--output json` has all. */
const MAX_ROWS = 20;

/** A look at a save, and how many bytes it read. */
export type ReadSave = SaveLook & { readonly readBytes: number };

/** What a save holds: its format, its tensors by the first part of their names, the rest by name. `level`: how closely it was looked at. */
export function saveTable(look: ReadSave, level: Level): string {
  return [facts(look, level), tensorTable(look), objectLines(look), findingLines(look)]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** Format, sums and verdict. */
function facts({ format, state, verdict, readBytes }: ReadSave, level: Level): string {
  const tensors = state?.tensors ?? [];
  const rows = [
    ['Format', format ?? 'unknown'],
    ['Verdict', `${verdict}, as far as ${level} sees`],
    [
      'Tensors',
      `${formatCount(tensors.length, 'tensor')}, ${formatBytes(tensors.reduce((sum, tensor) => sum + bytesOf(tensor), 0))}`,
    ],
    ['Chunks', String(tensors.reduce((sum, { chunks }) => sum + chunks.length, 0))],
    ...saidOfItself(state),
    ['Bytes read', formatBytes(readBytes)],
  ];
  return columns(state === undefined ? rows.slice(0, 2) : rows);
}

/** What the save says of itself, as far as its format tells: its step, who saved it, and how. */
function saidOfItself(state: SaveLook['state']): readonly (readonly string[])[] {
  if (state === undefined) return [];
  const { step, engineRelease, worldSize, degrees = {}, optimizerSharding } = state.facts ?? {};
  const optimizer = holdsOptimizer(state);
  const layout = Object.entries(degrees).map(([name, degree]) => `${name} ${String(degree)}`);
  return [
    ['Holds', optimizer === undefined ? undefined : optimizer ? 'weights and optimizer' : 'weights only'],
    ['Step', step === undefined ? undefined : String(step)],
    ['Saved by', engineRelease],
    ['Ranks', worldSize === undefined ? undefined : String(worldSize)],
    ['Degrees', layout.length === 0 ? undefined : layout.join(', ')],
    ['Optimizer', optimizerSharding],
  ].flatMap(([name = '', text]) => (text === undefined ? [] : [[name, inOneLine(text)]]));
}

/** One row for each first part of the names, such as `model` and `optimizer`. */
function tensorTable({ state }: SaveLook): string {
  const groups = Map.groupBy(state?.tensors ?? [], ({ key }) => key.split('.', 1)[0] ?? key);
  if (groups.size === 0) return '';
  const rows = [...groups]
    .slice(0, MAX_ROWS)
    .map(([name, tensors]) => [
      shownName(name),
      String(tensors.length),
      formatBytes(tensors.reduce((sum, tensor) => sum + bytesOf(tensor), 0)),
      [...new Set(tensors.map(({ dtype }) => dtype))].join(', '),
    ]);
  return withMore(columns([['NAME', 'TENSORS', 'SIZE', 'DTYPES'], ...rows]), groups.size);
}

function objectLines({ state }: SaveLook): string {
  const keys = (state?.objects ?? []).map(({ key }) => key).toSorted();
  return keys.length === 0
    ? ''
    : withMore(`Beside tensors: ${keys.slice(0, MAX_ROWS).map(shownName).join(', ')}`, keys.length);
}

/** A verdict in words, such as `Sound as far as V3 sees`. */
export function verdictWords(verdict: Verdict, level: Level): string {
  return {
    sound: `Sound as far as ${level} sees`,
    damaged: 'Damaged',
    incomplete: 'Incomplete',
    suspect: 'Suspect',
    unverifiable: 'Its content cannot be verified',
  }[verdict];
}

/** One line a finding. */
export function findingLines({ findings }: SaveLook): string {
  return withMore(
    findings
      .slice(0, MAX_ROWS)
      .map(({ level, kind, sentence }) => `${level}  ${kind}: ${inOneLine(sentence)}`)
      .join('\n'),
    findings.length,
  );
}

/** In quotes if it would not be seen, or would break the line. */
function shownName(name: string): string {
  return name.trim() === '' ? JSON.stringify(name) : inOneLine(name);
}

/** A save names its tensors: a line break in a name must not begin a line that looks like a finding. */
function inOneLine(text: string): string {
  return text.replace(/[\n\r\v\f]/g, (each) => JSON.stringify(each).slice(1, -1));
}

function withMore(text: string, count: number): string {
  return count > MAX_ROWS ? `${text}\n… and ${String(count - MAX_ROWS)} more; see --output json` : text;
}

function bytesOf({ dtype, shape }: SavedTensor): number {
  return volumeOf(shape) * (bytesOfDtype(dtype) ?? 0);
}
