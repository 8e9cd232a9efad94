import { PlannerProcess } from '../planner-process.ts';
import type { PlanRequest } from '@coxswain/planner';

/** A process that asks the scripted search one question and keeps running. */
const planner = new PlannerProcess({ program: new URL('./scripted-search.ts', import.meta.url) });
const request = { model: process.argv[2] } as PlanRequest;
await planner.ask({ kind: 'plan', request }, { tenant: 'research' });
process.once('message', () => undefined);
