/** Chunks of a body. Leaving the loop early closes the connection. Works in browsers without async iteration of streams. */
export async function* chunks(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return undefined;
      yield value;
    }
  } finally {
    // A body that has failed cannot be cancelled, and needs no cancelling.
    await reader.cancel().catch(() => undefined);
  }
}
