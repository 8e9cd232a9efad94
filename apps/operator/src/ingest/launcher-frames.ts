/** Which message does a frame of a launcher contain, and is it consistent with its pod? */
import { LauncherMessage, MAX_RANKS_PER_POD, parseRanks, type PodStacks } from '@coxswain/api-types';
import { parseForeignJson } from '@coxswain/safe-text';
import type { ReportingPod } from './session-ports.ts';

/** The message in a frame; undefined if the frame is no message of this protocol. */
export function parseFrame(frame: string): LauncherMessage | undefined {
  try {
    return LauncherMessage.safeParse(parseForeignJson(frame)).data;
  } catch {
    return undefined;
  }
}

/** Why a pod is not the one that its launcher named; undefined if it is. */
export function describeMismatch(
  found: ReportingPod,
  { jobUid, epoch, podIndex }: Pick<ReportingPod, 'jobUid' | 'epoch' | 'podIndex'>,
): string | undefined {
  if (found.jobUid === jobUid && found.epoch === epoch && found.podIndex === podIndex) return undefined;
  return `the pod is index ${found.podIndex} of attempt ${found.epoch} of job ${found.jobUid}, not ${podIndex} of ${epoch} of ${jobUid}`;
}

/** Whether a message names no ranks but those of the pod. */
export function hasOnlyRanksOf(message: LauncherMessage, pod: ReportingPod): boolean {
  const areOurs = ({ ranks }: { readonly ranks: readonly { readonly rank: number }[] }): boolean =>
    ranks.every(({ rank }) => pod.ranks.includes(rank));
  if (message.kind === 'steps') return message.reports.every(areOurs);
  if (message.kind === 'step') return areOurs(message.report);
  if (message.kind === 'stacks') return stackRanks(message.stacks).every((rank) => pod.ranks.includes(rank));
  if (message.kind === 'trained') return pod.ranks.includes(message.rank);
  if (message.kind !== 'heartbeat') return true;
  const { watermarks = [], processes = [] } = message;
  return areOurs(message) && areOurs({ ranks: [...watermarks, ...processes] });
}

function stackRanks({ groups, silent, leftOut }: PodStacks): readonly number[] {
  return [...groups, ...silent, { ranks: leftOut }].flatMap(({ ranks }) => parseRanks(ranks, MAX_RANKS_PER_POD));
}

/** The incarnation of a message; launchers without incarnations run the first. */
export function incarnationOf({ incarnation = 1 }: LauncherMessage): number {
  return incarnation;
}

/** `host:port`, with brackets around an IPv6 address. */
export function isHostAndPort(address: string): boolean {
  const [, port] = /^(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})$/.exec(address) ?? [];
  return port !== undefined && Number(port) > 0 && Number(port) <= 65_535;
}
