import { CODE_LIMITS, CODE_MEDIA_TYPE, CodeArchive, ObjectName } from '@coxswain/api-types';
import { formatBytes } from '@coxswain/units';
import { Controller, Get, Inject, Param, Put, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Caller } from '../auth/auth.guard.ts';
import type { Principal } from '../auth/principal.ts';
import { Answers } from '../http/openapi.ts';
import { CodeService } from './code.service.ts';

const CodeQuery = z.strictObject({
  namespace: ObjectName.optional().describe(
    'Namespace of the job that will name the archive. Absent: the first of the project.',
  ),
});
type CodeQuery = z.infer<typeof CodeQuery>;

/** REST routes for archives of code. */
@Controller('v1/projects/:project/code')
export class CodeController {
  readonly #code: CodeService;

  constructor(@Inject(CodeService) code: CodeService) {
    this.#code = code;
  }

  @Get(':sha256')
  @Answers({
    status: 200,
    schema: CodeArchive,
    summary: 'An archive of code that the project uploaded',
    refusals: ['NOT_FOUND', 'UNAVAILABLE'],
  })
  get(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Param('sha256') sha256: string,
    @Query({ schema: CodeQuery }) { namespace }: CodeQuery,
  ): Promise<CodeArchive> {
    return this.#code.get(caller, { project, sha256, namespace });
  }

  // eslint-disable-next-line max-params -- Nest gives each part of a request as a parameter
  @Put(':sha256')
  @Answers({
    status: 200,
    schema: CodeArchive,
    summary: 'Upload an archive of code under its SHA-256; a job names it in spec.code',
    body: {
      contentType: CODE_MEDIA_TYPE,
      description: `A tar compressed with gzip, of at most ${formatBytes(CODE_LIMITS.archiveBytes)}.`,
    },
    refusals: ['TOO_LARGE', 'UNAVAILABLE'],
  })
  upload(
    @Caller() caller: Principal,
    @Param('project') project: string,
    @Param('sha256') sha256: string,
    @Query({ schema: CodeQuery }) { namespace }: CodeQuery,
    @Req() { body }: FastifyRequest,
  ): Promise<CodeArchive> {
    return this.#code.upload(caller, { project, sha256, namespace }, body);
  }
}
