import { FAILURES } from '../presets/failures.ts';
import { type Response, RESPONSES } from '../presets/responses.ts';
import { type Fault, FaultDraws } from './fault-draws.ts';

const ofKind = (kind: Fault['cause']['kind'], response: Response): readonly Fault[] => {
  const draws = new FaultDraws({ failures: FAILURES.byterobust, response, nodes: 1_200, seed: 1 });
  return Array.from({ length: 400 }, () => draws.fault()).filter(({ cause }) => cause.kind === kind);
};
const nobody = { probability: 0, seconds: 0 };
const byteRobust: Response = { ...RESPONSES.byterobust, manual: nobody };

describe('how long a fault takes', () => {
  it('is the same for each hang that a time without progress tells of', () => {
    expect(new Set(ofKind('hang', byteRobust).map(({ detectMs }) => detectMs))).toEqual(new Set([600_000]));
  });

  it('spreads for what a detector sees as soon as it can', () => {
    const { detectors } = byteRobust;
    const seen: Response = {
      ...byteRobust,
      detectors: { ...detectors, hang: { ...detectors.hang, isTimeout: false } },
    };
    const hangs = ofKind('hang', seen);
    expect(new Set(hangs.map(({ detectMs }) => detectMs)).size).toBe(hangs.length);
  });

  it('to be located lies within what was published of it, and beyond where nothing was', () => {
    const locatedIn = (response: Response): readonly number[] =>
      ofKind('crash', response).map(({ locateMs }) => locateMs / 60_000);
    const published = locatedIn(byteRobust);
    expect([Math.min(...published) >= 2, Math.max(...published) <= 15]).toEqual([true, true]);
    const free = locatedIn({ ...byteRobust, locateWithinSeconds: {} });
    expect([Math.min(...free) < 2, Math.max(...free) > 15]).toEqual([true, true]);
  });
});
