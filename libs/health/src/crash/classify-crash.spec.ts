import { CRASH_CLASSES, type CrashBlame, type CrashClass } from '@coxswain/api-types';
import fc from 'fast-check';
import { classifyCrash, type CrashFacts } from './classify-crash.ts';

const judged = (facts: Partial<CrashFacts>): readonly [CrashClass, CrashBlame] => {
  const { class: name, blame } = classifyCrash({ lastLines: [], ...facts });
  return [name, blame];
};

describe('what else tells', () => {
  const cases: readonly (readonly [string, Partial<CrashFacts>, CrashClass, CrashBlame])[] = [
    [
      'a GPU that fell off its bus',
      { lastLines: ['[74889.64] NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus.'] },
      'GpuLost',
      'node',
    ],
    ['an XID that a node agent read', { xids: [48] }, 'GpuMemoryError', 'node'],
    ['the gravest of several', { xids: [45, 13, 79] }, 'GpuLost', 'node'],
    ['an XID of the program', { xids: [13] }, 'IllegalMemoryAccess', 'unknown'],
    ['a GSP that does not answer', { xids: [119] }, 'GpuFault', 'node'],
    ['an XID that comes with others says nothing alone', { xids: [45], exitCode: 1 }, 'Unknown', 'unknown'],
    ['a corrected error is no cause', { xids: [92], lastLines: ["KeyError: 'x'"] }, 'PythonException', 'program'],
    [
      'the driver is believed before the program',
      { xids: [79], lastLines: ['torch.distributed.DistNetworkError: Connection was likely closed.'] },
      'GpuLost',
      'node',
    ],
    [
      'NVSentinel names the XID in its message',
      {
        nodeConditions: [
          {
            type: 'SysLogsXIDError',
            status: 'True',
            message:
              'ErrorCode:79 PCI:0002:00:00 kernel: NVRM: Xid (PCI:0002:00:00): 79, GPU has fallen off the bus. Recommended Action=RESTART_BM;',
          },
        ],
      },
      'GpuLost',
      'node',
    ],
    [
      'a condition of the node',
      { nodeConditions: [{ type: 'ReadonlyFilesystem', status: 'True' }] },
      'NodeUnhealthy',
      'node',
    ],
    [
      'pressure on the node, where nothing else is told',
      { nodeConditions: [{ type: 'MemoryPressure', status: 'True' }], exitCode: 137 },
      'NodeUnhealthy',
      'node',
    ],
    [
      'and not where the program says why',
      { nodeConditions: [{ type: 'DiskPressure', status: 'True' }], lastLines: ["KeyError: 'x'"] },
      'PythonException',
      'program',
    ],
    [
      'one that does not hold is none',
      { nodeConditions: [{ type: 'KernelDeadlock', status: 'False' }] },
      'Unknown',
      'unknown',
    ],
    ['one that is not known is none', { nodeConditions: [{ type: 'toString', status: 'True' }] }, 'Unknown', 'unknown'],
    [
      'maintenance is nobody’s fault',
      { nodeConditions: [{ type: 'CSPMaintenance', status: 'True' }] },
      'MaintenanceDue',
      'cluster',
    ],
    ['an eviction', { disruption: 'EvictionByEvictionAPI', exitCode: 143 }, 'Disrupted', 'cluster'],
    [
      'the kernel killed the container',
      { containerReason: 'OOMKilled', exitCode: 137, signal: 'SIGKILL' },
      'HostOutOfMemory',
      'program',
    ],
    ['somebody killed it', { exitCode: 137, signal: 'SIGKILL' }, 'Killed', 'unknown'],
    ['a segmentation fault', { exitCode: 139 }, 'Segfault', 'unknown'],
    ['a bus error', { signal: 'SIGBUS' }, 'BusError', 'unknown'],
    ['abort', { exitCode: 134 }, 'Aborted', 'unknown'],
    ['a trap', { signal: 'SIGTRAP' }, 'Aborted', 'unknown'],
    ['an instruction that the CPU does not have', { exitCode: 132 }, 'IllegalInstruction', 'unknown'],
    ['a division by zero in compiled code', { signal: 'SIGFPE' }, 'ArithmeticFault', 'program'],
    ['a call of the kernel that seccomp forbids', { signal: 'SIGSYS' }, 'SystemCallDenied', 'environment'],
    ['the limit of CPU time', { signal: 'SIGXCPU' }, 'LimitReached', 'environment'],
    ['the limit of the size of a file', { exitCode: 153 }, 'LimitReached', 'environment'],
    [
      'an exception that a rank survived does not explain it',
      { signal: 'SIGILL', lastLines: ["KeyError: 'x'", 'loading the kernel'] },
      'IllegalInstruction',
      'unknown',
    ],
    [
      'abort with a reason',
      { exitCode: 134, lastLines: ['  what():  CUDA error: uncorrectable ECC error encountered'] },
      'GpuMemoryError',
      'node',
    ],
    ['SIGTERM', { signal: 'SIGTERM' }, 'Disrupted', 'cluster'],
    ['93', { exitCode: 93 }, 'StopAsked', 'program'],
  ];
  it.each(cases)('%s', (_sentence, facts, name, blame) => {
    expect(judged(facts)).toEqual([name, blame]);
  });
});

it('says what shows it, and what to do', () => {
  const line = "ModuleNotFoundError: No module named 'flash_attn'";
  expect(classifyCrash({ lastLines: ['one', line] })).toEqual({
    class: 'ImportFailed',
    blame: 'program',
    evidence: line,
    advice: CRASH_CLASSES.ImportFailed.advice,
  });
});

it('looks at no more than the last 20 lines', () => {
  const old = ['CUDA out of memory', ...Array.from({ length: 20 }, () => 'quiet')];
  expect(judged({ lastLines: old })).toEqual(['Unknown', 'unknown']);
});

it('answers whatever ranks wrote, in bounds', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 600 }), { maxLength: 30 }), (lastLines) => {
      const { class: name, evidence } = classifyCrash({ lastLines });
      expect(Object.keys(CRASH_CLASSES)).toContain(name);
      expect(evidence.length).toBeLessThanOrEqual(512);
    }),
  );
});
