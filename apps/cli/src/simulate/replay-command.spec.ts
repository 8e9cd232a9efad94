import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runOffline } from '../testing/run-offline.ts';

const EXAMPLE = join(import.meta.dirname, '../../../../examples/histories/sacct.txt');
const replay = (...argv: readonly string[]) => runOffline({}, 'simulate', 'queue', ...argv);
const fileOf = (text: string): string => {
  const file = join(mkdtempSync(join(tmpdir(), 'replay-')), 'history');
  writeFileSync(file, text);
  return file;
};

describe('coxswain simulate queue', () => {
  it('prints the waits as they were and under each rule', async () => {
    const { out, code } = await replay(EXAMPLE, '--rules', 'first-fit,fifo,easy-exact');
    expect(code).toBe(0);
    expect(out).toContain('4 jobs in 0.5 days on 4 nodes of 8 GPUs, as many as the history used at once');
    expect(out).toContain('Left out: 1 job that never started.');
    expect(out).toMatch(
      /as it was +54\.2 % +2\.75[\s\S]*\nfirst-fit +54\.2 % +2\.75[\s\S]*\neasy-exact +50\.0 % +1\.50/,
    );
  });

  it('prints the same as JSON, on the nodes that are given', async () => {
    const { out } = await replay(EXAMPLE, '--nodes', '8', '--rules', 'coxswain', '--json');
    const { rules, nodes } = JSON.parse(out) as {
      nodes: number;
      rules: { rule: string; all: { longestHours: number } }[];
    };
    expect([nodes, rules.map(({ rule, all }) => [rule, all.longestHours])]).toEqual([8, [['coxswain', 0]]]);
  });

  it.each<[string, readonly string[], string]>([
    ['a file that is not there', ['/nowhere/sacct.txt'], 'Cannot read /nowhere/sacct.txt'],
    ['a file of something else', [fileOf('hello')], 'line 1: there is no column JobID'],
    ['half a document', [fileOf('{')], 'is not JSON'],
    ['a file without jobs', [fileOf('[]')], 'no job ran on GPUs'],
    ['too few nodes', [EXAMPLE, '--nodes', '3'], '--nodes 3 is too few: job 2 ran on 4 nodes.'],
    ['a rule that does not exist', [EXAMPLE, '--rules', 'lottery'], '"lottery" is not a rule. The rules are coxswain'],
  ])('rejects %s', async (_what, argv, message) => {
    const { err, code } = await replay(...argv);
    expect([code, err.includes(message) ? message : err]).toEqual([1, message]);
  });
});
