import { lookBeforeResume } from './checkpoint-look.ts';

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
      { kind: 'refused', why: 'no process could look at it: it ended with code 7 and no answer' },
    ],
  ])('%s', async (_what, script, patienceMs, want) => {
    expect(await lookBeforeResume(ASKED, { patienceMs, looker: ['/bin/sh', '-c', script] })).toEqual(want);
  });

  it('may take as long as it takes while it is answered now and then', async () => {
    const script = `for i in 1 2 3 4 5 6; do sleep 0.4; echo; done; echo '{"kind":"verified","value":{}}'`;
    const seen = await lookBeforeResume(ASKED, { patienceMs: 1_500, looker: ['/bin/sh', '-c', script] });
    expect(seen).toMatchObject({ kind: 'verified' });
  });

  it('that cannot be started says nothing of the checkpoint', async () => {
    const seen = await lookBeforeResume(ASKED, { patienceMs: 60_000, looker: ['/no/such/program'] });
    expect(seen).toEqual({ kind: 'refused', why: expect.stringContaining('ENOENT') as string });
  });
});
