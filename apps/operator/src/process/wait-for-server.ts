import { isRetryable, isUnauthorizedVerb, KubeApiError, sleep, type Clock } from '@coxswain/kube';
import type { Logger } from '@coxswain/telemetry';

const ASK_EVERY_MS = 2_000;
/** Interval at which the same problem is logged again. */
const TELL_EVERY_MS = 30_000;

/**
 * Retries `ask` while the API server is unavailable, busy or rejects the credential, and logs the reason. Rejects with errors that waiting does not fix,
 * and with the signal's reason if it aborts.
 */
export async function waitForServer<T>(
  ask: () => Promise<T>,
  parts: { readonly clock: Clock; readonly log: Logger; readonly signal: AbortSignal },
): Promise<T> {
  const { clock, log, signal } = parts;
  const startedAtMs = clock.monotonicMs();
  let logged = { advice: '', atMs: -Infinity };
  for (;;) {
    signal.throwIfAborted();
    try {
      return await ask();
    } catch (error) {
      if (!isWorthWaiting(error)) throw error;
      const advice = adviceFor(error);
      const nowMs = clock.monotonicMs();
      if (advice !== logged.advice || nowMs - logged.atMs >= TELL_EVERY_MS) {
        log.warn({ err: error, waitedSeconds: Math.round((nowMs - startedAtMs) / 1000) }, advice);
        logged = { advice, atMs: nowMs };
      }
    }
    await sleep(clock, ASK_EVERY_MS, signal);
  }
}

/** An unreadable kubeconfig is a configuration error that waiting does not fix. */
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
