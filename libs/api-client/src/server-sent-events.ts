/** One event of a `text/event-stream` (WHATWG HTML, section 9.2). */
export interface ServerSentEvent {
  readonly event: string;
  readonly data: string;
  /** Last id seen so far on the stream. */
  readonly id: string | undefined;
}

/** Parses a stream into events. Ignores comments and unknown fields, and drops an incomplete event at the end. */
export async function* serverSentEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  let id: string | undefined;
  let event = 'message';
  let data: string[] = [];
  for await (const line of lines(body)) {
    if (line === '') {
      if (data.length > 0) yield { event, data: data.join('\n'), id };
      event = 'message';
      data = [];
      continue;
    }
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') data.push(value);
    if (field === 'event') event = value;
    if (field === 'id') id = value;
  }
}

async function* lines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const parts = rest.split(/\r\n|\n|\r(?!$)/);
    rest = parts.pop() ?? '';
    yield* parts;
  }
}
