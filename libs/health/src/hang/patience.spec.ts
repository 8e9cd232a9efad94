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
