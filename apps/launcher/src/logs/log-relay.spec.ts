import { Writable } from 'node:stream';
import { LogRelay, LogSink, LogTail, MAX_WAITING_BYTES } from './log-relay.ts';

/** A container's log that is not read before `read`. */
class UnreadLog extends Writable {
  text = '';
  #next: (() => void) | undefined;
  #isRead = false;

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString('utf8');
    if (this.#isRead) done();
    else this.#next = done;
  }

  read(): void {
    this.#isRead = true;
    this.#next?.();
  }
}

function aPod() {
  const log = new UnreadLog();
  const sink = new LogSink(log);
  const relayOf = (name: string): LogRelay => new LogRelay({ name, sink, tail: new LogTail() });
  return { log, sink, noisy: relayOf('rank 1'), quiet: relayOf('rank 0') };
}

/** 12 MiB, in lines of 64 bytes. */
function spam(relay: LogRelay): void {
  for (let chunk = 0; chunk < 192; chunk += 1) {
    const lines = Array.from({ length: 1024 }, (_, line) => `${chunk * 1024 + line}`.padEnd(63, '.'));
    relay.push(Buffer.from(`${lines.join('\n')}\n`));
  }
}

describe('a log that is read more slowly than a rank writes', () => {
  it('has the last lines of that rank, of the others and of the launcher, and counts what it lacks', async () => {
    const { log, sink, noisy, quiet } = aPod();
    spam(noisy);
    quiet.push(Buffer.from('step 7\n'));
    sink.logLine('rank 1 exited with code 7');
    spam(noisy);
    noisy.push(Buffer.from('ValueError: the reason\n'));
    expect(log.writableLength).toBeLessThanOrEqual(MAX_WAITING_BYTES);
    log.read();
    await sink.drain(1_000);
    expect(log.text).toMatch(/^\[rank 1\] ValueError: the reason$/m);
    expect(log.text).toMatch(/^\[rank 0\] step 7$/m);
    expect(log.text).toMatch(/^\[launcher\] rank 1 exited with code 7$/m);
    const dropped = Number(/\[launcher\] (\d+) lines \(\d+ bytes\) of output were dropped/.exec(log.text)?.[1]);
    const passedOn = log.text.match(/^\[rank 1\] \d+\.+$/gm)?.length ?? 0;
    expect(dropped + passedOn).toBe(2 * 192 * 1024);
    expect(log.text.length).toBeLessThan(MAX_WAITING_BYTES + 1_048_576);
  });

  it('does not keep the launcher busy if ranks flush each line', () => {
    const { sink, noisy } = aPod();
    spam(noisy);
    const relays = Array.from(
      { length: 8 },
      (_, rank) => new LogRelay({ name: `rank ${rank}`, sink, tail: new LogTail() }),
    );
    const startMs = performance.now();
    for (let line = 0; line < 5_000; line += 1) for (const relay of relays) relay.push(Buffer.from('a\n'));
    expect(performance.now() - startMs).toBeLessThan(4_000);
  });

  it('goes on without a word of its own once it is read', async () => {
    const { log, sink, noisy } = aPod();
    log.read();
    noisy.push(Buffer.from('one\ntwo\n'));
    await sink.drain(1_000);
    expect(log.text).toBe('[rank 1] one\n[rank 1] two\n');
  });
});

it('the lines that explain an end show a progress bar as it stood last, and lines of Windows without their carriage return', () => {
  const tail = new LogTail();
  const relay = new LogRelay({ name: 'rank 1', sink: new LogSink(new UnreadLog()), tail });
  relay.push(Buffer.from('\r step 1\r step 2\r step 3\nValueError: x\r\n'));
  expect(tail.read()).toEqual([' step 3', 'ValueError: x']);
});
