import { EventEmitter } from 'node:events';
import { ObserverPlaces } from './observer-places.ts';

class Connection extends EventEmitter {
  isDestroyed = false;

  destroy(): void {
    this.isDestroyed = true;
    this.emit('close');
  }
}

const connections = (count: number): readonly Connection[] => Array.from({ length: count }, () => new Connection());
const pod = (podUid: string, namespace = 'research'): { podUid: string; namespace: string } => ({ podUid, namespace });

describe('the places of observers', () => {
  it('are two for a pod: a third connection ends the oldest', () => {
    const places = new ObserverPlaces();
    const sockets = connections(200);
    for (const socket of sockets) expect(places.enter(pod('u-1'), socket)).toBe(true);
    expect(sockets.filter(({ isDestroyed }) => !isDestroyed)).toEqual(sockets.slice(-2));
    expect(places.connections).toBe(2);
  });

  it('are bounded for a namespace and for all, and free again when a connection closes', () => {
    const places = new ObserverPlaces({ all: 3, namespace: 2 });
    const [one, two, three, four, five] = connections(5) as [
      Connection,
      Connection,
      Connection,
      Connection,
      Connection,
    ];
    expect(places.enter(pod('u-1'), one)).toBe(true);
    expect(places.enter(pod('u-2'), two)).toBe(true);
    expect(places.enter(pod('u-3'), three)).toBe(false);
    expect(places.enter(pod('u-4', 'vision'), four)).toBe(true);
    expect(places.enter(pod('u-5', 'speech'), five)).toBe(false);
    one.destroy();
    expect(places.enter(pod('u-3'), three)).toBe(true);
    expect(places.enter(pod('u-3'), three)).toBe(true);
    expect(places.connections).toBe(3);
  });

  it('let a pod send one report at a time, and no more often over several connections', () => {
    const places = new ObserverPlaces();
    const [one, other] = connections(2) as [Connection, Connection];
    const first = places.begin('u-1', one, 0);
    expect(places.begin('u-1', other, 1_000)).toBeUndefined();
    first?.end();
    expect(places.begin('u-1', other, 249)).toBeUndefined();
    expect(places.begin('u-2', one, 249)).toBeDefined();
    expect(places.begin('u-1', other, 250)).toBeDefined();
  });

  it('hold so many bytes of reports: the connection that holds most is cut', () => {
    const places = new ObserverPlaces({ heldBytes: 100 });
    const [one, other] = connections(2) as [Connection, Connection];
    const big = places.begin('u-1', one, 0);
    const small = places.begin('u-2', other, 0);
    big?.receive(90);
    small?.receive(20);
    expect([one.isDestroyed, other.isDestroyed]).toEqual([true, false]);
    big?.end();
    small?.receive(60);
    expect(other.isDestroyed).toBe(false);
  });
});
