import { safeText } from '@coxswain/safe-text';
import type { FastifyRequest } from 'fastify';

/** The origin of a request, as the audit records it. */
export interface RequestOrigin {
  /** The `X-Request-Id` of its answer. */
  readonly requestId: string;
  /** Of the client, or of the last proxy that is not trusted (COXSWAIN_TRUSTED_PROXIES). */
  readonly sourceAddress: string;
  readonly userAgent: string | undefined;
}

/** Longer than any address; a trusted proxy that passes on what it is sent may be sent anything. */
const MAX_ADDRESS = 100;

/** Reads the origin from the request. The address is made safe to store and cut to 100 characters. */
export function originOf(request: FastifyRequest): RequestOrigin {
  const { id: requestId, ip, headers } = request;
  return { requestId, sourceAddress: safeText(plainAddress(ip), MAX_ADDRESS), userAgent: headers['user-agent'] };
}

/** A dual-stack socket reports an IPv4 client as an IPv6 address. */
function plainAddress(ip: string): string {
  return ip.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
}
