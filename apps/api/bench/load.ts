import { Pool } from 'undici';

/** How an address did. */
export interface Load {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Asks the same over that many connections, each as soon as its last answer was read. Rejects at the first answer that is no 200. */
export async function loadOf(
  url: string,
  options: {
    readonly headers: Readonly<Record<string, string>>;
    readonly connections: number;
    readonly seconds: number;
    /** Then it is a POST. */
    readonly body?: string | undefined;
  },
): Promise<Load> {
  const { origin, pathname, search } = new URL(url);
  const pool = new Pool(origin, { connections: options.connections, pipelining: 1 });
  const { body: sent = null, headers } = options;
  const request = {
    method: sent === null ? 'GET' : 'POST',
    path: `${pathname}${search}`,
    headers,
    body: sent,
  } as const;
  const took: number[] = [];
  const begun = performance.now();
  const until = begun + options.seconds * 1_000;
  const askOn = async (): Promise<void> => {
    while (performance.now() < until) {
      const asked = performance.now();
      const { statusCode, body } = await pool.request(request);
      if (statusCode !== 200)
        throw new Error(`${url} was answered ${statusCode}: ${(await body.text()).slice(0, 500)}`);
      await body.dump({ limit: 10_000_000 });
      took.push(performance.now() - asked);
    }
  };
  try {
    await Promise.all(Array.from({ length: options.connections }, askOn));
  } finally {
    await pool.close();
  }
  const seconds = (performance.now() - begun) / 1_000;
  took.sort((one, other) => one - other);
  const quantile = (share: number): number => took[Math.floor((took.length - 1) * share)] ?? NaN;
  return { perSecond: took.length / seconds, p50Ms: quantile(0.5), p99Ms: quantile(0.99) };
}
