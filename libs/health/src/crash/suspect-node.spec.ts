import type { NodeCondition } from './node-conditions.ts';
import { signsOfFailure } from './suspect-node.ts';

const aCondition = (type: string, message = '', status = 'True'): NodeCondition => ({ type, status, message });

describe('a node is suspect', () => {
  it.each([
    [
      'for XID 79, a GPU that has fallen off the bus',
      'SysLogsXIDError',
      'ErrorCode:79 PCI:0000:02:00',
      'GpuFault',
      [79],
    ],
    [
      'for XID 94, a contained memory error, though the process may be all that ends',
      'GpuMemWatch',
      'ErrorCode:94 PCI:0000:02:00',
      'GpuMemoryError',
      [94],
    ],
    ['for XID 63, a row of memory that was remapped', 'GpuMemWatch', 'ErrorCode:63', 'GpuMemoryError', [63]],
    ['for an XID that the table does not know', 'XidCriticalError', 'ErrorCode:171', 'GpuFault', [171]],
    ['for a watch of its memory that names no XID', 'GpuMemWatch', '', 'GpuMemoryError', []],
    [
      'for an XID of the program beside one of the GPU',
      'SysLogsXIDError',
      'ErrorCode:31 ErrorCode:119',
      'GpuFault',
      [31, 119],
    ],
    ['for a watch of NVSentinel that names no XID', 'GpuThermalWatch', 'throttles', 'GpuFault', []],
    ['for a kernel that stands', 'KernelDeadlock', '', 'NodeUnhealthy', []],
    ['for maintenance that its provider has announced', 'CSPMaintenance', '', 'MaintenanceDue', []],
  ])('%s', (...[, type, message, found, xids]) => {
    expect(signsOfFailure([aCondition(type, message)])).toEqual([{ type, class: found, xids }]);
  });

  it.each([
    ['for XID 31, an illegal access of the program', aCondition('SysLogsXIDError', 'ErrorCode:31 PCI:0000:02:00')],
    [
      'for XID 43, which says that a process was ended',
      aCondition('XidCriticalError', 'Xid (PCI:0000:02:00): 43, stopped'),
    ],
    ['for pressure on memory, which pods make', aCondition('MemoryPressure')],
    ['for pressure on its disk', aCondition('DiskPressure')],
    ['for a condition that is not True', aCondition('KernelDeadlock', '', 'False')],
    ['for one that nobody knows', aCondition('SomebodysOwn')],
    ['for one that is called as what every object has', aCondition('constructor')],
  ])('not %s', (_why, condition) => {
    expect(signsOfFailure([condition])).toEqual([]);
  });
});
