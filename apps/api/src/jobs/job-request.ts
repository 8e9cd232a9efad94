import type { Job } from '@coxswain/api-types';
import {
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Observable, tap } from 'rxjs';
import { etagOf, versionOfIfMatch } from '../http/etag.ts';
import type { JobAddress } from './jobs.service.ts';

/** The job that the path names, with the version that `If-Match` insists on. */
export const AddressedJob = createParamDecorator((_data: unknown, context: ExecutionContext): JobAddress => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  const { project = '', jobId = '' } = request.params as { readonly project?: string; readonly jobId?: string };
  return { project, jobId, ifVersion: versionOfIfMatch(request.headers['if-match']) };
});

/** Puts a job's version into `ETag`. */
@Injectable()
export class JobEtag implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler<unknown>): Observable<unknown> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return next.handle().pipe(
      tap((answer) => {
        const version = (answer as Partial<Job> | undefined)?.version;
        if (typeof version === 'number') void reply.header('etag', etagOf(version));
      }),
    );
  }
}
