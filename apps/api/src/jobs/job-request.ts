import type { Job } from '@coxswain/api-types';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Observable, tap } from 'rxjs';
import { countVersion } from '../http/caching.ts';
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

/** Has the tag of an answer that is a job say the version of its spec. */
@Injectable()
export class JobEtag implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler<unknown>): Observable<unknown> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return next.handle().pipe(
      tap((answer) => {
        const version = (answer as Partial<Job> | undefined)?.specVersion;
        if (typeof version === 'number') countVersion(reply, version);
      }),
    );
  }
}
