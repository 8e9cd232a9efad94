import { renameSync, writeFileSync } from 'node:fs';
import type { AdminClient } from './admin-client.ts';

/** A service account whose token is kept in a file. */
export interface TokenFile {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly path: string;
  /** How long each token is valid; the apiserver refuses less than 600. */
  readonly lifetimeSeconds: number;
  /** Who the token is for; the apiserver unless given. */
  readonly audience?: string;
}

const RETRY_MS = 5_000;

/**
 * Writes a token of the service account to a file and replaces it when a third of its life is over, as the kubelet does for a projected volume. The
 * kubelet does so at 80 %; a third tolerates an apiserver that is away for a while. Returns the function that ends this.
 */
export async function keepTokenFresh(admin: Pick<AdminClient, 'json'>, file: TokenFile): Promise<() => void> {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  const schedule = (afterMs: number): void => {
    if (!stopped) {
      timer = setTimeout(() => void renew(), afterMs);
      timer.unref(); // Alone it is no reason to go on running.
    }
  };
  const renew = (): Promise<void> =>
    writeToken(admin, file).then(
      () => schedule((file.lifetimeSeconds * 1000) / 3),
      () => schedule(RETRY_MS),
    );

  await writeToken(admin, file);
  schedule((file.lifetimeSeconds * 1000) / 3);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

async function writeToken(admin: Pick<AdminClient, 'json'>, file: TokenFile): Promise<void> {
  const answer = await admin.json<{ status: { token: string } }>({
    method: 'POST',
    path: `/api/v1/namespaces/${file.namespace}/serviceaccounts/${file.serviceAccount}/token`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        expirationSeconds: file.lifetimeSeconds,
        ...(file.audience === undefined ? {} : { audiences: [file.audience] }),
      },
    },
  });
  const unfinished = `${file.path}.new`;
  writeFileSync(unfinished, answer.status.token, { mode: 0o600 });
  renameSync(unfinished, file.path); // A reader sees the old token or the new one, never half of one.
}
