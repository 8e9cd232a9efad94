import { BytesInFlight } from './bytes-in-flight.ts';

describe('bytes in flight', () => {
  it('are so many at a time; an answer that was sent makes room, once', () => {
    const inFlight = new BytesInFlight(100);
    const [first, second] = [inFlight.take(60), inFlight.take(40)];
    expect(inFlight.take(1)).toBeUndefined();
    first?.();
    first?.();
    expect(inFlight.bytes).toBe(40);
    second?.();
    expect(inFlight.take(100)).toBeDefined();
  });

  it('have room for one answer that is larger than all of it', () => {
    const inFlight = new BytesInFlight(100);
    expect(inFlight.take(200)).toBeDefined();
    expect(inFlight.take(1)).toBeUndefined();
  });
});
