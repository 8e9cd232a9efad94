/** Asks the adapter of an engine about a layout, so that `layout check` and `predict` answer as `render` does. */
import { type EngineRendering, RenderingRequest } from '@coxswain/api-types';
import { type AskedOfEngine, fieldsOfDocument, isEngineName, isNotPriced, renderRequest } from '@coxswain/engines';

type Refusal = NonNullable<EngineRendering['refusal']>;

/** Refusals of a layout file that only lacks a part of a job. */
const LACKS_A_PART = 'engine-needs-part';

/** The refusal of an engine that jobs can name; undefined if it renders the layout, or if it is known for layouts only. */
export function engineVerdict(asked: AskedOfEngine): EngineVerdict {
  const { name } = asked.engine;
  if (!isEngineName(name)) return { notPriced: [] };
  const parsed = RenderingRequest.safeParse(fieldsOfDocument(asked));
  if (!parsed.success) return { notPriced: [] };
  const { refusal, program } = renderRequest(parsed.data);
  const notPriced = (program?.notes ?? []).filter(isNotPriced);
  return refusal === null || refusal.rule === LACKS_A_PART ? { notPriced } : { refusal, notPriced };
}

/** What an engine makes of a layout. */
export interface EngineVerdict {
  readonly refusal?: Refusal;
  /** Options that are passed through to the engine, one sentence each. */
  readonly notPriced: readonly string[];
}
