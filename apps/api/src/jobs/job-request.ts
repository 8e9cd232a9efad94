import type { FastifyRequest } from 'fastify';
import { describedParameter } from '../http/described-parameter.ts';
import { IF_MATCH, versionsOfIfMatch } from '../http/etag.ts';
import type { JobAddress } from './jobs.service.ts';

/** The job that the path names, with the versions that `If-Match` insists on. */
export const AddressedJob = describedParameter(
  { headers: [IF_MATCH], refusals: ['PRECONDITION_FAILED'] },
  (context): JobAddress => {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const { project = '', jobId = '' } = request.params as { readonly project?: string; readonly jobId?: string };
    return { project, jobId, ifSpecVersions: ifMatchOf(request) };
  },
);

/** Of a request that changes something; one that reads is held against its answer (`http/caching.ts`). */
function ifMatchOf(request: FastifyRequest): readonly number[] | undefined {
  const isReading = request.method === 'GET' || request.method === 'HEAD';
  return isReading ? undefined : versionsOfIfMatch(request.headers['if-match']);
}
