/** What is in a frame of a launcher, before anything is made of it? */
import { LauncherMessage } from '@coxswain/api-types';
import { parseForeignJson } from '@coxswain/safe-text';
import type { ReportingPod } from './session-ports.ts';

/** The message in a frame; undefined where it is none of this protocol. */
export function parseFrame(frame: string): LauncherMessage | undefined {
  try {
    return LauncherMessage.safeParse(parseForeignJson(frame)).data;
  } catch {
    return undefined;
  }
}

/** Whether a message speaks of no ranks but those of the pod. */
export function ranksAreOf(message: LauncherMessage, pod: ReportingPod): boolean {
  const areOurs = ({ ranks }: { readonly ranks: readonly { readonly rank: number }[] }): boolean =>
    ranks.every(({ rank }) => pod.ranks.includes(rank));
  if (message.kind === 'steps') return message.reports.every(areOurs);
  if (message.kind === 'step') return areOurs(message.report);
  if (message.kind === 'trained') return pod.ranks.includes(message.rank);
  return message.kind !== 'heartbeat' || (areOurs(message) && areOurs({ ranks: message.watermarks ?? [] }));
}

/** A launcher that knows of none runs the first. */
export function incarnationOf({ incarnation = 1 }: LauncherMessage): number {
  return incarnation;
}

/** `host:port`, with brackets around an IPv6 address. */
export function isHostAndPort(address: string): boolean {
  const [, port] = /^(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})$/.exec(address) ?? [];
  return port !== undefined && Number(port) > 0 && Number(port) <= 65_535;
}
