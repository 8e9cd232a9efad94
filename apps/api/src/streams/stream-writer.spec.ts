import { StreamWriter } from './stream-writer.ts';
import { ReaderOfStream } from './testing/a-reader-of-streams.ts';
import { UnreadBytes } from './unread-bytes.ts';

const PING = Buffer.from(': ping\n\n');

describe('unread bytes of streams', () => {
  /** Readers of two projects; a project may leave 100 bytes unread. */
  function readers() {
    const unread = new UnreadBytes({ most: 400, mostOfOwner: 100 });
    const open = (owner: string) => {
      const reader = new ReaderOfStream();
      let ends = 0;
      const writer = new StreamWriter(reader.response, 1_000, () => (ends += 1), { owner, unread });
      const leave = (bytes: number): void => {
        reader.writableLength = bytes;
        writer.write(PING);
      };
      return { reader, leave, ends: () => ends };
    };
    return { unread, open };
  }

  it('of tenant A cost it the stream with the most, and tenant B reads on', () => {
    const { unread, open } = readers();
    const [small, large, other] = [open('a'), open('a'), open('b')];
    other.leave(90);
    large.leave(60);
    small.leave(50);
    expect([small, large, other].map(({ ends }) => ends())).toEqual([0, 1, 0]);
    expect(unread.bytes).toBe(140);
    other.leave(0);
    expect(other.reader.text).toBe(PING.toString().repeat(2));
  });

  it('count no more when the stream has ended', () => {
    const { unread, open } = readers();
    const reader = open('a');
    reader.leave(90);
    reader.reader.end();
    expect(unread.bytes).toBe(0);
  });

  it('that alone are beyond the share end their own stream, which writes nothing more', () => {
    const { open } = readers();
    const reader = open('a');
    reader.leave(150);
    expect([reader.ends(), reader.reader.text]).toEqual([1, '']);
  });
});
