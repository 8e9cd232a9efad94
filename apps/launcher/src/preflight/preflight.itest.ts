/** Eight pods as processes, with PyTorch and gloo; `npm run campaign -- preflight` plants each fault by itself, and looks at many clean runs. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findEnginePython } from '@coxswain/local-cluster';
import { FAULTS, tryGang } from './testing/gang.ts';

/** Only for what hangs, and a pod that reaches it reports `Partial`, not `Done`: eight pods that load PyTorch on two busy cores take half a minute. */
const LIMIT_MS = 300_000;
const gang = { python: findEnginePython(), podCount: 8, level: 'Full', timeoutMs: LIMIT_MS } as const;

describe('the preflight of a gang of eight', () => {
  it('names a short /dev/shm, a wrong clock, another PyTorch and a slow link, each where it is, and nobody else', async () => {
    const planted = { 1: 'shm', 3: 'clock', 4: 'torch', 6: 'link' } as const;
    const { judgement, reports } = await tryGang({ ...gang, planted });
    expect(reports.map(({ outcome, note }) => note ?? outcome)).toEqual(reports.map(() => 'Done'));
    const named = judgement.findings.map(({ check, podIndex }) => [podIndex, check]);
    expect(new Map(named as [number, string][])).toEqual(
      new Map(Object.entries(planted).map(([podIndex, fault]) => [Number(podIndex), FAULTS[fault]])),
    );
    expect(named).toHaveLength(4);
  });

  it('names nobody where nothing is planted', async () => {
    const { judgement, reports } = await tryGang(gang);
    expect(reports.every(({ outcome, pairs }) => outcome === 'Done' && pairs.length >= 3)).toBe(true);
    expect(judgement.findings).toEqual([]);
  });

  it('is a second long without PyTorch, and says so much as can be said', async () => {
    const { judgement, reports } = await tryGang({ ...gang, level: 'Quick', planted: { 5: 'clock' } });
    expect(judgement.findings.map(({ podIndex }) => podIndex)).toEqual([5]);
    for (const { facts, pairs, outcome } of reports) {
      expect(facts).toMatchObject({ python: expect.any(String), torch: expect.any(String), clock: expect.any(Object) });
      expect({ pairs, outcome }).toEqual({ pairs: [], outcome: 'Done' });
    }
  });

  it('sees what the script of a runtime sets, as ranks do', async () => {
    const home = mkdtempSync(join(tmpdir(), 'sourced-'));
    const script = join(home, 'set env.sh');
    writeFileSync(script, 'export PLANTED_FAULT=clock\n');
    const { judgement, reports } = await tryGang({ ...gang, level: 'Quick', scripts: { 2: script } });
    rmSync(home, { recursive: true });
    expect(reports.map(({ outcome, note }) => note ?? outcome)).toEqual(reports.map(() => 'Done'));
    expect(judgement.findings.map(({ podIndex }) => podIndex)).toEqual([2]);
  });

  it('is skipped with a note where the image has no Python', async () => {
    const { judgement, reports } = await tryGang({ ...gang, podCount: 2, python: '/nowhere/python3' });
    expect(reports.map(({ outcome }) => outcome)).toEqual(['Skipped', 'Skipped']);
    expect(judgement).toEqual({ findings: [], notes: [expect.stringMatching(/^2 pods: .*python3 cannot be started/)] });
  });
});
