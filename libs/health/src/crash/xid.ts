/** What action does an XID need? NVIDIA's driver writes this number of a fault to the kernel log. */
import type { CrashClass } from '@coxswain/api-types';

/**
 * Actions of NVIDIA's catalogue of 2025-10-29. Prefer the recovery action that the driver reports (570 and later) to any table; XID 154 reports that it
 * has changed.
 */
export type XidAction =
  | 'ignore'
  | 'restartProcess'
  | 'resetGpu'
  | 'rebootNode'
  | 'restartVm'
  | 'runWorkflow'
  | 'updateSoftware'
  | 'contactSupport';

/** Actions by XID; `a-b` covers all numbers from a to b. */
const ACTIONS: Readonly<Record<XidAction, string>> = {
  ignore: '14 37 38 43 44 63 66 67 92 93 106 107 121 137 141 152 153 157 160 161',
  restartProcess: '8 11 13 25 31 32 39-41 60 68-72 75-77 80 82-86 88 89 94 96-105 126-135 139',
  // 167 (fatal time-out of PCIe) and 169 (a microcontroller halted) are newer than the catalogue, which has no action for them.
  resetGpu: '46 62 64 95 109 110 119 120 136 140 143 155 156 158 167 169',
  rebootNode: '79',
  restartVm: '151',
  runWorkflow: '45 48 74 144-150 154 159',
  updateSoftware: '78',
  contactSupport: '54 142',
};

/** Classes of XIDs. Other XIDs are faults of an unknown class. */
const CLASSES: readonly (readonly [string, CrashClass])[] = [
  ['79', 'GpuLost'],
  ['48 64 94 95 140', 'GpuMemoryError'],
  ['74 144-150', 'NvlinkError'],
  ['13 31', 'IllegalMemoryAccess'],
];

const actionOf = tableOf(Object.entries(ACTIONS) as [XidAction, string][]);
const classOf = tableOf(CLASSES.map(([numbers, name]) => [name, numbers] as const));

/** The action for an XID; undefined if the table does not list it. */
export function xidAction(xid: number): XidAction | undefined {
  return actionOf.get(xid);
}

/** The class of crash that an XID shows; undefined if it needs no action or has no known cause. */
export function xidClass(xid: number): CrashClass | undefined {
  const action = xidAction(xid);
  const known = classOf.get(xid);
  if (known !== undefined || action === undefined) return known;
  if (action === 'ignore' || xid === 45) return undefined;
  return action === 'restartProcess' ? 'CudaError' : 'GpuFault';
}

/** `NVRM: Xid (PCI:0000:02:00): 79, GPU has fallen off the bus.`; `ErrorCode:119 PCI:...` of NVSentinel. */
const IN_A_LINE = /\bXid \(PCI:[0-9a-f:.]{1,20}\): (\d{1,3})\b|\bErrorCode:(\d{1,3})\b/gi;

const MAX_TEXT_CHARACTERS = 4_096;
const MAX_XIDS = 16;

/** The distinct XIDs in a line of the kernel log or the message of a node condition. */
export function xidsIn(text: string): readonly number[] {
  const found = [...text.slice(0, MAX_TEXT_CHARACTERS).matchAll(IN_A_LINE)];
  return [...new Set(found.map(([, kernel, condition]) => Number(kernel ?? condition)))].slice(0, MAX_XIDS);
}

function tableOf<T>(rows: readonly (readonly [T, string])[]): ReadonlyMap<number, T> {
  return new Map(rows.flatMap(([value, numbers]) => numbersIn(numbers).map((xid) => [xid, value] as const)));
}

function numbersIn(list: string): readonly number[] {
  return list.split(' ').flatMap((entry) => {
    const [first = 0, last = first] = entry.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
