/** What an issuer says is a few kB; its keys are the largest. */
export const MAX_ANSWER_BYTES = 262_144;
/** Longest call to an issuer, from the start of the call to the last byte of the answer. */
export const ISSUER_TIMEOUT_MS = 5_000;

/** More calls to the issuer at a time would come from strangers who begin to sign in and do not mean it. */
export const MAX_CALLS = 20;

/** The issuer did not answer, or not as an issuer does. The identity is unknown; the caller is not at fault. */
export class IssuerUnavailable extends Error {}

type Fetch = (url: string, init?: RequestInit) => Promise<Response>;

/**
 * `fetch` for calls to one issuer: {@link ISSUER_TIMEOUT_MS} from the call to the last byte, {@link MAX_ANSWER_BYTES}, {@link MAX_CALLS} at a time, and
 * no redirects, which would take what is sent elsewhere. Rejects with {@link IssuerUnavailable}.
 */
export function boundedFetch(fetch: Fetch = globalThis.fetch): Fetch {
  let running = 0;
  return async (url, init = {}) => {
    if (running >= MAX_CALLS) throw new IssuerUnavailable(`${MAX_CALLS} calls to the issuer are under way`);
    running++;
    try {
      const timeout = AbortSignal.timeout(ISSUER_TIMEOUT_MS);
      const signal =
        init.signal === undefined || init.signal === null ? timeout : AbortSignal.any([init.signal, timeout]);
      const answer = await fetch(url, { ...init, signal, redirect: 'manual' });
      if (answer.status >= 500 || answer.status === 429) throw new IssuerUnavailable(`it answered ${answer.status}`);
      const body = await bodyOf(answer);
      return new Response(body, { status: answer.status === 0 ? 502 : answer.status, headers: answer.headers });
    } catch (error) {
      if (error instanceof IssuerUnavailable) throw error;
      throw new IssuerUnavailable((error as Error).message, { cause: error });
    } finally {
      running--;
    }
  };
}

async function bodyOf({ body }: Response): Promise<Uint8Array<ArrayBuffer> | null> {
  if (body === null) return null;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER_BYTES) throw new IssuerUnavailable(`its answer has more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return chunks.length === 0 ? null : new Uint8Array(Buffer.concat(chunks));
}
