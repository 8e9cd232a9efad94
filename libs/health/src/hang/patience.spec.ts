import { HEALTH_SETTINGS } from '../settings.ts';
import { patienceOf } from './patience.ts';

const STEP_MS = 40_000;

/** Of a job whose steps take 40 s. */
function patience(): ReturnType<typeof patienceOf> {
  const learning = patienceOf(HEALTH_SETTINGS);
  for (let step = 1; step <= 20; step += 1) learning.learnStep(step, STEP_MS);
  return learning;
}

describe('a wait is named', () => {
  it('after fifteen seconds, where steps are short and nothing is known of its operation', () => {
    expect(patienceOf(HEALTH_SETTINGS).nameAfterMs('tensor all_reduce')).toBe(15_000);
  });

  it('after the longest step, where nothing is known of its operation: a host may call it as a step begins', () => {
    expect(patience().nameAfterMs('tensor all_reduce')).toBe(STEP_MS);
  });

  it('after three times what the operation takes, where that is known', () => {
    const learning = patience();
    for (let time = 0; time < 100; time += 1) learning.learnOperation('tensor all_reduce', 6_000);
    expect(learning.nameAfterMs('tensor all_reduce')).toBe(18_000);
    expect(learning.nameAfterMs('data all_reduce')).toBe(STEP_MS);
  });
});

describe('a phase may take', () => {
  it('a quarter of an hour where a rank saves for the first time, though others were through at once', () => {
    const learning = patience();
    learning.learnPhase(3, 'saving', 0);
    expect([learning.phaseMs(0, 'saving'), learning.phaseMs(3, 'saving')]).toEqual([900_000, 60_000]);
  });

  it('half an hour where a rank compiles, whatever it or others took before', () => {
    const learning = patience();
    learning.learnPhase(1, 'compiling', 3_000);
    expect(learning.phaseMs(1, 'compiling')).toBe(1_800_000);
  });
});
