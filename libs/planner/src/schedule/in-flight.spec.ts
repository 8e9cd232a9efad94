import type { Schedule } from '../facts.ts';
import { anEvenSchedule, usualChunks } from '../testing/schedule-inputs.ts';
import { peakInFlight } from './in-flight.ts';
import { simulateSchedule } from './simulate.ts';

describe('peakInFlight', () => {
  it.each<[Schedule, number, number, number]>([
    ['gpipe', 1, 0, 16],
    ['1f1b', 1, 0, 8],
    ['1f1b', 1, 3, 5],
    ['interleaved-1f1b', 2, 0, 8 * (1 + 7 / 16) * 2],
    ['zb-h1', 1, 7, 8],
    ['zb-2p', 1, 0, 16],
    ['zbv', 2, 3, 16],
    ['v-half', 2, 0, 10],
    ['v-min', 2, 0, 8],
    ['dualpipe-v', 2, 0, 17],
  ])('%s with %d chunks holds on rank %d of 8 at most %d activations', (schedule, chunks, rank, held) => {
    expect(peakInFlight({ schedule, pipeline: 8, chunks, microBatches: 16 }, rank)).toBe(held);
  });

  it.each<[Schedule, number]>([
    ['zb-h1', 1],
    ['zb-2p', 2],
    ['zbv', 1],
    ['v-half', 1 / 2],
    ['v-min', 1 / 3],
  ])('%s holds about %d of what the first rank of 1F1B does', (schedule, share) => {
    const chunks = usualChunks(schedule);
    const held = peakInFlight({ schedule, pipeline: 64, chunks, microBatches: 256 }, 0) / chunks;
    expect(Math.abs(held / 64 - share)).toBeLessThan(0.02);
  });

  it.each<Schedule>(['zb-h1', 'zb-2p', 'zbv', 'v-half', 'v-min', 'dualpipe-v'])('%s reaches it', (schedule) => {
    for (const pipeline of [3, 4, 6, 16]) {
      const chunks = usualChunks(schedule);
      const shape = { schedule, pipeline, chunks, microBatches: 4 * pipeline };
      const { peakInFlight: held } = simulateSchedule(anEvenSchedule(shape));
      expect(Math.max(...held)).toBe(peakInFlight(shape, 0));
    }
  });
});
