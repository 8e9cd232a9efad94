import { differences, KILL_MOMENTS, KillGround } from './testing/kill-points.ts';
import { sharedWorld } from './testing/shared-world.ts';
import type { World } from './testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await sharedWorld();
});
afterAll(() => world.stop());

/** Every write at every moment is the campaign `kill-at-every-write`; here each eleventh write, at each moment in turn, and while the planner searches. */
const STRIDE = 11;
/** Only for what hangs: all these lives are one test, which takes four minutes beside the unit tests. */
const HANGS_MS = 1_800_000;

describe('an operator that is killed with SIGKILL at a write', () => {
  it(
    'is continued by the next one, and the job ends as if nothing had happened, wherever that was',
    async () => {
      const ground = await KillGround.prepare(world);
      const clean = await ground.live();
      expect(clean.broken).toEqual([]);
      const wrong: string[] = [];
      let reached = 0;
      const strided = clean.writes.flatMap((_write, write) =>
        write % STRIDE === 0
          ? [{ write, moment: KILL_MOMENTS[(write / STRIDE) % KILL_MOMENTS.length] ?? 'beforeSend' }]
          : [],
      );
      // Status says that the job is planned, and the planner has just been asked.
      const whilePlanning = {
        write: clean.writes.findIndex((write) => write.endsWith('/status')),
        moment: 'afterAnswer',
      } as const;
      for (const { write, moment } of [whilePlanning, ...strided]) {
        const life = await ground.live({ write, moment });
        if (life.killed) reached += 1;
        wrong.push(
          ...differences(life, clean).map((problem) => `${moment} ${write} ${clean.writes[write]}: ${problem}`),
        );
      }
      expect(wrong).toEqual([]);
      // A write may be missing from a life, such as an event that was merged into another; a life without a kill proves nothing.
      expect(reached).toBeGreaterThanOrEqual(strided.length);
    },
    HANGS_MS,
  );
});
