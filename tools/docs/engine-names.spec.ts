import { ENGINE_NAMES } from '@coxswain/api-types';
import { engineList } from '@coxswain/engines';
import { ENGINE_CAPABILITIES, LAYOUT_ENGINES } from '@coxswain/layout';
import { assumedEngineOf, parsePlanRequest, plan } from '@coxswain/planner';
import { CALIBRATION } from '@coxswain/planner/calibration';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ENGINES: ReadonlySet<string> = new Set(LAYOUT_ENGINES);
/** Also what measurements were made with. */
const STACKS: ReadonlySet<string> = new Set([...LAYOUT_ENGINES, ...Object.keys(CALIBRATION.families)]);

/** Where a user reads or writes the name of an engine, and the names that are right there. */
const PLACES: readonly (readonly [RegExp, ReadonlySet<string>])[] = [
  [/--engine[ =]['"]?([A-Za-z_][\w-]*)/g, ENGINES],
  [/--stack[ =]['"]?([A-Za-z_][\w-]*)/g, STACKS],
  [/\bengine: \{ ?name: ['"]?([A-Za-z_][\w-]*)/g, ENGINES],
  [/\bengine:\n +name: ['"]?([A-Za-z_][\w-]*)/g, ENGINES],
];

/** Options of other programs, and placeholders. */
const NO_NAMES: ReadonlySet<string> = new Set(['NAME', 'name']);

function otherSpellings(text: string): readonly string[] {
  return PLACES.flatMap(([place, names]) =>
    [...text.matchAll(place)].flatMap(([, name = '']) => (names.has(name) || NO_NAMES.has(name) ? [] : [name])),
  );
}

describe('an engine has one name', () => {
  const files = globSync(
    [
      'README.md',
      'docs/{tasks,concepts,tutorials,reference}/**/*.md',
      'examples/**/*.{yaml,yml,json,md}',
      'apps/cli/src/**/*-command*.ts',
    ],
    { cwd: ROOT },
  ).filter((file) => !file.endsWith('.spec.ts'));

  it('in pages, examples and the help of commands', () => {
    expect(files.length).toBeGreaterThan(100);
    const found = files.flatMap((file) =>
      otherSpellings(readFileSync(`${ROOT}${file}`, 'utf8')).map((name) => `${file}: ${name}`),
    );
    expect(found).toEqual([]);
  });

  it.each(['--engine huggingface', '--stack Megatron_LM', 'engine: { name: titan }', 'engine:\n    name: megatron'])(
    'so that this is found: %j',
    (text) => {
      expect(otherSpellings(text)).toHaveLength(1);
    },
  );

  it('in `coxswain engines`, in layouts and in jobs', () => {
    expect(
      engineList()
        .items.map(({ name }) => name)
        .sort(),
    ).toEqual([...LAYOUT_ENGINES].sort());
    expect(Object.keys(ENGINE_CAPABILITIES).sort()).toEqual([...LAYOUT_ENGINES].sort());
    expect(ENGINE_NAMES.filter((name) => !ENGINES.has(name))).toEqual([]);
  });

  it.each(ENGINE_NAMES.filter((name) => !['command', 'custom', 'reference'].includes(name)))(
    'which the planner knows: %s',
    (stack) => {
      const request = parsePlanRequest({
        model: 'llama-3.1-8b',
        cluster: { gpu: 'h100', gpus: 8 },
        globalBatchSize: 16,
        sequenceLength: 4096,
        stack,
        pinned: { tensor: 1, context: 1, pipeline: 1, microBatchSize: 1 },
      });
      expect(assumedEngineOf(request)).toBeUndefined();
      expect(plan(request, { withAdvice: false }).assumptions.join(' ')).not.toContain('is unknown');
    },
  );
});
