import { safeText } from '@coxswain/safe-text';
import type { FastifyRequest } from 'fastify';

/** Where a request came from, as it is told in the audit. */
export interface RequestOrigin {
  /** The `X-Request-Id` of its answer. */
  readonly requestId: string;
  /** Of the client, or of the last proxy that is not trusted (COXSWAIN_TRUSTED_PROXIES). */
  readonly sourceAddress: string;
  readonly userAgent: string | undefined;
}

/** Longer than any address; a trusted proxy that passes on what it is sent may be sent anything. */
const MAX_ADDRESS = 100;

export function originOf(request: FastifyRequest): RequestOrigin {
  const { id: requestId, ip, headers } = request;
  return { requestId, sourceAddress: safeText(plainAddress(ip), MAX_ADDRESS), userAgent: headers['user-agent'] };
}

/** A socket of both families names whoever comes by IPv4 as an address of IPv6. */
function plainAddress(ip: string): string {
  return ip.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
}
