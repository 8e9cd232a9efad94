import { GIB_BYTES } from '@coxswain/units';
import { isMemoryShort, memoryRefusal, parsePython } from './successor-rules.ts';

describe('a command', () => {
  it.each<[string, readonly string[], number]>([
    ['runs a script', ['python3', 'train.py', '--steps', '4'], 2],
    ['runs a script of another version, with options', ['/opt/bin/python3.12', '-u', '-W', 'ignore', 'train.py'], 5],
    ['runs a module', ['python', '-m', 'engine.train', '-c', 'x'], 3],
    ['runs a module whose name is joined to options', ['python', '-uBmengine.train', 'x'], 2],
    ['runs code', ['python', '-Xdev', '-c', 'pass', '-I'], 4],
  ])('of Python that %s has a successor, and its arguments may change', (_sentence, command, start) => {
    expect(parsePython(command, 'launcher')).toEqual({
      python: { start: command.slice(0, start), args: command.slice(start) },
    });
  });

  it.each<[string, readonly string[], RegExp]>([
    ['is a shell', ['bash', '-c', 'python train.py'], /begins with bash, and must begin with python; a shell/],
    ['is torchrun', ['torchrun', 'train.py'], /begins with torchrun/],
    ['is torchrun as a module', ['python', '-m', 'torch.distributed.run', 'train.py'], /torchrun starts the ranks/],
    ['loads no hook', ['python', '-I', 'train.py'], /python -I loads no hook/],
    ['loads no hook, said among others', ['python3', '-uSB', 'train.py'], /python -S loads no hook/],
    ['reads its program from nowhere', ['python3', '-u'], /names no program/],
    ['names no module', ['python3', '-m'], /names no program/],
    ['has a long option', ['python3', '--check-hash-based-pycs', 'always', 'x.py'], /--check-hash-based-pycs is not/],
    ['is empty', [], /begins with , and must/],
  ])('that %s has none, and the reason is known', (_sentence, command, why) => {
    expect(parsePython(command, 'launcher')).toEqual({ why: expect.stringMatching(why) as string });
  });

  it('of Python has none if torchrun starts the ranks', () => {
    expect(parsePython(['python', 'train.py'], 'torchrun')).toEqual({
      why: 'torchrun starts the ranks; leave engine.startedBy out',
    });
  });
});

describe('memory', () => {
  const pod = { limitBytes: 16 * GIB_BYTES, usedBytes: 2 * GIB_BYTES, of: 'pod' } as const;

  it.each<[string, Parameters<typeof memoryRefusal>, RegExp | undefined]>([
    ['is enough', [pod, { highestBytes: 8 * GIB_BYTES, count: 8 }], undefined],
    [
      'is too little beside the most that was used, although less is used now',
      [pod, { highestBytes: 8 * GIB_BYTES + 1, count: 8 }],
      /^8 need 8\.0 GiB of memory\. The ranks used up to 8\.0 GiB so far, and the pod has 16(\.0)? GiB; raise resources\.memoryPerGpu$/,
    ],
    [
      'of a node is too little for one',
      [
        { ...pod, of: 'node' },
        { highestBytes: 16 * GIB_BYTES, count: 1 },
      ],
      /^one needs 1\.0 GiB of memory.*the node has 16(\.0)? GiB; set resources\.memoryPerGpu, on larger nodes$/,
    ],
    ['cannot be read', [undefined, { highestBytes: 0, count: 1 }], /cannot be read/],
  ])('%s', (_sentence, args, why) => {
    const refusal = memoryRefusal(...args);
    if (why === undefined) expect(refusal).toBeUndefined();
    else expect(refusal).toMatch(why);
  });

  it.each([
    ['is short if less than 512 MiB are left', GIB_BYTES / 2 - 1, true],
    ['is not short before', GIB_BYTES / 2, false],
  ])('%s', (_sentence, left, want) => {
    expect(isMemoryShort({ ...pod, usedBytes: pod.limitBytes - left })).toBe(want);
  });

  it('that cannot be read ends no successor', () => {
    expect(isMemoryShort(undefined)).toBe(false);
  });
});
