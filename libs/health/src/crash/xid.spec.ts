import type { CrashClass } from '@coxswain/api-types';
import { xidAction, type XidAction, xidClass, xidsIn } from './xid.ts';

describe('an XID', () => {
  it.each<[number, XidAction | undefined, CrashClass | undefined]>([
    [79, 'rebootNode', 'GpuLost'],
    [48, 'runWorkflow', 'GpuMemoryError'],
    [64, 'resetGpu', 'GpuMemoryError'],
    [95, 'resetGpu', 'GpuMemoryError'],
    [94, 'restartProcess', 'GpuMemoryError'],
    [74, 'runWorkflow', 'NvlinkError'],
    [147, 'runWorkflow', 'NvlinkError'],
    [13, 'restartProcess', 'IllegalMemoryAccess'],
    [31, 'restartProcess', 'IllegalMemoryAccess'],
    [99, 'restartProcess', 'CudaError'],
    [119, 'resetGpu', 'GpuFault'],
    [154, 'runWorkflow', 'GpuFault'],
    [151, 'restartVm', 'GpuFault'],
    [142, 'contactSupport', 'GpuFault'],
    [78, 'updateSoftware', 'GpuFault'],
    [45, 'runWorkflow', undefined],
    [63, 'ignore', undefined],
    [43, 'ignore', undefined],
    [9_999, undefined, undefined],
  ])('%d asks for %s and is of class %s', (xid, action, name) => {
    expect(xidAction(xid)).toBe(action);
    expect(xidClass(xid)).toBe(name);
  });

  it.each<[string, string, readonly number[]]>([
    ['the kernel', '[747] NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus.', [79]],
    [
      'NVSentinel, of two GPUs',
      'ErrorCode:119 PCI:0002:00:00 GPU_UUID:GPU-22 kernel: Recommended Action=COMPONENT_RESET;ErrorCode:94 PCI:0002:00:00;',
      [119, 94],
    ],
    ['the same one twice', 'ErrorCode:94 kernel: NVRM: Xid (PCI:0002:00:00): 94, pid=78', [94]],
    ['something else', 'Xid 79', []],
  ])('is read from what %s says', (_who, text, want) => {
    expect(xidsIn(text)).toEqual(want);
  });
});
