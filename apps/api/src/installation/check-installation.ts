/** One question to a part of an installation. */
export interface Check {
  /** What is so when it is answered as it should be. */
  readonly sentence: string;
  readonly url: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Where the parts are, as the chart's Services name them. */
export interface Installation {
  readonly apiUrl: string;
  /** Of the operator's port `health`. */
  readonly operatorUrl: string;
  /** Of a service account, for the audience that the API lets in; none where it lets none in. */
  readonly token?: string | undefined;
}

/** What `helm test` asks. */
export function checksOf({ apiUrl, operatorUrl, token }: Installation): readonly Check[] {
  const ok = (sentence: string, url: string): Check => ({ sentence, url, status: 200 });
  return [
    ok('the API lives', `${apiUrl}/healthz`),
    ok('the API has database and cluster', `${apiUrl}/readyz`),
    ok('the operator lives', `${operatorUrl}/healthz`),
    ok('the operator sees the cluster', `${operatorUrl}/readyz`),
    { sentence: 'the API lets nobody in without a token', url: `${apiUrl}/v1/whoami`, status: 401 },
    ...(token === undefined
      ? []
      : [
          {
            ...ok('the API knows a service account by its token', `${apiUrl}/v1/whoami`),
            headers: { authorization: `Bearer ${token}` },
          },
        ]),
  ];
}

/** What checking is done with. */
export interface CheckParts {
  readonly ask: (check: Check) => Promise<{ readonly status: number; readonly text: string }>;
  readonly print: (line: string) => void;
  /** Waits before the next try; false when there has been time enough. */
  readonly pause: () => Promise<boolean>;
}

/** Asks until each is answered as it should be, or there has been time enough; answers with how many were not. */
export async function checkInstallation(checks: readonly Check[], parts: CheckParts): Promise<number> {
  let failed = 0;
  for (const check of checks) {
    let problem = await problemOf(check, parts);
    while (problem !== undefined && (await parts.pause())) problem = await problemOf(check, parts);
    parts.print(problem === undefined ? `yes: ${check.sentence}` : `NO: ${check.sentence}: ${check.url} ${problem}`);
    failed += problem === undefined ? 0 : 1;
  }
  return failed;
}

const MOST_TOLD = 500;

async function problemOf(check: Check, { ask }: CheckParts): Promise<string | undefined> {
  try {
    const { status, text } = await ask(check);
    if (status === check.status) return undefined;
    return `answers ${status}, not ${check.status}: ${text.trim().slice(0, MOST_TOLD)}`;
  } catch (error) {
    const { message, cause } = error as Error;
    return `does not answer: ${cause instanceof Error ? cause.message : message}`;
  }
}
