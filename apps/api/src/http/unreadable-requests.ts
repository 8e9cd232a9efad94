import type { Socket } from 'node:net';
import type { Problem } from '@coxswain/api-types';
import { TITLES } from './problem.ts';

/** An error of Node's HTTP parser. */
type ParserError = Error & { readonly code?: string };

interface Refusal extends Pick<Problem, 'status' | 'code' | 'detail'> {
  readonly code: 'INVALID_REQUEST' | 'TOO_LARGE';
  readonly reason: string;
}

const MALFORMED: Refusal = {
  status: 400,
  reason: 'Bad Request',
  code: 'INVALID_REQUEST',
  detail: 'the request is not valid HTTP; check its first line, its headers and its Content-Length',
};
const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    reason: 'Request Header Fields Too Large',
    code: 'TOO_LARGE',
    detail: 'the address and the headers are longer than 16 KiB together; send shorter query parameters and headers',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    reason: 'Request Timeout',
    code: 'INVALID_REQUEST',
    detail: 'the request did not arrive in time; send it again, faster',
  },
};

/** Answers, as every other problem, what cannot be read as a request: no route, hook or filter ever sees it. Then the connection ends. */
export function answerUnreadable(error: ParserError, socket: Socket): void {
  // The client is gone; Node destroys the socket itself.
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (socket.writable) socket.write(answerOf(REFUSALS[error.code ?? ''] ?? MALFORMED));
  socket.destroy(error);
}

function answerOf({ reason, ...about }: Refusal): string {
  const { status, code } = about;
  const type = `https://coxswain.dev/problems/${code.toLowerCase().replaceAll('_', '-')}`;
  const body = JSON.stringify({ type, title: TITLES[code], ...about });
  return [
    `HTTP/1.1 ${status} ${reason}`,
    'Content-Type: application/problem+json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
