import { closedTimeOf, type NodeWindow } from '@coxswain/fabric';
import type { ClosedTime } from './forecast-input.ts';

/**
 * When windows of the Fabric keep jobs off which nodes. A node in several windows counts once at each moment, as in the one that began first. A window
 * from which nothing is kept yet is left out: jobs may start across it, and move when it begins.
 */
export function closedTimes(windows: ReadonlyMap<string, readonly NodeWindow[]>, now: Date): readonly ClosedTime[] {
  const times = new Map<string, ClosedTime & { readonly nodes: string[] }>();
  for (const [node, over] of windows) {
    let closedUntilMs = now.getTime();
    for (const window of over) {
      const closed = closedTimeOf(window, now.getTime());
      if (closed === undefined) continue;
      const { untilMs } = closed;
      const { namespace } = window;
      const startMs = Math.max(closedUntilMs, closed.fromMs);
      if (untilMs <= startMs) continue;
      closedUntilMs = untilMs;
      const key = `${String(startMs)} ${String(untilMs)} ${namespace ?? ''}`;
      const known = times.get(key);
      if (known === undefined) times.set(key, { fromMs: startMs, untilMs, namespace, nodes: [node] });
      else known.nodes.push(node);
    }
  }
  return [...times.values()];
}
