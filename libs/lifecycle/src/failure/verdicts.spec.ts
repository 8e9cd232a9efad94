import { decide } from '../decide/decide.ts';
import type { Hearing } from '../observation/hearing.ts';
import { hearsFew } from '../observation/hearing.ts';
import type { Observed, Verdict } from '../observation/observed.ts';
import { anAttempt, aRunningJob, EARLIER, NOW } from '../testing/jobs.ts';

const HANG: Verdict = {
  epoch: 1,
  incarnation: 1,
  about: { kind: 'rank', rank: 3 },
  message: 'Others wait.',
  atStep: 100,
};
const SILENT: Verdict = { ...HANG, isSilence: true };
const FEW: Hearing = { launchers: 40, silent: 20, silentGangs: 9 };
const ATTEMPT = anAttempt({ runningAt: EARLIER });

function aGang(verdict: Verdict, observed: Partial<Observed> = {}): Observed {
  const about = { verdicts: [verdict], progress: { epoch: 1, step: 100 }, isProven: true, ...observed };
  return aRunningJob({ status: { attempts: [ATTEMPT] }, observed: about });
}

const ends = (observed: Observed): boolean => decide(observed, NOW).status.attempts?.at(-1)?.outcome === 'Failed';

describe('a verdict', () => {
  it.each<[string, Observed, boolean]>([
    ['ends the gang that stands where it stood', aGang(HANG), true],
    ['ends the gang of which one more step was under way', aGang(HANG, { progress: { epoch: 1, step: 101 } }), true],
    ['is dropped if the gang took two steps since', aGang(HANG, { progress: { epoch: 1, step: 102 } }), false],
    ['is dropped if the gang took 600 steps since', aGang(HANG, { progress: { epoch: 1, step: 700 } }), false],
    [
      'is not dropped for steps of another run',
      aGang(HANG, { progress: { epoch: 1, incarnation: 2, step: 700 } }),
      true,
    ],
    ['that is held ends nothing', aGang({ ...HANG, held: 'it cannot be read' }), false],
    [
      'on silence ends the gang while most launchers are heard',
      aGang(SILENT, { hearing: () => ({ ...FEW, silent: 1 }) }),
      true,
    ],
    ['on silence ends nothing while few launchers are heard', aGang(SILENT, { hearing: () => FEW }), false],
    [
      'on silence ends the gang if the API server confirms it, however few are heard',
      aGang(SILENT, { hearing: () => FEW, nodeStates: new Map([['node-b', 'notReady']]) }),
      true,
    ],
    ['on reports ends the gang while few launchers are heard', aGang(HANG, { hearing: () => FEW }), true],
  ])('%s', (_what, observed, isEnded) => {
    expect(ends(observed)).toBe(isEnded);
  });

  it('that blames nobody avoids no node, and its incident does not say that one is avoided', () => {
    const { status } = decide(aGang({ ...HANG, about: { kind: 'gang' }, blamesNobody: true }), NOW);
    expect(status.attempts?.at(-1)).toMatchObject({ outcome: 'Failed', reason: 'Condemned', charged: false });
    expect([status.avoidedNodes ?? [], status.incidents?.at(-1)?.action]).toEqual([[], 'RestartedInNewPods']);
  });

  it('is read again right before the end, with the state of the cluster', () => {
    const { actions } = decide(aGang(HANG, { isProven: false, isEvidenceProven: false }), NOW);
    expect(actions).toMatchObject([{ kind: 'readLive', evidence: true }]);
  });

  it('is read again if the cluster was read before the verdict came', () => {
    const { actions } = decide(aGang(HANG, { isProven: true, isEvidenceProven: false }), NOW);
    expect(actions).toMatchObject([{ kind: 'readLive', evidence: true }]);
  });
});

describe('silence of launchers', () => {
  it.each<[string, Hearing, boolean]>([
    ['of one of a hundred is about that launcher', { launchers: 100, silent: 1, silentGangs: 1 }, false],
    ['of all launchers of two gangs may be about them', { launchers: 4, silent: 4, silentGangs: 2 }, false],
    ['of a fifth of all, over three gangs, is about the operator', { launchers: 30, silent: 6, silentGangs: 3 }, true],
    ['of less than a fifth is about those launchers', { launchers: 100, silent: 19, silentGangs: 19 }, false],
  ])('%s', (_what, hearing, isInDoubt) => {
    expect(hearsFew(hearing)).toBe(isInDoubt);
  });
});
