import fc from 'fast-check';
import { chooseWay, type Way, type WayQuestion } from './choose-way.ts';

const newest = { name: 'gpt-e1-s40', step: 40 };
const question = (ways: Omit<WayQuestion, 'gpus' | 'newest'>): WayQuestion => ({ gpus: 2, newest, ...ways });
const convert = (seconds: number) => ({ bytes: seconds * 1e6, bytesPerSecond: 1e6, isMeasured: false });
const goBack = (gpuSecondsPerStep?: number) => ({
  name: 'gpt-e1-s20',
  step: 20,
  ...(gpuSecondsPerStep === undefined ? {} : { gpuSecondsPerStep }),
});
const wait = (waitedSeconds: number) => ({ gpus: 4, waitedSeconds });

describe('a job whose newest save does not load', () => {
  it.each<[what: string, ways: Omit<WayQuestion, 'gpus' | 'newest'>, want: Way | undefined]>([
    ['converts it, if that costs less than the steps', { convert: convert(10), goBack: goBack(8) }, 'Convert'],
    ['goes back, if few cheap steps are lost', { convert: convert(100), goBack: goBack(8) }, 'GoBack'],
    ['waits, if the GPUs were missed for a moment', { convert: convert(100), wait: wait(60) }, 'Wait'],
    ['converts it, once the GPUs were missed for long', { convert: convert(100), wait: wait(200) }, 'Convert'],
    ['goes back, if nothing converts it', { goBack: goBack(8) }, 'GoBack'],
    ['rather converts it than lose steps of unknown price', { convert: convert(1e6), goBack: goBack() }, 'Convert'],
    ['rather converts it than goes back at the same price', { convert: convert(10), goBack: goBack(1) }, 'Convert'],
    [
      'goes back rather than convert a save of unknown size',
      { convert: { bytesPerSecond: 1e6, isMeasured: false }, goBack: goBack(8) },
      'GoBack',
    ],
    ['has no way without a converter, an older save or hope for GPUs', {}, undefined],
  ])('%s', (_what, ways, want) => {
    expect(chooseWay(question(ways))?.way).toBe(want);
  });

  it('has the price of each way', () => {
    expect(chooseWay(question({ convert: convert(10), goBack: goBack(8), wait: wait(120) }))?.says).toBe(
      'To convert checkpoint gpt-e1-s40 (9.5 MiB, about 10.0 s at an assumed rate) costs 20 GPU-seconds, while 2 GPUs could train. ' +
        'To go back to checkpoint gpt-e1-s20 (step 20) costs 160 GPU-seconds, to repeat 20 steps. ' +
        'To wait for 4 GPUs costs 240 GPU-seconds, if it takes as long again as so far (2 min 0 s).',
    );
  });
});

it('chooses a way that there is, and none that is known to cost more than another', () => {
  const price = fc.double({ min: 0, max: 1e9, noNaN: true });
  const ways = fc.record(
    {
      convert: fc.record(
        { bytes: price, bytesPerSecond: price, isMeasured: fc.boolean() },
        { requiredKeys: ['bytesPerSecond', 'isMeasured'] },
      ),
      goBack: fc.record(
        { name: fc.constant('old'), step: fc.nat(39), gpuSecondsPerStep: price },
        { requiredKeys: ['name', 'step'] },
      ),
      wait: fc.record({ gpus: fc.nat(64), waitedSeconds: price }),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(ways, fc.integer({ min: 1, max: 4096 }), (some, gpus) => {
      const chosen = chooseWay({ gpus, newest, ...some } as WayQuestion);
      if (Object.keys(some).length === 0) return chosen === undefined;
      const { way, gpuSeconds } = chosen ?? { way: 'Wait', gpuSeconds: {} };
      const known = Object.values(gpuSeconds).filter((one) => one !== undefined);
      return Object.hasOwn(gpuSeconds, way) && known.every((one) => (gpuSeconds[way] ?? Infinity) <= one);
    }),
  );
});
