import fc from 'fast-check';
import { serverSentEvents, type ServerSentEvent } from './server-sent-events.ts';

function streamOf(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

async function read(chunks: readonly Uint8Array[]): Promise<readonly ServerSentEvent[]> {
  const events: ServerSentEvent[] = [];
  for await (const event of serverSentEvents(streamOf(chunks))) events.push(event);
  return events;
}

describe('a stream of server-sent events', () => {
  it.each([
    [
      'an event with a name, an id and data',
      'event: step\nid: 7\ndata: {"a":1}\n\n',
      [{ event: 'step', id: '7', data: '{"a":1}' }],
    ],
    ['several data lines are one text', 'data: a\ndata: b\n\n', [{ event: 'message', id: undefined, data: 'a\nb' }]],
    [
      'comments keep the connection and say nothing',
      ': heartbeat\n\ndata: x\n\n',
      [{ event: 'message', id: undefined, data: 'x' }],
    ],
    [
      'an id stays until another comes',
      'id: 1\ndata: a\n\ndata: b\n\n',
      [
        { event: 'message', id: '1', data: 'a' },
        { event: 'message', id: '1', data: 'b' },
      ],
    ],
    ['half an event at the end is dropped', 'data: a\n\ndata: b', [{ event: 'message', id: undefined, data: 'a' }]],
  ])('%s', async (_sentence, text, want) => {
    expect(await read([new TextEncoder().encode(text)])).toEqual(want);
  });

  it('reads the same however the bytes are cut', async () => {
    const bytes = new TextEncoder().encode('event: job\r\nid: 3\r\ndata: {"name":"größe"}\r\n\r\ndata: end\n\n');
    const whole = await read([bytes]);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: bytes.length - 1 }), async (cut) => {
        expect(await read([bytes.slice(0, cut), bytes.slice(cut)])).toEqual(whole);
      }),
    );
  });
});
