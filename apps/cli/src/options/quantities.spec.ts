import { assignments, hours, positiveNumber, tokenCount } from './quantities.ts';

describe('quantities', () => {
  it.each<[string, () => unknown, unknown]>([
    ['15T tokens', () => tokenCount('15T'), 15e12],
    ['300B tokens', () => tokenCount('300B'), 300e9],
    ['1.5e12 tokens', () => tokenCount('1.5e12'), 1.5e12],
    ['30d', () => hours('30d'), 720],
    ['12h', () => hours('12h'), 12],
    ['2w', () => hours('2w'), 336],
    ['0.05', () => positiveNumber('0.05'), 0.05],
    [
      'pairs',
      () => assignments('tp=8, pp=4', ['tp', 'pp']),
      [
        ['tp', '8'],
        ['pp', '4'],
      ],
    ],
  ])('%s', (_, read, want) => {
    expect(read()).toEqual(want);
  });

  it.each<[string, () => unknown, RegExp]>([
    ['tokens without a number', () => tokenCount('T'), /"T" is not a number of tokens such as 15T/],
    ['no tokens', () => tokenCount('0'), /not a number of tokens/],
    ['a duration without a unit', () => hours('30'), /"30" is not a duration such as 12h or 30d/],
    ['a negative bandwidth', () => positiveNumber('-1'), /"-1" is not a positive number/],
    ['nothing', () => positiveNumber(' '), /not a positive number/],
    ['no pair', () => assignments('tp', ['tp']), /"tp" is not of the form name=value/],
    ['an unknown name', () => assignments('xp=2', ['tp', 'pp']), /"xp" is not one of tp, pp/],
    ['a name twice', () => assignments('tp=2,tp=4', ['tp']), /"tp" is given twice/],
  ])('%s is refused', (_, read, message) => {
    expect(read).toThrow(message);
  });
});
