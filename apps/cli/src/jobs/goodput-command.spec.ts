import {
  GOODPUT_CATEGORIES,
  type GoodputCategory,
  type JobGoodput,
  RESTART_PHASES,
  type RestartPhase,
} from '@coxswain/api-types';
import { aJob } from '@coxswain/api-types/testing';
import { runCommand } from '../testing/run-command.ts';

const JOBS = 'GET /v1/projects/research/jobs';

/** 1000 GPU-seconds, of which these shares went where it says. */
function aGoodput(shares: Partial<Record<GoodputCategory, number>>, overrides: Partial<JobGoodput> = {}): JobGoodput {
  const held = Object.keys(shares).length > 0;
  return {
    asOf: '2026-01-09T12:00:00.000Z',
    gpuSeconds: held ? 1000 : 0,
    goodput: held ? (shares.productive ?? 0) : null,
    shares: (Object.keys(GOODPUT_CATEGORIES) as GoodputCategory[]).map((category) => ({
      category,
      gpuSeconds: 1000 * (shares[category] ?? 0),
      share: shares[category] ?? 0,
    })),
    heldSeconds: held ? 250 : 0,
    waitingSeconds: 30,
    suspendedSeconds: 0,
    spans: [],
    attemptsLeftOut: 0,
    ...overrides,
  };
}

const PHASES = Object.keys(RESTART_PHASES) as readonly RestartPhase[];
const phasesOf = (...seconds: readonly (number | null)[]) =>
  PHASES.map((phase, index) => ({ phase, seconds: seconds[index] ?? null }));

async function shown(goodput: JobGoodput, argv = 'goodput tiny-gpt'): Promise<string> {
  const { code, out, err } = await runCommand(argv, {
    [JOBS]: { json: { items: [aJob()] } },
    [`${JOBS}/${aJob().id}`]: { json: aJob() },
    [`${JOBS}/${aJob().id}/goodput`]: { json: goodput },
  });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

describe('coxswain goodput', () => {
  it('says what share was productive, and what took the rest, most first', async () => {
    expect(await shown(aGoodput({ initialisation: 0.2, productive: 0.7, wastedProgress: 0.1 })))
      .toBe(`tiny-gpt: 70.0 % of 16 min 40 s of GPU time was productive.
  CATEGORY           SHARE  GPU TIME
  productive        70.0 %  11 min 40 s  #####################
  initialisation    20.0 %  3 min 20 s   ######
  wasted progress   10.0 %  1 min 40 s   ###
Wall time: GPUs held for 4 min 10 s, waited for 30.0 s.`);
  });

  it('says that a job which still waits has held none', async () => {
    expect(await shown(aGoodput({}))).toBe('tiny-gpt has held no GPUs yet.\nWall time: waited for 30.0 s.');
  });

  it('says how long ranks stood still for a save, and what passed from each failure to the next step', async () => {
    const recoveries = [
      {
        epoch: 2,
        incarnation: 1,
        failedAt: '2026-01-09T11:00:00.000Z',
        resumedFromStep: 80,
        lastStep: 97,
        phases: phasesOf(5, 0.5, 2, 0, 15, null, 9.5, 25, 3.5),
        total: 60.5,
      },
      {
        epoch: 2,
        incarnation: 2,
        failedAt: '2026-01-09T11:30:00.000Z',
        resumedFromStep: 0,
        lastStep: null,
        phases: phasesOf(null, 0, 1, 0, 1, null, null, null, null),
        total: null,
      },
    ];
    const recommendedSaves = {
      ...{ everySteps: 60, everySeconds: 1_200, secondsPerSave: 1.25, saves: 4 },
      ...{ secondsToFailure: 36_000, failures: 2 },
    };
    const saveStops = [{ epoch: 2, incarnation: 1, step: 90, seconds: 1.5 }];
    const restartPhases = [
      { phase: 'detecting' as const, restarts: 1, seconds: 5, gpuSeconds: 20 },
      { phase: 'importing' as const, restarts: 0, seconds: 0, gpuSeconds: 0 },
    ];
    const recovered = { recoveries, secondsPerSave: 1.25, recommendedSaves, saveStops, restartPhases };
    const out = await shown(aGoodput({ productive: 1 }, recovered));
    expect(out.split('\n').slice(-11)).toEqual([
      'On average, a save stopped the ranks for 1.3 s.',
      'Recommended: save every 60 steps (about 20 min 0 s): a save stops the ranks for 1.3 s (4 measured), and a failure is expected every 10 h 0 min (2 of its own, beside a published rate).',
      'The newest saves stopped the ranks for: step 90 1.5 s.',
      'From the last step before each failure to the next one:',
      '  RUN  LAST STEP  FROM STEP  DETECTING  DECIDING  REAPING  PLACING  STARTING  IMPORTING  MEETING  LOADING  STEPPING  TOTAL',
      '  2.1  97         80         5.0 s      500 ms    2.0 s    0 ms     15.0 s    ?          9.5 s    25.0 s   3.5 s     1 min 0 s',
      '  2.2  -          0          -          0 ms      1.0 s    0 ms     1.0 s     -          -        -        -         -',
      '?: not known; its time is in the next known phase.',
      'All restarts, by phase:',
      '  PHASE      RESTARTS  TIME   GPU TIME',
      '  detecting  1         5.0 s  20.0 s',
    ]);
  });

  it('says what is not counted', async () => {
    expect(await shown(aGoodput({ productive: 1 }, { attemptsLeftOut: 3 }))).toMatch(
      /The 3 oldest attempts are not counted\.$/,
    );
  });

  it('gives programs the whole of it', async () => {
    const goodput = aGoodput({ productive: 1 });
    expect(JSON.parse(await shown(goodput, '-o json goodput tiny-gpt'))).toEqual(goodput);
  });
});
