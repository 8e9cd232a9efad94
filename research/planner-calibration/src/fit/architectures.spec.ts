import { architectureOf, startOfArchitecture, withArchitectures } from './architectures.ts';

describe('chips of one architecture', () => {
  it.each([
    ['gb100', 'blackwell'],
    ['gb110', 'blackwell'],
    ['gh100', undefined],
  ])('%s belongs to %s', (chip, architecture) => {
    expect(architectureOf(chip)).toBe(architecture);
  });

  it('start where large products were measured beside the ceiling, and at 1 in all else', () => {
    expect(startOfArchitecture('blackwell', 'compute')).toBe(1.3);
    expect(startOfArchitecture('blackwell', 'memory')).toBe(1);
    expect(startOfArchitecture('another', 'compute')).toBe(1);
  });

  it('share what was learnt of both, times what is their own', () => {
    const chips = { gb100: { compute: 1.1 }, gh100: { compute: 3 } };
    const multiplied = withArchitectures(chips, { blackwell: { compute: 2, memory: 0.5 } });
    expect(multiplied).toMatchObject({ gb100: { compute: 2.2, memory: 0.5 }, gh100: { compute: 3 } });
  });

  it('give a chip that no row is of what was learnt of its siblings', () => {
    expect(withArchitectures({}, { blackwell: { compute: 2 } })['gb110']).toMatchObject({ compute: 2 });
  });

  it('are left alone where nothing was learnt of the architecture', () => {
    expect(withArchitectures({ gb100: { compute: 2 } }, {})).toEqual({ gb100: { compute: 2 } });
  });
});
