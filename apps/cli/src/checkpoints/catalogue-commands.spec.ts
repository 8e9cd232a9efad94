import type { CheckpointDetail } from '@coxswain/api-types';
import { aCheckpointRecord, aVerification } from '@coxswain/api-types/testing';
import { runCommand, type Routes } from '../testing/run-command.ts';

const LIST = 'GET /v1/projects/research/checkpoints';
const RECORD = aCheckpointRecord({ name: 'tiny-s20' });
const PATH = `/v1/projects/research/checkpoints/${RECORD.uid}`;
const NAMED: Routes = { [`${LIST}?name=tiny-s20&deleted=true`]: { json: { items: [RECORD] } } };
const ASKED_AT = '2026-01-10T00:00:00.000Z';

const aDetail = (changes: Partial<CheckpointDetail> = {}): CheckpointDetail => ({
  ...RECORD,
  verifications: [],
  tensorGroups: null,
  usedBy: null,
  loads: null,
  ...changes,
});
const GROUP = {
  name: 'layers.{0..79}.wq',
  tensors: 80,
  dtype: 'float32',
  shape: [8, 4],
  grid: [2, 1],
  kind: 'parameter' as const,
};
const byWorker = (changes: Partial<CheckpointDetail['verifications'][number]> = {}) =>
  aVerification({ level: 'V3', by: 'Worker', node: 'gpu-a', at: '2026-01-10T00:01:00Z', ...changes });

describe('coxswain checkpoint list', () => {
  it('lists those of the project, with the filters that are given', async () => {
    const pinned = aCheckpointRecord({ name: 'tiny-s40', step: 40, pin: 'baseline', verification: byWorker() });
    const { code, out } = await runCommand('checkpoint list tiny-gpt --good --limit 1', {
      [`${LIST}?good=true&job=tiny-gpt&pageSize=1`]: { json: { items: [pinned] } },
    });
    expect([code, out]).toEqual([
      0,
      `SAVED (UTC)          JOB       STEP  STATE     SIZE     VERIFIED    HOLDS      NAME
2026-01-01 00:00:00  tiny-gpt  40    Complete  1.5 MiB  sound (V3)  -, pinned  tiny-s40`,
    ]);
  });
});

describe('the retention of checkpoints', () => {
  const because = 'It is pinned: baseline.';
  const kept = aCheckpointRecord({ name: 'tiny-s20', retention: { keeps: true, because } });
  const going = aCheckpointRecord({
    name: 'tiny-s10',
    step: 10,
    state: 'Damaged',
    isBeingDeleted: true,
    retention: { keeps: false, because: 'The newest 1 verified saves stay.', problem: 'its pod failed' },
  });

  it('is a column of lists, where a policy decided', async () => {
    const items = [kept, going, aCheckpointRecord({ name: 'lost', isAbsent: true })];
    const { out } = await runCommand('checkpoint list', { [LIST]: { json: { items } } });
    expect(out.split('\n').map((line) => line.trimEnd())).toEqual([
      expect.stringMatching(/ NAME +KEPT$/),
      expect.stringMatching(/ Complete .* tiny-s20 +yes: It is pinned: baseline\.$/),
      expect.stringMatching(
        / Deleting .* no: The newest 1 verified saves stay\. It is not deleted yet: its pod failed$/,
      ),
      expect.stringMatching(/ Absent .* lost +-$/),
    ]);
  });

  it('has the loss of each save that reported one', async () => {
    const { out } = await runCommand('checkpoint list', {
      [LIST]: { json: { items: [{ ...RECORD, progress: { loss: 2.3123456, lossStep: 20 } }, kept] } },
    });
    expect(out.split('\n')).toEqual([
      expect.stringMatching(/ NAME +LOSS +KEPT$/),
      expect.stringMatching(/ tiny-s20 +2\.3123 +-$/),
      expect.stringMatching(/ - +yes: It is pinned: baseline\.$/),
    ]);
  });

  it('is shown for one', async () => {
    const { out } = await runCommand('checkpoint get tiny-s20', { ...NAMED, [`GET ${PATH}`]: { json: aDetail(kept) } });
    expect(out).toMatch(/\nKept +yes: It is pinned: baseline\.\n/);
  });
});

describe('coxswain checkpoint list of many', () => {
  const page = (name: string, nextPageToken?: string) => ({
    json: { items: [aCheckpointRecord({ name })], ...(nextPageToken === undefined ? {} : { nextPageToken }) },
  });
  it.each([
    ['to the limit, and says that more exist', 2, page('tiny-s40', 'c'), /^More Checkpoints exist\./],
    ['to the end', 9, page('tiny-s40'), /^$/],
  ])('follows the pages %s', async (_what, limit, last, err) => {
    const found = await runCommand(`checkpoint list --limit ${limit}`, {
      [`${LIST}?pageSize=${limit}`]: page('tiny-s20', 'b'),
      [`${LIST}?pageSize=${limit - 1}&pageToken=b`]: last,
    });
    expect([found.code, found.out]).toEqual([0, expect.stringMatching(/tiny-s20\n.*tiny-s40$/)]);
    expect(found.err).toMatch(err);
  });
});

describe('coxswain checkpoint get', () => {
  it('shows one by name with each verification', async () => {
    const finding = { kind: 'damaged' as const, message: 'File a is cut off.' };
    const verifications = [byWorker({ verdict: 'damaged', findings: [finding] }), aVerification()];
    const { code, out } = await runCommand('checkpoint get tiny-s20', {
      ...NAMED,
      [`GET ${PATH}`]: { json: aDetail({ verifications, tensorGroups: [GROUP] }) },
    });
    expect(code).toBe(0);
    expect(out).toMatch(/\nlayers\.\{0\.\.79\}\.wq +80 +float32 +8x4 +2x1 +parameter$/);
    expect(out).toMatch(/^Name +tiny-s20\nUID +3f1c2b9e/);
    expect(out).toMatch(
      /\n2026-01-10 00:01:00 +V3 +damaged +worker +gpu-a +File a is cut off\.\n.* V1 +sound +launcher/,
    );
  });

  it('names the attempts that began from it, and counts the others', async () => {
    const attempts = [{ jobId: RECORD.uid, jobName: 'tune', epoch: 3, startedAt: ASKED_AT }];
    const usedBy = { total: 22, attempts };
    const { out } = await runCommand('checkpoint get tiny-s20', {
      ...NAMED,
      [`GET ${PATH}`]: { json: aDetail({ usedBy }) },
    });
    expect(out).toMatch(/\nUsed by +tune attempt 3, 21 more\n/);
  });

  it('shows the loss and the tokens of its step', async () => {
    const progress = { loss: 2.5, lossStep: 10, tokens: 1_048_576 };
    const { out } = await runCommand('checkpoint get tiny-s20', {
      ...NAMED,
      [`GET ${PATH}`]: { json: aDetail({ progress }) },
    });
    expect(out).toMatch(/\nLoss +2\.5 \(of step 10\)\nTokens +1,048,576\n/);
  });

  it('shows how long ranks trained while it was being written', async () => {
    const progress = { stepsDuringWrite: 3, msDuringWrite: 9_000 };
    const { out } = await runCommand('checkpoint get tiny-s20', {
      ...NAMED,
      [`GET ${PATH}`]: { json: aDetail({ progress }) },
    });
    expect(out).toMatch(/\nWritten +in the background: ranks trained 3 steps meanwhile, in 9\.0 s or more\n/);
  });

  it('says whether its job loads it at the layout that it has now', async () => {
    const loads = {
      verdict: 'cannot' as const,
      message: 'It was saved as torch_dist: resume at its layout.',
      warnings: ['Its random states are lost.'],
      isRefused: true,
    };
    const { out } = await runCommand('checkpoint get tiny-s20', {
      ...NAMED,
      [`GET ${PATH}`]: { json: aDetail({ loads }) },
    });
    expect(out).toMatch(
      /\nLoads now +cannot\. It was saved as torch_dist: resume at its layout\. Its random states are lost\.\n/,
    );
  });

  it.each([
    ['an unknown name', [], /No Checkpoint named "tiny-s20" in project research, and no directory/],
    [
      'a name in two namespaces',
      [RECORD, { ...RECORD, uid: 'other' }],
      /has 2 Checkpoints named "tiny-s20"\. Give one of/,
    ],
  ])('refuses %s', async (_what, items, words) => {
    const { code, err } = await runCommand('checkpoint get tiny-s20', { [LIST]: { json: { items } } });
    expect([code, err]).toEqual([1, expect.stringMatching(words)]);
  });
});

describe('coxswain checkpoint pin and unpin', () => {
  it('send the reason, and remove it', async () => {
    const pin = await runCommand('checkpoint pin tiny-s20 --reason baseline', {
      ...NAMED,
      [`PUT ${PATH}/pin`]: { json: { ...RECORD, pin: 'baseline' } },
    });
    expect([pin.code, pin.out, pin.requests.at(-1)?.body]).toEqual([
      0,
      'Pinned tiny-s20: baseline',
      { reason: 'baseline' },
    ]);
    const unpin = await runCommand('checkpoint unpin tiny-s20', { ...NAMED, [`DELETE ${PATH}/pin`]: { json: RECORD } });
    expect([unpin.code, unpin.out]).toEqual([0, 'Unpinned tiny-s20']);
  });
});

describe('coxswain checkpoint forget', () => {
  const routes: Routes = { ...NAMED, [`DELETE ${PATH}`]: { text: '', status: 204 } };
  const sent = ({ requests }: Awaited<ReturnType<typeof runCommand>>): readonly string[] =>
    requests.map(({ method }) => method).filter((method) => method !== 'GET');

  it('deletes the object, and says where the files stay', async () => {
    const outcome = await runCommand('checkpoint forget tiny-s20 --yes', routes);
    expect([outcome.code, outcome.out, sent(outcome)]).toEqual([
      0,
      `Forgot tiny-s20. Its files stay in ${RECORD.location}.`,
      ['DELETE'],
    ]);
  });

  it('does nothing without --yes', async () => {
    const outcome = await runCommand('checkpoint forget tiny-s20', routes);
    expect([outcome.code, outcome.err, sent(outcome)]).toEqual([
      1,
      expect.stringMatching(/^Nothing was done\. Checkpoint tiny-s20 would be deleted, .* add --yes\.$/),
      [],
    ]);
  });
});

describe('coxswain checkpoint verify of a Checkpoint', () => {
  const verify = (argv: string, details: readonly CheckpointDetail[]) =>
    runCommand(`checkpoint verify tiny-s20 ${argv}`, {
      ...NAMED,
      [`POST ${PATH}/verify`]: { status: 202, json: { level: 'V3', requestedAt: ASKED_AT, checkpoint: RECORD } },
      [`GET ${PATH}`]: details.map((json) => ({ json })),
    });

  it('asks for it and returns', async () => {
    const { code, out, requests } = await verify('--level V2', []);
    expect([code, out]).toEqual([0, expect.stringMatching(/^A pod in the cluster verifies tiny-s20 at V3\./)]);
    expect(requests.at(-1)?.body).toEqual({ level: 'V2' });
  });

  it('waits for a verdict that is new and close enough, and says meanwhile why the pod cannot start', async () => {
    const message = 'It could not be verified: the cluster rejects its pod: exceeded quota';
    const old = [byWorker({ at: '2026-01-09T00:00:00Z' }), byWorker({ level: 'V2' })];
    const waiting = aDetail({ message, verifications: old });
    const { code, out, err } = await verify('--wait', [
      waiting,
      waiting,
      aDetail({ verifications: [byWorker(), ...old] }),
    ]);
    expect([code, out]).toEqual([0, 'Sound as far as V3 sees: 1 B read on node gpu-a.']);
    expect(err.split('\n').filter((line) => line.endsWith(message))).toHaveLength(1);
  });

  it.each([
    ['damaged', 1, /^Damaged: /],
    ['incomplete', 1, /^Incomplete: /],
    ['suspect', 1, /^Suspect: /],
    ['unverifiable', 0, /^Its content cannot be verified: /],
  ] as const)('ends with the verdict %s with exit code %i', async (verdict, want, words) => {
    const { code, out } = await verify('--wait', [aDetail({ verifications: [byWorker({ verdict })] })]);
    expect([code, out]).toEqual([want, expect.stringMatching(words)]);
  });

  it('gives up after a time with the last reason, and shows that it waits', async () => {
    const { code, err } = await verify('--wait --timeout 1', [aDetail({ message: 'claim c is mounted on gpu-b' })]);
    expect(code).toBe(1);
    expect(err).toMatch(/waiting for a verdict at V3 \(30\.0 s\)/);
    expect(err).toMatch(
      /no verdict after 1 minute\. The cluster says: claim c is mounted on gpu-b\. The request stays/,
    );
  });

  it('ends if the Checkpoint is deleted meanwhile', async () => {
    const { code, err } = await verify('--wait', [aDetail({ deletedAt: ASKED_AT })]);
    expect([code, err]).toEqual([1, expect.stringMatching(/was deleted before it was verified/)]);
  });
});
