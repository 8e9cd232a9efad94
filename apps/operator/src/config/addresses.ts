import { EVERY_ADDRESS, listenHostOf } from '@coxswain/kube';
import { z } from 'zod';

/** Where a server listens. */
export const listenHost = z
  .string()
  .min(1)
  .default(EVERY_ADDRESS)
  .transform((host) => listenHostOf(host))
  .describe('`*`: every address of the machine, of both families.');

/** An https URL without a slash at its end. */
export const baseUrl = z
  .url({ protocol: /^https$/, error: 'must be an https URL such as https://operator.coxswain-system.svc:9443' })
  .transform((url) => url.replace(/\/+$/, ''));
/** Comma-separated https URLs. */
export const urlList = z
  .string()
  .transform((list) =>
    list
      .split(',')
      .map((url) => url.trim())
      .filter((url) => url !== ''),
  )
  .pipe(z.array(baseUrl).min(1));
