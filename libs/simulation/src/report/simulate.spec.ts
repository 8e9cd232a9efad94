import { LOSSES } from '../run/loss-budget.ts';
import type { SimulationQuestion } from './questions.ts';
import { runsOf, simulate, type SimulationReport } from './simulate.ts';

const aQuestion = (changes: Partial<SimulationQuestion> = {}): SimulationQuestion => ({
  gpus: 4_096,
  days: 2,
  failures: 'llama3',
  response: 'llama3',
  seeds: 2,
  firstSeed: 3,
  everyNode: false,
  ...changes,
});

function reported(question: SimulationQuestion): {
  readonly done: readonly number[];
  readonly report: SimulationReport;
} {
  const done: number[] = [];
  const running = simulate(question);
  for (;;) {
    const next = running.next();
    if (next.done === true) return { done, report: next.value };
    done.push(next.value);
  }
}

const { done, report } = reported(aQuestion());
const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

describe('a report', () => {
  it('counts its runs up to the number that was announced: two seeds of one question and seven changes', () => {
    expect(done).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
    expect(runsOf(aQuestion())).toBe(16);
  });

  it('is the same for the same question, to the last digit', () => {
    const once = (): SimulationReport => reported(aQuestion({ days: 1, seeds: 1 })).report;
    expect(once()).toEqual(once());
  });

  it.each<[string, (report: SimulationReport) => number, number]>([
    ['what is effective and what is lost is all of the time', (of) => of.effective + sum(Object.values(of.losses)), 1],
    [
      'answers and open ends are all interruptions',
      ({ answers: { inPlace, standby, newEpoch }, interruptions: { faults, planned, evictions } }) =>
        Math.ceil(faults + planned + evictions - inPlace - standby - newEpoch),
      0,
    ],
    [
      'causes count each interruption once',
      ({ causes, interruptions: { faults, planned, evictions } }) =>
        sum(causes.map(({ count }) => count)) - faults - planned - evictions,
      0,
    ],
    [
      'hours of causes are the lost hours, without stalls of saves',
      ({ causes, losses }) =>
        sum(causes.map(({ hours }) => hours)) / (2 * 24) -
        losses.detect -
        losses.locate -
        losses.restart -
        losses.lostWork -
        losses.planned,
      0,
    ],
    ['no node of Llama 3 is slow', ({ losses }) => losses.straggler, 0],
    ['nobody gives the job up', ({ gaveUp }) => gaveUp?.runs ?? 0, 0],
    ['512 nodes of Llama 3 need 6 spare nodes', ({ spareNodes }) => spareNodes, 6],
  ])('adds up: %s', (_sentence, of, want) => {
    expect(of(report)).toBeCloseTo(want, 9);
  });

  it('names every loss, each a share of time', () => {
    expect(Object.keys(report.losses)).toEqual([...LOSSES]);
    expect(Object.values(report.losses).filter((share) => share < 0 || share > 1)).toEqual([]);
  });

  it('has its mean between the lowest and the highest run, which differ', () => {
    const { lowest, effective, highest } = report;
    expect([lowest < effective, effective < highest]).toEqual([true, true]);
    expect((lowest + highest) / 2).toBeCloseTo(effective, 12);
  });

  it('has the dearest cause first', () => {
    const hours = report.causes.map((line) => line.hours);
    expect(hours).toEqual(hours.toSorted((one, other) => other - one));
    expect(hours.length).toBeGreaterThan(1);
  });

  it('names the sources of faults and of answers', () => {
    expect(report.sources).toEqual([
      expect.stringMatching(/^Llama 3 \(arXiv 2407\.21783, table 5\)/),
      expect.stringMatching(/^Fitted to "more than 90 % effective"/),
    ]);
  });
});

describe('what would help', () => {
  it.each<[number, RegExp]>([
    [0, /^no spare nodes$/],
    [1, /^twice the spare nodes \(12\)$/],
    [2, /^saves each \d+ s, the best by Young and Daly$/],
    [3, /^saves each 6000 s, ten times as seldom$/],
    [4, /^saves that stall a tenth as long \(0\.3 s\)$/],
    [5, /^hangs noticed in half the time \(300 s\)$/],
    [6, /^hangs noticed by the watchdog of the framework alone \(600 s\)$/],
  ])('line %d is %s', (index, words) => {
    expect(report.whatIf[index]?.change).toMatch(words);
  });

  it('is seven changes, each with what it gains above what was asked', () => {
    expect(report.whatIf).toHaveLength(7);
    for (const { effective, gain } of report.whatIf) expect(effective - gain).toBeCloseTo(report.effective, 12);
  });

  it.each<[string, number, -1 | 1]>([
    ['saves that are ten times as seldom lose more work', 3, -1],
    ['saves that stall a tenth as long lose less', 4, 1],
  ])('%s', (_sentence, index, sign) => {
    expect(Math.sign(report.whatIf[index]?.gain ?? 0)).toBe(sign);
  });

  it('is one spare node at least, where twice none is asked', () => {
    const { report: without } = reported(aQuestion({ gpus: 64, seeds: 1, days: 1, spareNodes: 0 }));
    expect(without.whatIf[1]?.change).toBe('twice the spare nodes (1)');
  });

  it('takes as many runs as seeds times eight', () => {
    expect([1, 3, 10].map((seeds) => runsOf(aQuestion({ seeds })))).toEqual([8, 24, 80]);
  });
});
