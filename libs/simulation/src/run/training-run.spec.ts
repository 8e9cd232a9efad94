import fc from 'fast-check';
import { FAILURES } from '../presets/failures.ts';
import { RESPONSES } from '../presets/responses.ts';
import { effectiveShare } from './loss-budget.ts';
import { type RunQuestion, simulateRun } from './training-run.ts';

const aQuestion = (overrides: Partial<RunQuestion> = {}): RunQuestion => ({
  nodes: 2048,
  spareNodes: 16,
  days: 1,
  seed: 1,
  failures: FAILURES.llama3,
  response: RESPONSES.llama3,
  mostGangNodes: 16,
  ...overrides,
});

describe('a run', () => {
  it('spends each moment in one part of the loss budget, whatever the seed, the fleet and the answers', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.constantFrom(...Object.values(FAILURES)),
        fc.constantFrom(...Object.values(RESPONSES)),
        fc.integer({ min: 0, max: 4 }),
        (seed, failures, response, spareNodes) => {
          // Throws where it does not close.
          const { budget, effective } = simulateRun(aQuestion({ seed, failures, response, spareNodes }));
          expect(effectiveShare(budget)).toBe(effective);
          expect(Object.values(budget).reduce((sum, part) => sum + part, 0) / 86_400_000).toBeCloseTo(1, 6);
        },
      ),
      { numRuns: 8 },
    );
  });

  it('is the same each time', () => {
    expect(simulateRun(aQuestion())).toEqual(simulateRun(aQuestion()));
  });

  it('meets the same faults when saves are dearer: processes draw from streams of their own', () => {
    const [one, other] = [3, 30].map((checkpointStallSeconds) =>
      simulateRun(aQuestion({ response: { ...RESPONSES.llama3, checkpointStallSeconds } })),
    );
    const faults = (outcome: typeof one) => outcome?.incidents.map(({ cause, kind, answer }) => [cause, kind, answer]);
    expect(faults(one)).toEqual(faults(other));
    expect(one?.effective).toBeGreaterThan(other?.effective ?? 1);
  });

  it.each([8, 48])('comes to the same on a gang of %d nodes that stands for 2,048 as on one of 32', (mostGangNodes) => {
    const [small, large] = [mostGangNodes, 64].map((most) => simulateRun(aQuestion({ mostGangNodes: most, days: 2 })));
    expect(small?.budget).toEqual(large?.budget);
  });

  it('waits for nodes where there are no spares, and says how long', () => {
    const question = { days: 3, response: RESPONSES.target };
    const [without, withSome] = [0, 16].map((spareNodes) => simulateRun(aQuestion({ ...question, spareNodes })));
    expect(withSome?.waitedForNodesMs).toBe(0);
    expect(without?.waitedForNodesMs).toBeGreaterThan(3_600_000);
    expect(without?.effective).toBeLessThan(withSome?.effective ?? 0);
  });

  it('tells which answers the rules gave', () => {
    const { incidents } = simulateRun(aQuestion({ days: 2, failures: { ...FAILURES.llama3, planned: 200 } }));
    const answers = new Set(incidents.map(({ cause, answer }) => `${cause}: ${answer}`));
    expect(answers).toContain('HBM3 memory: inPlace');
    expect(answers).toContain('faulty GPU: newEpoch');
    expect(answers).toContain('planned: newEpoch');
  });
});
