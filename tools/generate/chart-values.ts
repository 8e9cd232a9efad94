import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isMap, isScalar, type Node, type Pair, parseDocument, type YAMLMap } from 'yaml';

const CHART = resolve(import.meta.dirname, '../../charts/coxswain');
const README = 'charts/coxswain/README.md';
const BEGIN = '<!-- values: `npm run generate` writes this part from values.yaml. -->';
const END = '<!-- end of values -->';

/** A value of the chart as its comment explains it. */
interface Value {
  /** Such as `api.replicas`. */
  readonly path: string;
  readonly initial: string;
  readonly meaning: string;
}

/** The README of the chart, with a table of its values for each part. */
export function generateChartReadme(): ReadonlyMap<string, string> {
  const readme = readFileSync(resolve(CHART, 'README.md'), 'utf8');
  const [before, after] = [readme.split(BEGIN)[0] ?? '', readme.split(END)[1]];
  if (after === undefined) throw new Error(`${README} has no "${BEGIN}" ... "${END}"`);
  const parts = partsOf(readFileSync(resolve(CHART, 'values.yaml'), 'utf8'));
  return new Map([[README, `${before}${BEGIN}\n\n${parts.join('\n\n')}\n\n${END}${after}`]]);
}

function partsOf(text: string): readonly string[] {
  const root = parseDocument(text).contents;
  if (!isMap(root)) throw new Error('values.yaml is no map');
  return root.items.map((pair, index) => {
    const name = keyOf(pair);
    const values = isBlockMap(pair.value) ? valuesOf(pair.value, name, text) : [valueOf(pair, name, text)];
    const heading = `### \`${name}\``;
    const words = index > 0 && isBlockMap(pair.value) ? wordsOf(commentOf(pair)) : '';
    const rows = values.map((one) => `| \`${one.path}\` | ${codeOf(one.initial)} | ${cellOf(one.meaning)} |`);
    return [
      heading,
      ...(words === '' ? [] : ['', words]),
      '',
      '| Value | Default | Meaning |',
      '| --- | --- | --- |',
      ...rows,
    ].join('\n');
  });
}

function valuesOf(map: YAMLMap, prefix: string, text: string): readonly Value[] {
  return map.items.flatMap((pair, index) => {
    const path = `${prefix}.${keyOf(pair)}`;
    if (!isBlockMap(pair.value)) return [valueOf(pair, path, text, index === 0 ? map.commentBefore : undefined)];
    // What is said before a group belongs to its first value.
    const [first, ...others] = valuesOf(pair.value, path, text);
    const before = wordsOf(commentOf(pair) ?? (index === 0 ? map.commentBefore : undefined));
    return first === undefined ? [] : [{ ...first, meaning: `${before} ${first.meaning}`.trim() }, ...others];
  });
}

function valueOf(pair: Pair, path: string, text: string, before?: string | null): Value {
  const { range } = pair.value as Node;
  return {
    path,
    initial: range ? text.slice(range[0], range[1]) : '',
    meaning: wordsOf(commentOf(pair) ?? before),
  };
}

function isBlockMap(value: unknown): value is YAMLMap {
  return isMap(value) && value.flow !== true && value.items.length > 0;
}

function keyOf({ key }: Pair): string {
  return isScalar(key) ? String(key.value) : '';
}

function commentOf({ key }: Pair): string | null | undefined {
  return isScalar(key) ? key.commentBefore : undefined;
}

/** The last paragraph of a comment, in one line: what stands above a blank line is about more than the value. */
function wordsOf(comment: string | null | undefined): string {
  const paragraph = (comment ?? '').split('\n\n').at(-1) ?? '';
  return paragraph
    .split('\n')
    .map((line) => line.trim())
    .join(' ')
    .trim();
}

function codeOf(initial: string): string {
  return `\`${initial.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')}\``;
}

/** Pages of the documentation as links. */
function cellOf(meaning: string): string {
  return meaning.replaceAll('|', '\\|').replaceAll(/\bdocs\/([a-z/-]+\.md)/g, '[$1](../../docs/$1)');
}
