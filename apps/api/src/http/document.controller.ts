import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { Public } from '../auth/auth.guard.ts';
import { API_DOCUMENT } from '../infrastructure/tokens.ts';
import { Answers } from './openapi.ts';

/** The OpenAPI document of every route, this one included. */
@Public()
@Controller()
export class DocumentController {
  readonly #text: string;

  constructor(@Inject(API_DOCUMENT) document: object) {
    this.#text = JSON.stringify(document);
  }

  @Get('openapi.json')
  @Answers({ status: 200, summary: 'This document', schema: z.record(z.string(), z.unknown()) })
  async read(@Res() reply: FastifyReply): Promise<void> {
    await reply.type('application/json; charset=utf-8').send(this.#text);
  }
}
