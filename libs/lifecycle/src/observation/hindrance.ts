/** How does status report a write that the API server denies? */
import { HINDRANCE_BEGINS, podOfName } from '@coxswain/api-types';
import { cutText } from '@coxswain/safe-text';
import type { Facts } from './facts.ts';
import { type RefusedCall, type RefusedCallKind, REFUSED_CALLS } from './refused-calls.ts';

/** Characters of the server's sentence that status shows. */
const SHOWN_CHARACTERS = 600;

/** A sentence on the first denied write of these kinds that is still due; undefined: there is none. */
export function hindranceOf(facts: Facts, kinds: readonly RefusedCallKind[]): string | undefined {
  const call = facts.observed.refusedCalls?.find((one) => kinds.includes(one.kind) && isDue(facts, one));
  if (call === undefined) return undefined;
  const { kind, name, message } = call;
  const said = cutText(message, SHOWN_CHARACTERS);
  return `${HINDRANCE_BEGINS} ${REFUSED_CALLS[kind]} ${name}: ${said}${/[.!?…]$/.test(said) ? '' : '.'} Coxswain retries.`;
}

/** Whether the write is still to be made. The memory of a pod that is gone since, or of an earlier attempt, is no news. */
function isDue({ pods, attempts }: Facts, { kind, name }: RefusedCall): boolean {
  const attempt = attempts.at(-1);
  const pod = pods.find((one) => one.name === name);
  switch (kind) {
    case 'createPod':
      return pod === undefined && podOfName(name)?.epoch === attempt?.epoch;
    case 'createPlacement':
      return attempt?.placement === name;
    case 'liftGate':
      return pod?.gated === true;
    case 'releasePod':
      return pod?.held === true;
    case 'deletePod':
      return pod !== undefined && pod.deletionTimestamp === undefined;
    case 'createComputeDomain':
    case 'probePod':
    case 'removeFinalizer':
      return true;
  }
}
