import { type CrashClass, progressMark } from '@coxswain/api-types';
import { classifyCrash } from './classify-crash.ts';
import { progressIn } from './live-lines.ts';

const CAUGHT = ['Traceback (most recent call last):', '  File "/app/data.py", line 3, in read', "KeyError: 'x'"];
const STEPS = ['step 11 loss 2.2', 'step 12 loss 2.1'];
const OOM = 'torch.OutOfMemoryError: CUDA out of memory.';
const CHAIN = 'The above exception was the direct cause of the following exception:';
const classOf = (lastLines: readonly string[], end: number | string = 1): CrashClass =>
  classifyCrash({ lastLines, ...(typeof end === 'number' ? { exitCode: end } : { signal: end }) }).class;

describe('of several lines', () => {
  it.each<[string, readonly string[], CrashClass]>([
    ['the last cause counts', [OOM, 'OSError: [Errno 28] No space left on device'], 'DiskFull'],
    [
      'a cause counts before its consequences',
      [OOM, 'ConnectionResetError: Connection reset by peer'],
      'GpuOutOfMemory',
    ],
    [
      'a cause counts before the watchdog',
      ["KeyError: 'x'", 'Watchdog caught collective operation timeout'],
      'PythonException',
    ],
    ['hardware counts before all', ['GPU has fallen off the bus', "KeyError: 'x'"], 'GpuLost'],
    [
      'a vague exception gives way to a cause before it',
      ['No space left on device', 'RuntimeError: save failed'],
      'DiskFull',
    ],
    ['an exception of code does not', ['No space left on device', "KeyError: 'x'"], 'PythonException'],
    [
      'a warning counts if nothing else does',
      ['[W socket.cpp:1] (gai error: -2 - Name or service not known).'],
      'NameResolutionFailed',
    ],
    [
      'a warning does not count beside a vague exception',
      ['[W socket.cpp:1] Name or service not known', 'RuntimeError: a'],
      'PythonException',
    ],
    [
      'a tracker that retries does not count',
      ["KeyError: 'x'", 'wandb: Network error (ReadTimeout), entering retry loop.'],
      'PythonException',
    ],
    [
      'a report of another process counts last',
      ['ValueError: bad', 'torch.distributed.elastic.multiprocessing.errors.ChildFailedError:'],
      'PythonException',
    ],
    [
      'a handler that fails yields to what it handles',
      ['socket.gaierror: [Errno -3] a', CHAIN, "KeyError: 'x'"],
      'NameResolutionFailed',
    ],
    ['an exception in a chain of its own kind stays', ["KeyError: 'x'", CHAIN, 'TypeError: a'], 'PythonException'],
  ])('%s', (_sentence, lines, want) => {
    expect(classOf(lines)).toBe(want);
  });
});

describe('a line that the program survived', () => {
  it.each<[string, readonly string[], number | string, CrashClass]>([
    ['does not count after two steps', [...CAUGHT, ...STEPS], 1, 'Unknown'],
    ['counts after one step, which a peer may have ended', [...CAUGHT, 'step 11 loss 2.2'], 1, 'PythonException'],
    ['does not count after one step if it is no traceback', ['Address already in use', 'step 1 loss 2'], 1, 'Unknown'],
    ['does not count before the mark of a launcher', [...CAUGHT, progressMark(502)], 1, 'Unknown'],
    ['leaves what came after it', [OOM, ...STEPS, "KeyError: 'x'"], 1, 'PythonException'],
    [
      'counts if what follows is no progress',
      [...CAUGHT, 'resuming from step 3', 'starting step 4'],
      1,
      'PythonException',
    ],
    ['that names an XID does not count either', ['NVRM: Xid (PCI:0000:02:00): 79, GPU', ...STEPS], 1, 'Unknown'],
  ])('%s', (_sentence, lines, end, want) => {
    expect(classOf(lines, end)).toBe(want);
  });
});

describe('a signal', () => {
  it.each<[string, readonly string[], number | string, CrashClass]>([
    ['that kills outweighs an exception, which ends a process with a code', CAUGHT, 'SIGKILL', 'Killed'],
    ['that a shell reports as a code does as well', CAUGHT, 137, 'Killed'],
    [
      'that kills is explained by memory',
      ['Memory cgroup out of memory: Killed process 7'],
      'SIGKILL',
      'HostOutOfMemory',
    ],
    ['is explained by hardware', ['GPU has fallen off the bus'], 'SIGTERM', 'GpuLost'],
    ['that asks to end is nothing else', CAUGHT, 'SIGTERM', 'Disrupted'],
    ['of a terminal is a person', CAUGHT, 'SIGINT', 'Disrupted'],
    ['in the middle of an end belongs to its exception', CAUGHT, 'SIGSEGV', 'PythonException'],
    ['after ordinary output does not', [...CAUGHT, 'skipped the sample'], 'SIGSEGV', 'Segfault'],
    [
      'of abort comes with its reason',
      ['  what():  CUDA error: an illegal memory access was encountered'],
      'SIGABRT',
      'IllegalMemoryAccess',
    ],
  ])('%s', (_sentence, lines, end, want) => {
    expect(classOf(lines, end)).toBe(want);
  });
});

describe('progress', () => {
  it.each<[string, string | undefined]>([
    ['step 12 loss 2.1', '12'],
    [' iteration      501/   10000 | lm loss: 2.1E+00', '501'],
    ["{'loss': 0.9042, 'epoch': 0.24}", '0.24'],
    ['Epoch [1/128][20/1201] LR: 0.004', '1'],
    ['loss 2.31', 'loss 2.31'],
    ['RuntimeError: loss is nan at step 3', undefined],
    ['resuming from step 300', undefined],
    ['Loading checkpoint of step 300', undefined],
    ['step 7 loss 2.2 data_load_time 0.1', '7'],
    ['step up', undefined],
  ])('in %j is %j', (line, want) => {
    expect(progressIn(line)).toBe(want);
  });
});
