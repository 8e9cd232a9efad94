import { differences, KILL_MOMENTS, KillGround } from './testing/kill-points.ts';
import { startWorld, type World } from './testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
  await Promise.all(['node-a', 'node-b'].map((name) => world.node(name, 2)));
});
afterAll(() => world.stop());

/** Every write at every moment is the campaign `kill-at-every-write`; here each third write, at each moment in turn. */
const STRIDE = 3;

describe('an operator that is killed with SIGKILL at a write', () => {
  it('is continued by the next one, and the job ends as if nothing had happened, wherever that was', async () => {
    const ground = await KillGround.prepare(world);
    const clean = await ground.live();
    expect(clean.broken).toEqual([]);
    const wrong: string[] = [];
    let reached = 0;
    for (let write = 0; write < clean.writes.length; write += STRIDE) {
      const moment = KILL_MOMENTS[(write / STRIDE) % KILL_MOMENTS.length] ?? 'beforeSend';
      const life = await ground.live({ write, moment });
      if (life.killed) reached += 1;
      wrong.push(...differences(life, clean).map((problem) => `${moment} ${write} ${clean.writes[write]}: ${problem}`));
    }
    expect(wrong).toEqual([]);
    // A write may be missing from a life, such as an event that was merged into another; a life without a kill proves nothing.
    expect(reached).toBeGreaterThanOrEqual(Math.ceil(clean.writes.length / STRIDE) - 1);
  });
});
