import type { Placement } from '@coxswain/api-types';
import { decide } from './decide.ts';
import { aPlacement, observe } from '../testing/index.ts';
import { aJob, anAttempt, aRunningJob, aStatus, NOW } from '../testing/jobs.ts';

const forged = (name: string, epoch = 2): Placement => {
  const placement = aPlacement(aJob(), { epoch });
  return { ...placement, metadata: { ...placement.metadata, name } };
};

describe('placements that status does not record', () => {
  const running = aRunningJob({});
  const seen = (...unrecordedPlacements: Placement[]) => ({
    ...running,
    placements: [...running.placements, ...unrecordedPlacements],
  });
  it.each<[string, Parameters<typeof decide>[0], RegExp | undefined]>([
    ['are not spoken of where there are none', seen(), undefined],
    ['are told by name', seen(forged('x')), /^Placement x names this job.* Delete it unless you created it/],
    [
      'are told by three names and a number',
      seen(...['d', 'a', 'c', 'b'].map((name) => forged(name))),
      /^Placements a, b, c and 1 more name this job/,
    ],
    [
      'are not spoken of when they are left over from an attempt that status tells of no more',
      observe({
        job: aJob({ status: aStatus({ attempts: [anAttempt({ epoch: 7 })] }) }),
        placements: [forged('x', 6)],
      }),
      undefined,
    ],
  ])('%s', (_sentence, observed, want) => {
    const { unrecordedPlacements } = decide(observed, NOW);
    if (want === undefined) expect(unrecordedPlacements).toBeUndefined();
    else expect(unrecordedPlacements).toMatch(want);
  });
});
