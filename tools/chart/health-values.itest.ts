import { renderChart } from './render.ts';

describe('the chart', () => {
  it('hands the operator what was measured of the GPUs, and nothing where nothing was', async () => {
    expect(await renderChart()).not.toContain('MEASURED_GPUS');
    const factor = 'operator.measuredGpus.h100.factors[0]';
    const values = ['operator.measuredGpus.h100.name=hall 2', `${factor}.constant=step`, `${factor}.factor=2`];
    const [, text] = /COXSWAIN_MEASURED_GPUS\s+value: (".+")/.exec(await renderChart({ values })) ?? [];
    expect(JSON.parse(JSON.parse(text ?? '""') as string)).toEqual({
      h100: { name: 'hall 2', factors: [{ constant: 'step', factor: 2 }] },
    });
  });

  it('has the operator record what ranks tell only where there is a volume for it', async () => {
    expect(await renderChart()).not.toContain('TRACE_DIRECTORY');
    const values = [
      'operator.health.traceVolume.persistentVolumeClaim.claimName=kept',
      'operator.health.windowSeconds=30',
    ];
    const text = await renderChart({ values });
    expect(text).toMatch(/COXSWAIN_HEALTH_WINDOW_MS\s+value: "30000"/);
    const [, directory] = /COXSWAIN_HEALTH_TRACE_DIRECTORY\s+value: (\S+)/.exec(text) ?? [];
    expect(text).toContain(`{ name: traces, mountPath: ${directory} }`);
    expect(text).toMatch(/- name: traces\s+persistentVolumeClaim:\s+claimName: kept/);
  });
});
