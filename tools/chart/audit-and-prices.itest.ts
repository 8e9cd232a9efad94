import { SYSTEM_NAMESPACE } from '@coxswain/local-cluster';
import { CHART, helm } from './render.ts';

const WEBHOOK = { auditPush: { url: 'https://siem.example.com/a' } };

/** `--set` reads 2.5 as text. */
function rendered(api: object): Promise<string> {
  const shown = ['--namespace', SYSTEM_NAMESPACE, '--show-only', 'templates/api.yaml'];
  return helm('template', 'coxswain', CHART, ...shown, '--set-json', `api=${JSON.stringify(api)}`);
}

describe('the API of the chart', () => {
  it('sends the audit nowhere and shows no prices unless it is asked to', async () => {
    expect(await rendered({})).not.toMatch(/AUDIT_PUSH|COXSWAIN_PRICES|audit-push/);
  });

  it('reads the keys of the receiver of the audit from a Secret, and prices from a variable', async () => {
    const prices = { currency: 'EUR', perGpuHour: { h100: 2.5, default: 2 } };
    const text = await rendered({ prices, auditPush: { ...WEBHOOK.auditPush, secretName: 'siem-keys' } });
    expect(text).toContain('- name: COXSWAIN_AUDIT_PUSH_URL\n              value: "https://siem.example.com/a"');
    expect(text).toContain('{ name: audit-push, mountPath: /etc/coxswain/audit-push, readOnly: true }');
    expect(text).toContain('secret: { secretName: "siem-keys" }');
    const [, json = ''] = /- name: COXSWAIN_PRICES\n\s+value: (".*")/.exec(text) ?? [];
    expect(JSON.parse(JSON.parse(json) as string)).toEqual(prices);
  });

  it.each<[string, object, RegExp]>([
    ['a webhook without a Secret', WEBHOOK, /api\.auditPush\.secretName is needed/],
    ['a receiver without TLS', { auditPush: { url: 'http://siem' } }, /auditPush\/url/],
    ['a currency in words', { prices: { currency: 'dollars', perGpuHour: { default: 2 } } }, /prices\/currency/],
    ['a price above a million', { prices: { currency: 'EUR', perGpuHour: { h100: 1e7 } } }, /perGpuHour\/h100/],
    ['prices without a currency', { prices: { perGpuHour: { default: 2 } } }, /prices/],
  ])('is not rendered with %s', async (_what, values, want) => {
    await expect(rendered(values)).rejects.toThrow(want);
  });
});
