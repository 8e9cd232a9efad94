import { fingerprintOf, lastErrorOf } from './traceback.ts';

const crash = (...more: readonly string[]): readonly string[] => [
  'Traceback (most recent call last):',
  '  File "/app/train.py", line 12, in main',
  '    load(path)',
  ...more,
];

describe('the fingerprint of a crash', () => {
  it.each<[string, readonly string[], readonly string[], boolean]>([
    ['two runs at the same place', crash("KeyError: 'input_ids'"), crash("KeyError: 'input_ids'"), true],
    [
      'ports, pids and times differ',
      crash('RuntimeError: connect to 10.0.0.7:29500 failed after 31 s (0x7fb1e9)'),
      crash('RuntimeError: connect to 10.0.0.9:29517 failed after 30 s (0x7fb1f0)'),
      true,
    ],
    ['another rank says it', ["[rank0]: KeyError: 'x'"], ["[rank3]: KeyError: 'x'"], true],
    [
      'what was printed before differs',
      ['step 1', ...crash('ValueError: a')],
      ['step 7', ...crash('ValueError: a')],
      true,
    ],
    ['another error', crash("KeyError: 'input_ids'"), crash("KeyError: 'labels'"), false],
    ['another kind of error', crash('KeyError: x'), crash('ValueError: x'), false],
    [
      'the same error at another line',
      crash('ValueError: a'),
      ['  File "/app/train.py", line 44, in main', 'ValueError: a'],
      false,
    ],
  ])('%s', (_sentence, one, other, same) => {
    expect(fingerprintOf(one)).toBeDefined();
    expect(fingerprintOf(one) === fingerprintOf(other)).toBe(same);
  });

  it.each(['struct.error: unpack requires a buffer of 4 bytes', 'Empty'])(
    'is that of an exception of any name: %s',
    (raised) => {
      expect(fingerprintOf(crash(raised))).toBe(`${raised.replace('4', '#')} @ train.py:12:main`);
    },
  );

  it('is none where no error is named', () => {
    expect(fingerprintOf(['loss 2.1', 'Killed'])).toBeUndefined();
  });

  it('is short, whatever was written', () => {
    expect(fingerprintOf([`ValueError: ${'x'.repeat(2_000)}`])?.length).toBe(512);
  });
});

it('the error that ended it is the last one', () => {
  expect(
    lastErrorOf(["KeyError: 'a'", 'During handling of the above exception:', '[rank1]: my.mod.LoadError: b', '']),
  ).toBe('my.mod.LoadError: b');
});
