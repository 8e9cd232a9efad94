/** Packed documents reach every question: a plan and the prediction of its layout have one price. */
import { parsePlanRequest } from '../request/parse-plan-request.ts';
import { plan } from './plan.ts';
import { predict } from './predict.ts';

const request = (packing?: object) =>
  parsePlanRequest({
    model: 'llama-3.1-8b',
    cluster: { gpu: 'h100', gpus: 8 },
    globalBatchSize: 16,
    sequenceLength: 65_536,
    stack: 'torchtitan',
    top: 1,
    ...(packing === undefined ? {} : { packing }),
  });

describe('a plan for packed documents', () => {
  const packed = plan(request({ meanTokens: 1000 }), { withAdvice: false });
  const whole = plan(request(), { withAdvice: false });

  it('is faster than one for whole samples', () => {
    expect(packed.best?.prediction.stepTimeS).toBeLessThan(0.8 * (whole.best?.prediction.stepTimeS ?? 0));
  });

  it('has the price of a prediction of its layout', () => {
    if (packed.best === undefined) throw new Error('a layout fits');
    const { layout, microBatchSize, prediction } = packed.best;
    const asked = predict(request({ meanTokens: 1000 }), { layout, microBatchSize });
    expect(asked.stepTimeS).toBeCloseTo(prediction.stepTimeS, 6);
  });

  it.each<[string, object | undefined, RegExp | undefined]>([
    ['names the length of documents', { meanTokens: 1000 }, /within documents of 1000 tokens each/],
    [
      'says that whole samples are priced if the length is not known',
      {},
      /over whole samples, because packing\.meanTok/,
    ],
    ['says nothing without packing', undefined, undefined],
  ])('%s', (_sentence, packing, want) => {
    const said = plan(request(packing), { withAdvice: false }).assumptions.filter((one) =>
      /^attention (?:stays|over)/.test(one),
    );
    if (want === undefined) expect(said).toEqual([]);
    else expect(said).toEqual([expect.stringMatching(want)]);
  });
});
