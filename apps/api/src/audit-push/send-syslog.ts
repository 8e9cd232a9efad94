/** How does a syslog server get messages, so that the sender knows that they have arrived? */
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import type { AuditReceiver } from '../config/audit-config.ts';
import { ATTEMPT_MS, troubleWords } from '../messages/post-message.ts';
import type { Answer } from '../messages/retry-rules.ts';

/** Of one attempt. */
export interface SendOptions {
  /** Ends the attempt early. */
  readonly signal: AbortSignal;
  /** Default: {@link ATTEMPT_MS}. */
  readonly attemptMs?: number;
}

/**
 * Sends the frames over a connection of their own. Syslog acknowledges nothing, so the sender closes its side and waits until the server closes in answer (RFC 5425, 4.4):
 * a server does that when it has read everything. Undefined: it has. Never rejects.
 */
export async function sendSyslog(
  frames: string,
  { host, port, tls }: Extract<AuditReceiver, { readonly form: 'syslog' }>,
  { signal, attemptMs = ATTEMPT_MS }: SendOptions,
): Promise<Answer | undefined> {
  const timeout = AbortSignal.timeout(attemptMs);
  const until = AbortSignal.any([signal, timeout]);
  try {
    await new Promise<void>((resolve, reject) => {
      const socket = connect({ host, port, ...tls, ...(isIP(host) === 0 ? { servername: host } : {}) });
      const stop = (): void => void socket.destroy(until.reason as Error);
      until.addEventListener('abort', stop, { once: true });
      let hasEnded = false;
      socket.on('error', reject);
      socket.on('secureConnect', () => socket.end(frames));
      // A server that closes before it has everything is one that restarts.
      socket.on('end', () => (hasEnded = socket.writableFinished));
      socket.on('close', () => {
        until.removeEventListener('abort', stop);
        if (hasEnded) resolve();
        else reject(Object.assign(new Error('closed'), { code: 'ECONNRESET' }));
      });
      socket.resume();
    });
    return undefined;
  } catch (error) {
    return { trouble: timeout.aborted ? `not taken within ${attemptMs / 1000} s` : troubleWords(error) };
  }
}
