import { createMetrics } from './index.ts';

describe('metrics', () => {
  it('keep the counts of two programs in one process apart', async () => {
    const [one, other] = [createMetrics(), createMetrics()];
    const spec = { name: 'coxswain_things_total', help: 'Things.', labelNames: ['kind'] };
    one.counter(spec).inc({ kind: 'seen' }, 3);
    other.counter(spec);
    expect((await one.expose()).text).toContain('coxswain_things_total{kind="seen"} 3');
    expect((await other.expose()).text).not.toContain('seen');
  });

  it('ask for a gauge’s value when they are scraped', async () => {
    const metrics = createMetrics();
    let size = 1;
    metrics.gauge({ name: 'coxswain_size', help: 'Size.', collect: () => size });
    size = 7;
    expect((await metrics.expose()).text).toContain('coxswain_size 7');
  });
});
