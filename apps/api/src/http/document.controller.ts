import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Public } from '../auth/auth.guard.ts';
import { API_DOCUMENT } from '../infrastructure/tokens.ts';
import { BytesInFlight } from '../limits/bytes-in-flight.ts';
import { ProjectLimits } from '../limits/project-limits.ts';
import { Answers } from './openapi.ts';
import { ServedDocument } from './served-document.ts';

/** Of answers that wait for their readers. It is 27 answers without compression, or more than 200 with it. */
const MAX_BYTES_IN_FLIGHT = 16 * 1_048_576;
const RETRY_SECONDS = 1;

/** The OpenAPI document of every route, this one included. Anybody may read it, so that it has the share of strangers. */
@Public()
@Controller()
export class DocumentController {
  readonly #document: ServedDocument;
  readonly #limits: ProjectLimits;
  readonly #inFlight = new BytesInFlight(MAX_BYTES_IN_FLIGHT);

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
    const giveBack = this.#inFlight.take(bytes.length);
    if (giveBack === undefined) {
      const message = 'too many clients read the API description at the moment; read it again in a second';
      throw this.#limits.refuse('documents', message, RETRY_SECONDS);
    }
    reply.raw.once('finish', giveBack).once('close', giveBack);
    if (reply.raw.destroyed) giveBack();
    void reply.headers({
      etag,
      vary: 'accept-encoding',
      ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
    });
    await reply.type('application/json; charset=utf-8').send(bytes);
  }
}
