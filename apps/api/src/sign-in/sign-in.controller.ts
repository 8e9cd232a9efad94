import { SignInMethods, SignInToken, SignInTrade } from '@coxswain/api-types';
import { Body, Controller, Get, HttpCode, Inject, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Public } from '../auth/auth.guard.ts';
import { cookieOf, credentialOf, SESSION_COOKIE, setCookie } from '../auth/credential.ts';
import { originOf } from '../auth/request-origin.ts';
import type { DescribedHeader } from '../http/described-parameter.ts';
import { Answers } from '../http/openapi.ts';
import { PENDING_COOKIE, PENDING_SECONDS } from './pending-sign-in.ts';
import { SignInService } from './sign-in.service.ts';

const StartQuery = z.strictObject({
  returnTo: z
    .string()
    .max(1_000)
    .optional()
    .describe('Where to go on afterwards: a path of the page, `/` in place of any other.'),
});
type StartQuery = z.infer<typeof StartQuery>;

const LOCATION: DescribedHeader = { name: 'Location', description: 'Where the browser goes.', schema: z.string() };
const SET_COOKIE: DescribedHeader = {
  name: 'Set-Cookie',
  description: 'For the way to the issuer and back, or of the session; read by no script.',
  schema: z.string(),
};
const NO_MORE = { maxAgeSeconds: 0 };

/** How people come in and go. The page goes to the issuer and comes back by redirects; a command line does that itself and trades what it got. */
@Controller('v1')
export class SignInController {
  readonly #signIn: SignInService;

  constructor(@Inject(SignInService) signIn: SignInService) {
    this.#signIn = signIn;
  }

  @Get('sign-in')
  @Public()
  @Answers({ status: 200, schema: SignInMethods, summary: 'How people can sign in' })
  methods(): SignInMethods {
    return this.#signIn.methods();
  }

  @Get('sign-in/start')
  @Public()
  @Answers({
    status: 302,
    summary: 'Send the browser to the issuer, or back to the page, which says why not',
    headers: [LOCATION, SET_COOKIE],
    refusals: ['NOT_FOUND'],
  })
  async start(@Query({ schema: StartQuery }) query: StartQuery, @Res() reply: FastifyReply): Promise<void> {
    const begun = await this.#signIn.start(query.returnTo);
    if (begun.kind === 'not') return goOn(reply, addressOf(begun.problem), []);
    await goOn(reply, begun.url, [setCookie(PENDING_COOKIE, begun.cookie, { maxAgeSeconds: PENDING_SECONDS })]);
  }

  @Get('sign-in/callback')
  @Public()
  @Answers({
    status: 302,
    summary: 'The browser comes back from the issuer',
    headers: [LOCATION, SET_COOKIE],
    refusals: ['NOT_FOUND'],
  })
  async callback(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const at = request.url.indexOf('?');
    const search = at < 0 ? '' : request.url.slice(at);
    const end = await this.#signIn.finish(search, cookieOf(request.headers, PENDING_COOKIE), originOf(request));
    const done = setCookie(PENDING_COOKIE, '', NO_MORE);
    if (end.kind === 'not') return goOn(reply, addressOf(end.problem), [done]);
    const { token, maxAgeSeconds, returnTo } = end;
    return goOn(reply, returnTo, [done, setCookie(SESSION_COOKIE, token, { maxAgeSeconds })]);
  }

  @Post('sign-in/tokens')
  @Public()
  @Answers({
    status: 201,
    schema: SignInToken,
    summary: 'Trade an ID token of the issuer for a token of ours',
    refusals: ['UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND', 'UNAVAILABLE'],
  })
  trade(@Body({ schema: SignInTrade }) body: SignInTrade, @Req() request: FastifyRequest): Promise<SignInToken> {
    return this.#signIn.trade(body, originOf(request));
  }

  @Post('sign-out')
  @HttpCode(204)
  @Answers({ status: 204, summary: 'End the session that the request belongs to' })
  async end(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<void> {
    const credential = credentialOf(request.headers);
    await this.#signIn.end(credential, originOf(request));
    if (credential?.by === 'cookie') void reply.header('set-cookie', setCookie(SESSION_COOKIE, '', NO_MORE));
  }
}

/** Where the page shows why the sign-in failed. */
function addressOf(problem: string): string {
  return `/#sign-in=${problem}`;
}

async function goOn(reply: FastifyReply, url: string, cookies: readonly string[]): Promise<void> {
  await reply
    .header('set-cookie', [...cookies])
    .header('cache-control', 'no-store')
    .redirect(url, 302);
}
