import { PodQuotas } from './pod-quotas.ts';

const refused = (what: string): string =>
  `pods "x" is forbidden: exceeded quota: few, requested: ${what}, used: ${what}, limited: ${what}`;

it.each([
  ['a quota of pod objects', refused('count/pods=1'), 1_000, true],
  ['one of them and of running pods', refused('count/pods=1,pods=1'), 1_000, true],
  ['a quota of running pods, which counts no ended one', refused('pods=1'), 1_000, false],
  ['a quota of other objects', refused('count/secrets=1'), 1_000, false],
  ['a policy', 'admission webhook "count/pods" denied the request', 1_000, false],
  ['a quota that refused a pod ten minutes ago', refused('count/pods=1'), 600_000, false],
])('ended pods go for %s: %#', (_what, message, laterMs, want) => {
  const quotas = new PodQuotas();
  quotas.noteRefusal('research', message, 0);
  expect([quotas.isShort('research', laterMs), quotas.isShort('other', laterMs)]).toEqual([want, false]);
});
