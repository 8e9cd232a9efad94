import { type CurveChoice, curveChoiceOf, withCurveChoice } from './curve-choice.ts';

const AT_FIRST: CurveChoice = { axis: 'steps', smoothing: 0, isLogarithmic: false, others: [] };

describe('the curves that an address chooses', () => {
  it.each<[string, string, Partial<CurveChoice>]>([
    ['are those of the job, over steps', '', {}],
    ['may have others', 'with=a,b', { others: ['a', 'b'] }],
    ['have no run twice, and few', 'with=a,a,b,c', { others: ['a', 'b'] }],
    ['may be over tokens', 'x=tokens', { axis: 'tokens' }],
    ['may be smoothed, on a logarithmic axis', 'smoothing=0.6&log=1', { smoothing: 0.6, isLogarithmic: true }],
    ['are over steps where the address is wrong', 'x=colour&smoothing=7&log=yes&with=,', {}],
    ['are not smoothed by what is no number', 'smoothing=x', {}],
  ])('%s', (_sentence, query, want) => {
    expect(curveChoiceOf(new URLSearchParams(query))).toEqual({ ...AT_FIRST, ...want });
  });

  it.each([
    ['leaves out what is as at first', AT_FIRST, 'tab=1'],
    [
      'has all else',
      { axis: 'time', smoothing: 0.5, isLogarithmic: true, others: ['a', 'b'] },
      'tab=1&with=a%2Cb&x=time&smoothing=0.5&log=1',
    ],
  ] as const)('an address %s', (_sentence, choice, want) => {
    const query = withCurveChoice(new URLSearchParams('tab=1&with=c'), choice);
    expect(query.toString()).toBe(want);
    expect(curveChoiceOf(query)).toEqual(choice);
  });
});
