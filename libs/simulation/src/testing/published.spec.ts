import { byteRobustRows, megaScaleRows } from './published.ts';

/** Two runs each, so a third of the way into the bounds on either side is given; `npm run simulate:validate` holds all rows to the bounds by many seeds. */
describe('the simulation beside what was published', () => {
  it.each([...megaScaleRows(2), ...byteRobustRows(2)])(
    '$test: $what, published: $published',
    ({ found, least, most }) => {
      const slack = (most - least) / 3;
      expect(found).toBeGreaterThanOrEqual(least - slack);
      expect(found).toBeLessThanOrEqual(most + slack);
    },
  );
});
