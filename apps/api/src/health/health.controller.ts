import type { Metrics } from '@coxswain/telemetry';
import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Public } from '../auth/auth.guard.ts';
import { METRICS, READINESS } from '../infrastructure/tokens.ts';
import { Answers } from '../http/openapi.ts';
import type { Readiness } from './readiness.ts';

/** What Kubernetes and Prometheus ask. Nothing here is about any project. */
@Public()
@Controller()
export class HealthController {
  readonly #readiness: Readiness;
  readonly #metrics: Metrics;

  constructor(@Inject(READINESS) readiness: Readiness, @Inject(METRICS) metrics: Metrics) {
    this.#readiness = readiness;
    this.#metrics = metrics;
  }

  @Get('healthz')
  @Answers({ status: 200, summary: 'The process lives', contentType: 'text/plain' })
  live(): string {
    return 'ok\n';
  }

  @Get('readyz')
  @Answers({
    status: 200,
    summary: 'The process can serve; 503 says what is missing',
    contentType: 'text/plain',
    others: [{ status: 503, description: 'What is missing, a line each.', contentType: 'text/plain' }],
  })
  async ready(@Res() reply: FastifyReply): Promise<void> {
    const missing = await this.#readiness.missing();
    const text = missing.length === 0 ? 'ok\n' : `${missing.join('\n')}\n`;
    await reply
      .status(missing.length === 0 ? 200 : 503)
      .type('text/plain; charset=utf-8')
      .send(text);
  }

  @Get('metrics')
  @Answers({ status: 200, summary: 'Prometheus exposition', contentType: 'text/plain' })
  async metrics(@Res() reply: FastifyReply): Promise<void> {
    const { contentType, text } = await this.#metrics.expose();
    await reply.type(contentType).send(text);
  }
}
