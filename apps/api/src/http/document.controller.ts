import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Public } from '../auth/auth.guard.ts';
import { API_DOCUMENT } from '../infrastructure/tokens.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { Answers } from './openapi.ts';
import { ServedDocument } from './served-document.ts';

/** The OpenAPI document of every route, this one included. Anybody may read it: it has the share of strangers, of processor time and of bytes that wait for their readers (`unsent-answers.ts`). */
@Public()
@Controller()
export class DocumentController {
  readonly #document: ServedDocument;
  readonly #limits: ProjectLimits;

  constructor(@Inject(API_DOCUMENT) document: object, @Inject(ProjectLimits) limits: ProjectLimits) {
    this.#document = new ServedDocument(document);
    this.#limits = limits;
  }

  @Get('openapi.json')
  @Answers({
    status: 200,
    summary: 'This document',
    schema: z.record(z.string(), z.unknown()),
    refusals: ['RATE_LIMITED'],
  })
  async read(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    this.#limits.admitStranger();
    const { bytes, etag, encoding } = this.#document.formFor(request.headers['accept-encoding']);
    void reply.headers({
      etag,
      vary: 'accept-encoding',
      ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
    });
    await reply.type('application/json; charset=utf-8').send(bytes);
  }
}
