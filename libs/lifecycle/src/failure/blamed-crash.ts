/** Does the log of a rank show that its node is to blame? */
import { CRASH_CLASSES, type CrashClass } from '@coxswain/api-types';
import { classifyCrash, type CrashJudgement } from '@coxswain/health';
import { worldSize } from '@coxswain/layout';
import type { JobRecord } from '../record/job-record.ts';
import type { Failure } from './failure.ts';
import { crashOf } from './failure-rules.ts';
import { otherWorldSize } from './other-world-size.ts';

/** Classes of a node that a program, its image or a server causes on every node: a wrong mask of devices, an old driver, a certificate. */
const ALSO_OF_PROGRAMS: readonly CrashClass[] = ['GpuUnavailable', 'NodeOutOfMemory', 'ClockSkewed'];

/**
 * Class and blame of the failure of the record's last attempt. What several nodes report is the fault of none of them, and neither is a stall that gangs
 * share.
 */
export function blamedCrash(record: JobRecord, failure: Failure): CrashJudgement {
  const crash = crashOf(failure);
  // A signal stopped a process, or other gangs stand still too.
  if (failure.reason === 'Condemned' && failure.node === undefined && !isShownByNode(failure)) {
    const { advice } = CRASH_CLASSES.CollectiveTimeout;
    return { ...crash, class: 'CollectiveTimeout', blame: 'environment', advice };
  }
  const sizes = crash.class === 'RendezvousFailed' ? sizesOf(record, failure) : undefined;
  if (sizes !== undefined) {
    const { blame, advice } = CRASH_CLASSES.WorldSizeDiffers;
    return { class: 'WorldSizeDiffers', blame, advice, evidence: sizes };
  }
  const isOfNode =
    failure.reason === 'EngineFailed' && crash.blame === 'node' && ALSO_OF_PROGRAMS.includes(crash.class);
  if (!isOfNode || isShownByNode(failure) || !isOfSeveralNodes(record, failure, crash.class)) return crash;
  return { ...crash, blame: 'environment' };
}

function sizesOf({ attempts }: JobRecord, { crash }: Failure): string | undefined {
  const layout = attempts.at(-1)?.layout;
  return layout === undefined ? undefined : otherWorldSize(crash.lastLines, worldSize(layout));
}

function isShownByNode({ crash: { nodeConditions = [] } }: Failure): boolean {
  return classifyCrash({ lastLines: [], nodeConditions }).class !== 'Unknown';
}

/** Whether another node of the gang raises the same error, or the attempt before failed in the same way on another node. */
function isOfSeveralNodes({ attempts }: JobRecord, { node, sameErrorOn = [] }: Failure, name: CrashClass): boolean {
  const before = attempts.at(-2);
  const wasThere = before?.outcome === 'Failed' && before.judgement?.class === name;
  const where = wasThere ? before.origin?.node : undefined;
  return sameErrorOn.length > 0 || (where !== undefined && where !== node);
}
