/** Which conditions of a Node often come before what runs there fails? */
import type { CrashClass } from '@coxswain/api-types';
import { faultClass, type NodeCondition } from './node-conditions.ts';
import { xidAction, xidClass, xidsIn } from './xid.ts';

/** A condition for which a node is suspect. */
export interface NodeSign {
  /** Of the condition. */
  readonly type: string;
  readonly class: CrashClass;
  /** What its message names; empty: none. */
  readonly xids: readonly number[];
}

/** What kinds of faults are of the GPU or what it hangs on, though the process may be all that ends: contained memory errors come before worse ones. */
const OF_THE_GPU: readonly (CrashClass | undefined)[] = ['GpuLost', 'GpuMemoryError', 'NvlinkError'];

/** XIDs of row remapping, which NVIDIA's table asks nothing for: a spare row was used up, and each comes of memory errors. */
const OF_MEMORY: readonly number[] = [63, 92];

/** Those after which the GPU is as it was: they come of what a process did, and end that process alone. What nobody knows is not among them. */
function isHarmless(xid: number): boolean {
  const action = xidAction(xid);
  const isOfProgram = action === 'ignore' || action === 'restartProcess';
  return isOfProgram && !OF_MEMORY.includes(xid) && !OF_THE_GPU.includes(xidClass(xid));
}

/**
 * Those that tell of a fault, without pressures: memory, disk and processes of a node run short because of what pods do, most often this very gang, and pass. A
 * condition whose message names XIDs, all of them of the program, tells of no fault of the node. Never throws.
 */
export function signsOfFailure(conditions: readonly NodeCondition[]): readonly NodeSign[] {
  return conditions.flatMap((condition) => {
    const found = faultClass(condition);
    const xids = xidsIn(condition.message ?? '');
    const isOfProgram = xids.length > 0 && xids.every(isHarmless);
    return found === undefined || isOfProgram ? [] : [{ type: condition.type, class: found, xids }];
  });
}
