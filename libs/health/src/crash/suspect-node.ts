/** Which conditions of a node often precede failures of its pods? */
import type { CrashClass } from '@coxswain/api-types';
import { faultClass, type NodeCondition } from './node-conditions.ts';
import { xidAction, xidClass, xidsIn } from './xid.ts';

/** A condition for which a node is suspect. */
export interface NodeSign {
  /** Type of the condition. */
  readonly type: string;
  readonly class: CrashClass;
  /** XIDs in the condition's message; empty if there are none. */
  readonly xids: readonly number[];
}

/** Classes of faults of the GPU or its connection, even if only the process ended: contained memory errors precede worse ones. */
const OF_THE_GPU: readonly (CrashClass | undefined)[] = ['GpuLost', 'GpuMemoryError', 'NvlinkError'];

/** XIDs of row remapping. NVIDIA's table requires no action, but each follows memory errors and uses up a spare row. */
const OF_MEMORY: readonly number[] = [63, 92];

/** XIDs that a process causes and that end only that process; the GPU is unaffected. Unknown XIDs are not included. */
function isHarmless(xid: number): boolean {
  const action = xidAction(xid);
  const isOfProgram = action === 'ignore' || action === 'restartProcess';
  return isOfProgram && !OF_MEMORY.includes(xid) && !OF_THE_GPU.includes(xidClass(xid));
}

/**
 * Conditions that show a fault of the node. Pressure of memory, disk and processes is left out: pods cause it, most often this gang, and it passes. A
 * condition with XIDs that are all caused by programs shows no fault of the node. Never throws.
 */
export function signsOfFailure(conditions: readonly NodeCondition[]): readonly NodeSign[] {
  return conditions.flatMap((condition) => {
    const found = faultClass(condition);
    const xids = xidsIn(condition.message ?? '');
    const isOfProgram = xids.length > 0 && xids.every(isHarmless);
    return found === undefined || isOfProgram ? [] : [{ type: condition.type, class: found, xids }];
  });
}
