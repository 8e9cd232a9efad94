import { standbyNodes } from './standby-nodes.ts';

describe('spare nodes', () => {
  it.each([
    [128, 2],
    [256, 2],
    [512, 3],
    [1024, 4],
  ])('of %d machines are %d, as ByteRobust has them, at 0.12 %% each', (nodes, spares) => {
    expect(standbyNodes(nodes, 0.0012)).toBe(spares);
  });

  it.each([
    ['of nodes that never fail', 1_000, 0, 0],
    ['of 2,048 nodes at the rate of Llama 3, where one is replaced in a day', 2_048, 0.00379, 15],
  ])('%s', (_what, nodes, probability, spares) => {
    expect(standbyNodes(nodes, probability)).toBe(spares);
  });
});
