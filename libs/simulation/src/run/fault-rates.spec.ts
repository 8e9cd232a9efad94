/** Draws of faults against what their preset declares: counts within a run, shares, and times. Each bound is four standard deviations. */
import { FAILURES, type FailurePreset } from '../presets/failures.ts';
import { type Response, RESPONSES } from '../presets/responses.ts';
import { FaultDraws } from './fault-draws.ts';

const DAY_MS = 86_400_000;
const drawsOf = (
  changes: { failures?: FailurePreset; response?: Response; nodes?: number; seed?: number } = {},
): FaultDraws =>
  new FaultDraws({ failures: FAILURES.llama3, response: RESPONSES.llama3, nodes: 2_048, seed: 1, ...changes });
const repeated = <T>(count: number, draw: () => T): readonly T[] => Array.from({ length: count }, draw);
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const without = (failures: FailurePreset): FailurePreset => ({
  ...failures,
  causes: [{ name: 'software bug', count: 54, kind: 'crash', strikes: 'software' }],
});

describe('faults come', () => {
  it.each<[string, Parameters<typeof drawsOf>[0], number]>([
    // 54 faults of software in 54 days, of which 5 % are restarts that fail again.
    ['at the published rate on the published fleet', { failures: without(FAILURES.llama3) }, 1 / 0.95],
    ['half as often on half of the nodes', { failures: without(FAILURES.llama3), nodes: 1_024 }, 2 / 0.95],
    ['ten times as often on ten times the nodes', { failures: without(FAILURES.llama3), nodes: 20_480 }, 0.1 / 0.95],
    ['less often by those that a wrong diagnosis brings back', {}, 54 / (419 * 0.95 - 0.05 * (310 * 0.75 + 46))],
  ])('%s', (_sentence, changes, days) => {
    const draws = drawsOf(changes);
    const found = mean(repeated(20_000, () => draws.nextFaultMs() / DAY_MS)) / days;
    expect(Math.abs(found - 1)).toBeLessThan(4 / Math.sqrt(20_000));
  });

  it('planned stops come 47 times in 54 days', () => {
    const draws = drawsOf();
    const found = mean(repeated(20_000, () => draws.nextPlannedMs() / DAY_MS)) / (54 / 47);
    expect(Math.abs(found - 1)).toBeLessThan(4 / Math.sqrt(20_000));
  });

  it('planned stops and false alarms never come where none are declared', () => {
    const draws = drawsOf({ failures: FAILURES.megascale });
    expect([draws.nextPlannedMs(), draws.nextFalseAlarmMs()]).toEqual([Infinity, Infinity]);
  });

  it.each([
    [2_048, 1],
    [1_024, 2],
  ])('false alarms of the target on %d nodes come every %d days', (nodes, days) => {
    const draws = drawsOf({ response: RESPONSES.target, nodes });
    const found = mean(repeated(20_000, () => draws.nextFalseAlarmMs() / DAY_MS)) / days;
    expect(Math.abs(found - 1)).toBeLessThan(4 / Math.sqrt(20_000));
  });
});

describe('of 20,000 faults of Llama 3', () => {
  const draws = drawsOf();
  const faults = repeated(20_000, () => draws.fault());
  const devices = faults.filter(({ cause }) => cause.strikes === 'device');

  it.each<[string, number, number, number]>([
    ['faulty GPUs are 148 of 419', faults.filter(({ cause }) => cause.name === 'faulty GPU').length, 20_000, 148 / 419],
    [
      'software bugs are 54 of 419',
      faults.filter(({ cause }) => cause.name === 'software bug').length,
      20_000,
      54 / 419,
    ],
    ['DRAM is 2 of 419', faults.filter(({ cause }) => cause.name === 'DRAM').length, 20_000, 2 / 419],
    ['hangs are 31 of 419', faults.filter(({ cause }) => cause.kind === 'hang').length, 20_000, 31 / 419],
    [
      'a restart clears 1 of 4 of devices',
      devices.filter(({ isTransient }) => isTransient).length,
      devices.length,
      0.25,
    ],
    ['1 of 20 is diagnosed wrongly', faults.filter(({ isMisdiagnosed }) => isMisdiagnosed).length, 20_000, 0.05],
    ['3 of 419 take a person', faults.filter(({ takesPerson }) => takesPerson).length, 20_000, 3 / 419],
  ])('%s', (_sentence, found, of, share) => {
    expect(Math.abs(found - of * share)).toBeLessThan(4 * Math.sqrt(of * share * (1 - share)));
  });

  it.each<[string, number]>([
    [
      'no fault of software is cleared as one of a device',
      faults.filter(({ cause, isTransient }) => cause.strikes === 'software' && isTransient).length,
    ],
    [
      'no fault of a machine is cleared by a restart',
      faults.filter(({ cause, isTransient }) => cause.strikes === 'machine' && isTransient).length,
    ],
    ['no leaf switch fails', faults.filter(({ isLeafOutage }) => isLeafOutage).length],
    [
      'no time is below nothing',
      faults.filter((one) => Math.min(one.detectMs, one.locateMs, one.processMs, one.swapMs) < 0).length,
    ],
  ])('%s', (_sentence, found) => {
    expect(found).toBe(0);
  });

  it.each<[string, readonly number[], number]>([
    [
      'a crash is noticed after a minute',
      faults.filter(({ cause }) => cause.kind === 'crash').map((one) => one.detectMs),
      60_000,
    ],
    ['a hang after ten', faults.filter(({ cause }) => cause.kind === 'hang').map((one) => one.detectMs), 600_000],
    ['ranks start again in three minutes', faults.map((one) => one.processMs), 180_000],
    ['a node is swapped in four', faults.map((one) => one.swapMs), 240_000],
    [
      'a crash is located in two',
      faults.filter(({ cause, takesPerson }) => cause.kind === 'crash' && !takesPerson).map((one) => one.locateMs),
      120_000,
    ],
  ])('%s, half of the time', (_sentence, times, median) => {
    const below = times.filter((time) => time < median).length;
    expect(Math.abs(below - times.length / 2)).toBeLessThan(2 * Math.sqrt(times.length));
  });

  it('a person takes two hours on top', () => {
    const least = Math.min(...faults.filter(({ takesPerson }) => takesPerson).map(({ locateMs }) => locateMs));
    expect(least).toBeGreaterThan(7_200_000);
  });
});

describe('a fault that a detector misses', () => {
  const { detectors } = RESPONSES.target;
  const crash = { ...detectors.crash, missProbability: 1 };
  it.each<[string, number, number]>([
    ['is noticed by the watchdog after ten minutes', 12, 600_000],
    ['is noticed no sooner than its detector would have', 3_600_000, 600_001],
  ])('%s', (_sentence, seconds, least) => {
    const response: Response = { ...RESPONSES.target, detectors: { ...detectors, crash: { ...crash, seconds } } };
    const draws = drawsOf({ response });
    const crashes = repeated(200, () => draws.fault()).filter(({ cause }) => cause.kind === 'crash');
    expect(Math.min(...crashes.map(({ detectMs }) => detectMs))).toBeGreaterThanOrEqual(least);
  });
});

describe('chances beside faults', () => {
  it('1 restart of 20 fails again, within ten minutes', () => {
    const draws = drawsOf();
    const again = repeated(20_000, () => draws.infantMs()).flatMap((ms) => ms ?? []);
    expect(Math.abs(again.length - 1_000)).toBeLessThan(4 * Math.sqrt(950));
    expect([Math.min(...again) >= 0, Math.max(...again) < 600_000]).toEqual([true, true]);
  });

  it('what was not mended comes back within ten minutes, five on the mean', () => {
    const draws = drawsOf();
    const back = repeated(10_000, () => draws.repeatMs());
    expect(Math.max(...back)).toBeLessThan(600_000);
    expect(Math.abs(mean(back) - 300_000)).toBeLessThan((4 * 600_000) / Math.sqrt(12 * 10_000));
  });

  it.each<[string, (draws: FaultDraws) => number, number]>([
    ['a node is mended in a day', (draws) => draws.repairMs(), DAY_MS],
    ['a leaf switch works in an hour', (draws) => draws.leafOutageMs(), 3_600_000],
  ])('%s, half of the time', (_sentence, draw, median) => {
    const draws = drawsOf();
    const below = repeated(10_000, () => draw(draws)).filter((ms) => ms < median).length;
    expect(Math.abs(below - 5_000)).toBeLessThan(200);
  });

  it('1 fault of 100 of ByteRobust takes a leaf switch', () => {
    const draws = drawsOf({ failures: FAILURES.byterobust });
    const outages = repeated(20_000, () => draws.fault()).filter(({ isLeafOutage }) => isLeafOutage).length;
    expect(Math.abs(outages - 200)).toBeLessThan(4 * Math.sqrt(198));
  });

  it('few nodes fail often: of 64 nodes the worst eight take more than a third of 4,000 faults', () => {
    const nodes = Array.from({ length: 64 }, (_, index) => `node-${index}`);
    const draws = drawsOf();
    const struck = Map.groupBy(
      repeated(4_000, () => draws.victim(nodes)),
      (node) => node,
    );
    const counts = [...struck.values()].map((of) => of.length).toSorted((one, other) => other - one);
    expect(counts.slice(0, 8).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(1_334);
  });

  it('bystanders are drawn evenly, lemons or not', () => {
    const draws = drawsOf();
    const a = repeated(4_000, () => draws.anyOf(['a', 'b'])).filter((node) => node === 'a').length;
    expect(Math.abs(a - 2_000)).toBeLessThan(4 * Math.sqrt(1_000));
  });

  it('faults are the same for a seed, and others for another seed', () => {
    const of = (seed: number): readonly unknown[] => {
      const draws = drawsOf({ seed });
      return repeated(20, () => draws.fault());
    };
    expect(of(4)).toEqual(of(4));
    expect(of(4)).not.toEqual(of(5));
  });

  it('a preset without causes is an error', () => {
    expect(() => drawsOf({ failures: { ...FAILURES.llama3, causes: [] } }).fault()).toThrow(
      'a preset of failures has no cause',
    );
  });
});
