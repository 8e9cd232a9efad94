/** Which conditions of a Node often come before what runs there fails? */
import type { CrashClass } from '@coxswain/api-types';
import { faultClass, type NodeCondition } from './node-conditions.ts';
import { xidAction, type XidAction, xidsIn } from './xid.ts';

/** A condition for which a node is suspect. */
export interface NodeSign {
  /** Of the condition. */
  readonly type: string;
  readonly class: CrashClass;
  /** What its message names; empty: none. */
  readonly xids: readonly number[];
}

/** XIDs after which the GPU is as it was: they come of what a process did, and end that process alone. */
const HARMLESS: readonly (XidAction | undefined)[] = ['ignore', 'restartProcess', undefined];

/**
 * Those that tell of a fault, without pressures: memory, disk and processes of a node run short because of what pods do, most often this very gang, and pass. A
 * condition whose message names XIDs, all of them of the program, tells of no fault of the node. Never throws.
 */
export function signsOfFailure(conditions: readonly NodeCondition[]): readonly NodeSign[] {
  return conditions.flatMap((condition) => {
    const found = faultClass(condition);
    const xids = xidsIn(condition.message ?? '');
    const isHarmless = xids.length > 0 && xids.every((xid) => HARMLESS.includes(xidAction(xid)));
    return found === undefined || isHarmless ? [] : [{ type: condition.type, class: found, xids }];
  });
}
