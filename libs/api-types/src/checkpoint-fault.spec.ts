import { describeFault } from './checkpoint-fault.ts';

describe('a fault of a checkpoint in words', () => {
  it.each([
    [
      { kind: 'ContentDiffers', path: '/c/rank-0.bin', expected: '8 bytes', found: '7 bytes' },
      '/c/rank-0.bin has 7 bytes, not 8 bytes',
    ],
    [{ kind: 'ContentDiffers', path: '/c/x' }, '/c/x has another content, not what was saved'],
    [{ kind: 'FileUnreadable', path: '/c/x', errno: 'EIO' }, '/c/x cannot be read (EIO), though its mount works'],
    [{ kind: 'FileUnreadable', path: '/c/x' }, '/c/x cannot be read, though its mount works'],
    [
      { kind: 'FileUnreadable', path: '/c/x', expected: '8 bytes', found: '7 bytes' },
      '/c/x has 7 bytes, not 8 bytes, and no control file beside it confirms that',
    ],
    [
      { kind: 'MountBroken', path: '/c/x', errno: 'ESTALE' },
      '/c/x cannot be read (ESTALE), and neither can what is around it: its mount does not work',
    ],
    [
      { kind: 'MountBroken', path: '/c/x', found: 'no answer within 120 s' },
      '/c/x cannot be read (no answer within 120 s): its mount does not work',
    ],
  ] as const)('%j', (fault, want) => {
    expect(describeFault(fault)).toBe(want);
  });
});
