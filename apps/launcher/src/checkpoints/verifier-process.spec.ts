import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { verifyResumedInProcess } from './verifier-process.ts';

const ASKED = {
  checkpoint: { directory: '/c/step-10', manifestSha256: 'a'.repeat(64) },
  ranks: { ranks: [0], worldSize: 1 },
};
const SILENT = {
  kind: 'refused',
  why: '/c/step-10 cannot be read (no answer within 0.5 s): its mount does not work',
  fault: { kind: 'MountBroken', path: '/c/step-10', found: 'no answer within 0.5 s' },
};

describe('a process that looks at a checkpoint', () => {
  it.each<[string, string, number, unknown]>([
    [
      'that answers is believed',
      `echo; echo '{"kind":"verified","value":{}}'`,
      60_000,
      { kind: 'verified', value: {} },
    ],
    [
      'that answers, and then hangs in a call of its own, is believed',
      `echo '{"kind":"refused","why":"x"}'; exec sleep 600`,
      60_000,
      { kind: 'refused', why: 'x' },
    ],
    ['that says nothing is a mount that does not work', 'exec sleep 600', 500, SILENT],
    ['that says nothing any more is a mount that does not work', 'echo; exec sleep 600', 500, SILENT],
    [
      'that ends without an answer says nothing of the checkpoint',
      'echo; exit 7',
      60_000,
      { kind: 'notVerified', why: 'no process could verify it: it ended with code 7 and no answer' },
    ],
    [
      'that is killed, as for want of memory, says nothing of it either',
      'echo; kill -9 $$',
      60_000,
      { kind: 'notVerified', why: 'no process could verify it: it ended with SIGKILL and no answer' },
    ],
  ])('%s', async (_what, script, patienceMs, want) => {
    const options = { patienceMs, verifier: ['/bin/sh', '-c', script], pauseMs: 0 } as const;
    expect(await verifyResumedInProcess(ASKED, options)).toEqual(want);
  });

  it.each<[string, string, string, unknown]>([
    ['is killed, as for want of memory', '2', '...', { kind: 'verified', value: {} }],
    ['is killed every time', '9', '...', { kind: 'notVerified', why: expect.stringContaining('SIGKILL') as string }],
  ])('that %s is followed by another one, three in all', async (_what, fails, tries, want) => {
    const directory = mkdtempSync(join(tmpdir(), 'coxswain-look-'));
    const file = join(directory, 'tries');
    const script = `printf . >> ${file}; [ $(wc -c < ${file}) -gt ${fails} ] || kill -9 $$; echo '{"kind":"verified","value":{}}'`;
    const options = { patienceMs: 60_000, verifier: ['/bin/sh', '-c', script], pauseMs: 0 } as const;
    expect(await verifyResumedInProcess(ASKED, options)).toEqual(want);
    expect(readFileSync(file, 'utf8')).toBe(tries);
    rmSync(directory, { recursive: true });
  });

  it('that cannot be started says nothing of the checkpoint', async () => {
    const options = { patienceMs: 60_000, verifier: ['/no/such/program'], pauseMs: 0 } as const;
    expect(await verifyResumedInProcess(ASKED, options)).toEqual({
      kind: 'notVerified',
      why: expect.stringContaining('ENOENT') as string,
    });
  });
});
