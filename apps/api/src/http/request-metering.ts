import type { FastifyInstance } from 'fastify';
import type { ProjectLimits } from '../limits/project-limits.ts';
import { CpuMeter, type RequestCpu, withinRequest } from '../limits/request-cpu.ts';

const requests = new WeakMap<object, RequestCpu>();

/** What a request has used of the processor; undefined outside of a metered server. */
export function cpuOf(request: object): RequestCpu | undefined {
  return requests.get(request);
}

/**
 * Measures the processor time of each request. The admitted principal pays for it (the guard claims it); strangers together pay for all other requests. To be
 * called before there are routes and other hooks.
 */
export function meterRequests(
  fastify: FastifyInstance,
  limits: Pick<ProjectLimits, 'chargeStrangers'>,
  meter = new CpuMeter(),
): void {
  fastify.addHook('onRequest', (request, _reply, done) => {
    const cpu = meter.request();
    requests.set(request, cpu);
    cpu.resume();
    withinRequest(cpu, done);
  });
  // A body arrives in events of its connection, which do not belong to the request.
  fastify.addHook('preValidation', (request, _reply, done) => {
    const cpu = cpuOf(request);
    if (cpu === undefined) return done();
    cpu.resume();
    withinRequest(cpu, done);
  });
  fastify.addHook('onResponse', (request, _reply, done) => {
    cpuOf(request)?.settle((ms) => limits.chargeStrangers(ms));
    done();
  });
}
