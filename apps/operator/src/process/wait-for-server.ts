import { isRetryable, isUnauthorizedVerb, KubeApiError, sleep, type Clock } from '@coxswain/kube';
import type { Logger } from '@coxswain/telemetry';

const ASK_EVERY_MS = 2_000;
/** The same trouble is told again after so long. */
const TELL_EVERY_MS = 30_000;

/**
 * What `ask` answers once the API server answers it. While the server is away, busy, or refuses the credential, it is asked again, and the log
 * says why. Rejects with what no waiting mends, and with the signal's reason when it aborts.
 */
export async function waitForServer<T>(
  ask: () => Promise<T>,
  parts: { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal },
): Promise<T> {
  const { clock, log, signal } = parts;
  const startedAtMs = clock.monotonicMs();
  let told = { advice: '', atMs: -Infinity };
  for (;;) {
    signal.throwIfAborted();
    try {
      return await ask();
    } catch (error) {
      if (!isWorthWaiting(error)) throw error;
      const advice = adviceFor(error);
      const nowMs = clock.monotonicMs();
      if (advice !== told.advice || nowMs - told.atMs >= TELL_EVERY_MS) {
        log.warn({ err: error, waitedSeconds: Math.round((nowMs - startedAtMs) / 1000) }, advice);
        told = { advice, atMs: nowMs };
      }
    }
    await sleep(clock, ASK_EVERY_MS, signal);
  }
}

/** A kubeconfig that cannot be read is a mistake of whoever wrote it; nothing on the server's side mends it. */
function isWorthWaiting(error: unknown): error is KubeApiError {
  if (!(error instanceof KubeApiError) || error.reason === 'CredentialsUnavailable') return false;
  return isRetryable(error) || isUnauthorizedVerb(error);
}

function adviceFor(error: KubeApiError): string {
  if (error.status === 401) {
    return 'the API server refuses the credential: check that the service account exists and that its token is current (COXSWAIN_KUBECONFIG, or the token of the pod); it is tried again';
  }
  if (error.status === 403) {
    return 'the API server does not allow this to the service account: install the roles of the chart of this release (helm upgrade); it is tried again';
  }
  return 'the API server does not answer; the operator waits for it';
}
