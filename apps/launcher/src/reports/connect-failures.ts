/** Why does TLS to the operator fail: the clock of this pod, or the certificate? */
import { X509Certificate } from 'node:crypto';

/** What the launcher knows about the certificates of the operator. */
export interface TlsContext {
  /** PEM of the authority that this pod trusts; undefined: those of the image. */
  readonly ca: string | undefined;
  /** Time by the clock of this pod. */
  readonly now: Date;
}

/** The code of a failed connection; undefined: it has none. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

const OTHER_AUTHORITY: readonly (string | undefined)[] = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
];

/** A sentence without its full stop about a failed check of the operator's certificate; undefined: the code is of no such check. */
export function describeTlsFailure(code: string | undefined, { ca, now }: TlsContext): string | undefined {
  const clock = `the clock of this pod (${now.toISOString()})`;
  const bounds = validityOf(ca);
  switch (code) {
    case 'CERT_NOT_YET_VALID': {
      const since = bounds === undefined || bounds.from <= now ? '' : `, it is valid from ${bounds.from.toISOString()}`;
      return `the certificate of the operator is not valid yet by ${clock}${since} (${code}); the clock is behind: check time synchronization on the node, and variables of the job that change the time (FAKETIME)`;
    }
    case 'CERT_HAS_EXPIRED': {
      const until = bounds === undefined || bounds.to >= now ? '' : `, it was valid until ${bounds.to.toISOString()}`;
      return `the certificate of the operator has expired by ${clock}${until} (${code}); the clock is ahead, or the operator did not renew its certificate: check time synchronization on the node, then the log of the operator`;
    }
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `the certificate at this address is of another host (${code}); a proxy or another service answers in place of the operator: check the Service of the operator and the proxy settings of the job`;
    default:
      if (!OTHER_AUTHORITY.includes(code)) return undefined;
      return `the certificate at this address is of another authority than this pod was given (${code}). Either the operator has a new authority since the pod began: restart the job. Or a proxy answers in its place: let the connection bypass the proxy`;
  }
}

/** Validity of the first certificate in the PEM, which the certificate of the operator cannot exceed. */
function validityOf(ca: string | undefined): { readonly from: Date; readonly to: Date } | undefined {
  if (ca === undefined) return undefined;
  try {
    const { validFromDate, validToDate } = new X509Certificate(ca);
    return { from: validFromDate, to: validToDate };
  } catch {
    return undefined;
  }
}

/** Describes failed connections to the operator. */
export class ConnectFailures {
  readonly #ca: string | undefined;
  readonly #now: () => Date;
  /** The last failure of TLS. Its sentence holds the time of the pod, which would differ at each try. */
  #last: { readonly code: string; readonly sentence: string } | undefined;

  constructor(ca: string | undefined, now: () => Date = () => new Date()) {
    this.#ca = ca;
    this.#now = now;
  }

  /** A sentence without its full stop; the same for the same failure. */
  describe(error: unknown): string {
    const code = codeOf(error);
    const sentence = describeTlsFailure(code, { ca: this.#ca, now: this.#now() });
    if (code === undefined || sentence === undefined) return text(error);
    if (this.#last?.code !== code) this.#last = { code, sentence };
    return this.#last.sentence;
  }
}

/** The message of an error. */
export function text(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
