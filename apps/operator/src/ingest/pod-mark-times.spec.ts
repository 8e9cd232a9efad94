import type { LauncherMessage, PodMarks } from '@coxswain/api-types';
import { PodMarkTimes } from './pod-mark-times.ts';

/** A heartbeat with these marks; without, a hello. */
const message = (incarnation: number, marks?: PodMarks): LauncherMessage =>
  (marks === undefined ? { kind: 'hello', incarnation } : { kind: 'heartbeat', incarnation, marks }) as LauncherMessage;

it('turns ages into times, keeps the first of each mark, and forgets those of an earlier incarnation', () => {
  const times = new PodMarkTimes();
  expect(times.receive(message(1), 1_000)).toBeUndefined();
  expect(times.receive(message(1, { started: 400 }), 1_000)).toEqual({ atMs: { started: 600 }, saves: [] });
  expect(times.receive(message(1, { started: 900, imported: 100 }), 2_000)).toEqual({
    atMs: { started: 600, imported: 1_900 },
    saves: [],
  });
  // A message without marks, such as hello, takes none away.
  expect(times.receive(message(1), 3_000)?.atMs).toEqual({ started: 600, imported: 1_900 });
  expect(times.receive(message(1, { saves: [{ step: 5, ms: 7 }] }), 3_000)?.saves).toEqual([{ step: 5, ms: 7 }]);
  expect(times.receive(message(2, { reaped: 5_000 }), 3_000)).toEqual({ atMs: { reaped: 0 }, saves: [] });
});
