import { cutOffUnlessRead, sendTo } from './unread-bytes.ts';

/** A connection whose other end has so much to read yet. */
function aSocket(bufferedAmount: number) {
  const done: string[] = [];
  const send = (data: unknown): void => void done.push(String(data));
  const terminate = (): void => void done.push('terminated');
  return { bufferedAmount, readyState: 1, OPEN: 1, send, terminate, done } as const;
}

describe('a connection whose other end does not read', () => {
  it.each([
    ['is sent more while up to 256 KiB lie here', 262_144, ['{"kind":"ack","sequence":1}']],
    ['is cut off when more lie here', 262_145, ['terminated']],
  ])('%s', (_what, unread, done) => {
    const socket = aSocket(unread);
    sendTo(socket, { kind: 'ack', sequence: 1 });
    expect(socket.done).toEqual(done);
  });

  it('is cut off also where only answers to its pings lie here', () => {
    const socket = aSocket(262_145);
    expect([cutOffUnlessRead(socket), socket.done]).toEqual([true, ['terminated']]);
  });

  it('is sent nothing once it is closing', () => {
    const socket = { ...aSocket(0), readyState: 2 } as const;
    sendTo(socket, { kind: 'ack', sequence: 1 });
    expect(socket.done).toEqual([]);
  });
});
