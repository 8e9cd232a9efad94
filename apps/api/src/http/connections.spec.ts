import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { createMetrics } from '@coxswain/telemetry';
import { boundConnections } from './connections.ts';

class Connection extends EventEmitter {
  owner: string | undefined;
  isOpen = true;

  resetAndDestroy(): void {
    this.isOpen = false;
    this.emit('close');
  }
}

/** Connections in the order in which they come, each by who is let in on it before the next one comes; `-`: nobody. Those that are open in the end. */
function left(most: number, comers: string): string {
  const server = new EventEmitter();
  const ownerOf = (connection: Socket): string | undefined => (connection as unknown as Connection).owner;
  boundConnections(server as Server, { most, ownerOf, metrics: createMetrics() });
  const connections = [...comers].map((owner) => {
    const connection = new Connection();
    server.emit('connection', connection);
    if (owner !== '-') connection.owner = owner;
    return connection;
  });
  return connections.map(({ isOpen }, index) => (isOpen ? comers[index] : 'x')).join('');
}

describe('connections to a server that takes 12, 3 of them of strangers', () => {
  it.each<[string, string, string]>([
    ['that are no more than that stay', 'abcdefghi---', 'abcdefghi---'],
    ['of strangers make room for those of others, who came first for who came last', '-----', 'xx---'],
    ['of a stranger stay beside any number on which somebody was let in', '-abcdefghijk', '-abcdefghijk'],
    ['of strangers make room where nobody has more', 'abcdefghij--k', 'abcdefghijx-k'],
    ['of whoever has most make room, so that he keeps nobody out', 'aaaaaaaaaaaab', 'xaaaaaaaaaaab'],
    ['of whoever has most make room for a stranger', 'abaaaaaaaaaa-', 'xbaaaaaaaaaa-'],
    ['of whoever has most make room again and again', 'aaaaaaaaaaaabcdef', 'xxxxxaaaaaaabcdef'],
  ])('%s', (_sentence, comers, want) => {
    expect(left(12, comers)).toBe(want);
  });

  it('are as many as come where there is no bound', () => {
    expect(left(0, '-----')).toBe('-----');
  });

  it('are cut several at once where they are many', () => {
    const open = left(8_192, '-'.repeat(2_049));
    expect([open.indexOf('-'), open.lastIndexOf('x')]).toEqual([32, 31]);
  });
});
