import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { checkInstallation, checksOf } from './installation/check-installation.ts';

/** `helm test`: asks API and operator by their Services. COXSWAIN_API_URL and COXSWAIN_OPERATOR_HEALTH_URL say where, COXSWAIN_TOKEN_FILE with which token. */
const TRY_EVERY_MS = 2_000;
const TIME_FOR_ALL_MS = 90_000;
const ANSWER_WITHIN_MS = 10_000;

const { COXSWAIN_API_URL: apiUrl, COXSWAIN_OPERATOR_HEALTH_URL: operatorUrl, COXSWAIN_TOKEN_FILE: file } = process.env;
if (apiUrl === undefined || operatorUrl === undefined) {
  console.error('the environment cannot be used: set COXSWAIN_API_URL and COXSWAIN_OPERATOR_HEALTH_URL');
  process.exit(1);
}
const token = file === undefined ? undefined : readFileSync(file, 'utf8').trim();
const failed = await checkInstallation(checksOf({ apiUrl, operatorUrl, token }), {
  ask: async ({ url, headers = {} }) => {
    const answer = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    return { status: answer.status, text: await answer.text() };
  },
  print: (line) => console.log(line),
  pause: async () => {
    if (performance.now() > TIME_FOR_ALL_MS) return false;
    await delay(TRY_EVERY_MS);
    return true;
  },
});
process.exitCode = failed === 0 ? 0 : 1;
