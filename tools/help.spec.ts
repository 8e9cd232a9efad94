import { readFileSync } from 'node:fs';
import { join } from 'node:path';
// @ts-expect-error -- plain JavaScript, so that any Node runs it
import { SCRIPTS, describeScripts } from './help.mjs';

const manifest = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const groups = SCRIPTS as Readonly<Record<string, Readonly<Record<string, string>>>>;
const described = Object.values(groups).flatMap((scripts) => Object.keys(scripts));

describe('npm run help', () => {
  it('describes every script of package.json, each once', () => {
    expect([...described].sort()).toEqual(Object.keys(manifest.scripts).sort());
  });

  it('names each with what it does, a line each', () => {
    const lines = (describeScripts() as string).split('\n');
    for (const name of described) {
      expect(lines.filter((line) => line.startsWith(`  npm run ${name} `))).toEqual([
        expect.stringMatching(/ {2}\S.*/),
      ]);
    }
  });
});
