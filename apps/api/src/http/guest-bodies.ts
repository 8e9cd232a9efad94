import { DomainError } from '@coxswain/domain-error';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ruleOfRoute } from '../auth/access-rules.ts';
import { SharedRoom } from '../limits/shared-room.ts';
import type { ProjectLimits } from '../limits/project-limits.ts';
import { MAX_BODY_BYTES } from './json-body.ts';
import { shareOwnerOf } from './share-owner.ts';

/*
 * Decides whose bodies are read. A body takes memory while it arrives, up to half a minute, and parsing it costs more than refusing it. So a request
 * with a body is authenticated before its first byte is read: unauthenticated clients take no memory, and a project no more than its limit.
 */

/** Of what strangers send to sign in. Three tokens of an issuer are at most 48 kB. */
export const MAX_PUBLIC_BODY_BYTES = 65_536;

/** Of the room for bodies, what one project or administrator may take. */
const SHARE_OF_OWNER = 1 / 4;
/** For bodies of strangers, beside the room of those who were let in: 128 of the largest, and 16 of one address. */
const STRANGERS_ROOM = { most: 8 * 1_048_576, mostOfOwner: 1_048_576 };

/** Lets a request in, or throws why not. */
export type Enter = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** Who is let in, and how much room there is for what they send. */
export interface BodyRules {
  readonly enter: Enter;
  readonly limits: Pick<ProjectLimits, 'admitStranger' | 'ownerOf' | 'refuse'>;
  /** For bodies of those who were let in, all together. */
  readonly roomBytes: number;
}

/** A body takes some ten milliseconds to arrive. */
const RETRY_SECONDS = 1;

/** Refuses before their bodies are read those who may not ask, and what is sent to no address of ours. To be called before there are routes. */
export function readBodiesOfGuests(fastify: FastifyInstance, { enter, limits, roomBytes }: BodyRules): void {
  const rooms = {
    guests: new SharedRoom({ most: roomBytes, mostOfOwner: roomBytes * SHARE_OF_OWNER }),
    strangers: new SharedRoom(STRANGERS_ROOM),
  };
  fastify.addHook('onRoute', (route) => {
    const methods = [route.method].flat();
    if (methods.some((method) => isPublic(method, route.url))) route.bodyLimit = MAX_PUBLIC_BODY_BYTES;
  });
  fastify.addHook('onRequest', async (request, reply) => {
    // Of these no body is read.
    if (request.method === 'GET' || request.method === 'HEAD') return;
    const { url } = request.routeOptions;
    if (request.is404 || url === undefined) {
      throw new DomainError('NOT_FOUND', `nothing is here to ${request.method}; see /openapi.json`);
    }
    if (isPublic(request.method, url)) limits.admitStranger();
    else await enter(request, reply);
    takeRoom(request, reply, { rooms, limits });
  });
}

/** Room for the body, from its first byte until the request was answered. A sender whose room is needed by others loses its connection. */
function takeRoom(
  request: FastifyRequest,
  { raw }: FastifyReply,
  {
    rooms,
    limits,
  }: { readonly rooms: Readonly<Record<'guests' | 'strangers', SharedRoom>> } & Pick<BodyRules, 'limits'>,
): void {
  const bytes = announcedBytes(request);
  if (bytes === 0) return;
  const { owner, member } = shareOwnerOf(request, limits);
  const room = owner === undefined ? rooms.strangers : rooms.guests;
  const taken = room.take(owner ?? member, bytes, () => request.raw.socket.resetAndDestroy());
  if (taken === 'ofOwner') {
    const whose = owner === undefined ? 'your address' : 'your project';
    const message = `${whose} sends too many bytes at once to this replica; send fewer bodies at a time`;
    throw limits.refuse('bodies', message, RETRY_SECONDS);
  }
  if (taken === 'ofAll')
    throw limits.refuse('bodies', 'this replica receives too many bodies at the moment', RETRY_SECONDS);
  raw.once('finish', taken).once('close', taken);
  if (raw.destroyed) taken();
}

/** The most that the body can be. One whose length is not announced may be as long as is allowed. */
function announcedBytes({ headers, routeOptions }: FastifyRequest): number {
  const most = routeOptions.bodyLimit ?? MAX_BODY_BYTES;
  if (headers['transfer-encoding'] !== undefined) return most;
  const announced = Number(headers['content-length'] ?? 0);
  return Number.isFinite(announced) ? Math.min(Math.max(0, announced), most) : most;
}

function isPublic(method: string, url: string): boolean {
  return ruleOfRoute({ method, path: url.replace(/:(\w+)/g, '{$1}') }) === 'public';
}
