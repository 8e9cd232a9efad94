import { QUEUE_RULES } from '../rules/rule-names.ts';
import { aQueueJob, FOUR_NODES, runToEnd, startsOf } from '../testing/queue-jobs.ts';
import { CLAIM_VIOLATIONS, ClaimAuditor } from './claim-auditor.ts';

const low = aQueueJob({ uid: 'low', pods: 2, submit: 0, run: 9, priority: -1 });
const urgent = aQueueJob({ uid: 'urgent', pods: 2, submit: 2.2, run: 1 });
const CLAIM = { jobUid: 'urgent', nodes: [0, 1], victims: ['low'], expiresMs: 1_000 };

describe('the auditor of jobs that make room finds', () => {
  it.each<[string, (auditor: ClaimAuditor) => void, readonly string[]]>([
    [
      'nothing if nothing is wrong',
      (auditor) => {
        auditor.claimed(CLAIM);
        auditor.stopped(low, 'urgent');
        auditor.left(low, 5, 5);
        auditor.started({ job: urgent, nodes: [0, 1] }, 1_000);
      },
      [],
    ],
    ['a stop without a record', (auditor) => auditor.stopped(low, 'urgent'), ['stoppedWithoutClaim']],
    [
      'a stop that the record does not name',
      (auditor) => {
        auditor.claimed({ ...CLAIM, victims: ['other'] });
        auditor.stopped(low, 'urgent');
        auditor.claimEnded('urgent', 0);
      },
      ['stoppedWithoutClaim'],
    ],
    [
      'a third job on a node of the record',
      (auditor) => {
        auditor.claimed(CLAIM);
        auditor.started({ job: { ...urgent, uid: 'third' }, nodes: [1] }, 0);
        auditor.claimEnded('urgent', 0);
      },
      ['claimedNodeToThird'],
    ],
    [
      'a record that ends too late',
      (auditor) => {
        auditor.claimed(CLAIM);
        auditor.claimEnded('urgent', 1_001);
      },
      ['claimNeverEnded'],
    ],
    ['a record that never ends', (auditor) => auditor.claimed(CLAIM), ['claimNeverEnded']],
    [
      'two jobs that make room for each other',
      (auditor) => {
        auditor.claimed(CLAIM);
        auditor.stopped(low, 'urgent');
        auditor.claimed({ ...CLAIM, jobUid: 'low', victims: ['urgent'] });
        auditor.stopped(urgent, 'low');
        for (const uid of ['low', 'urgent']) auditor.claimEnded(uid, 0);
      },
      ['madeRoomInCircle'],
    ],
    ['a loss of more than the time between two saves', (auditor) => auditor.left(low, 6, 5), ['lostTooMuch']],
  ])('%s', (_sentence, act, want) => {
    const found: string[] = [];
    const auditor = new ClaimAuditor((kind) => found.push(kind));
    act(auditor);
    auditor.finish();
    expect(found).toEqual(want);
  });
});

describe('in a run with the scheduler of the operator', () => {
  const beside = aQueueJob({ uid: 'beside', pods: 2, submit: 0, run: 9 });
  const run = (about: object, makesRoom = true): ReturnType<typeof runToEnd> =>
    runToEnd(QUEUE_RULES.coxswain.make(FOUR_NODES, { makesRoom }), [beside, { ...low, ...about }, urgent]);

  it.each<[string, ReturnType<typeof run>, number, number]>([
    ['a job of lower priority leaves its nodes, and ends as much later', run({}), 2.2 + 1 / 60, 10 + 4 / 60],
    [
      'one that cannot save when asked loses its time since the last save',
      run({ savesWhenAsked: false }),
      2.2 + 1 / 60,
      10.2 + 4 / 60,
    ],
    ['no job does if that is turned off', run({}, false), 9, 9],
  ])('%s', (_sentence, { outcomes, audit }, start, end) => {
    const hours = outcomes.find(({ job }) => job.uid === 'low')?.endMs ?? 0;
    expect([startsOf({ outcomes } as never)['urgent'], hours / 3_600_000]).toEqual([
      expect.closeTo(start, 2),
      expect.closeTo(end, 2),
    ]);
    for (const kind of CLAIM_VIOLATIONS) expect(audit.counts[kind]).toBe(0);
  });
});
