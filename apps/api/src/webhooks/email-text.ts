/** What does a mail say? */
import { incidentSubject, incidentWords, type WebhookMessage } from '@coxswain/api-types';
import { cutText, safeText } from '@coxswain/safe-text';

/** Longer subjects are cut by programs that show them. */
const MAX_SUBJECT = 160;
const MAX_TEXT = 12_000;

/** Subject and text of a mail. */
export interface Email {
  readonly subject: string;
  readonly text: string;
}

/** The body of a message to a mail address, as it is queued: an {@link Email} as JSON. Texts of ranks and pods are text alone, and a subject is one line. */
export function emailText(message: WebhookMessage): string {
  const { subject, lines } = contentOf(message);
  const email: Email = {
    subject: cutText(safeText(subject).replaceAll(/\s+/g, ' '), MAX_SUBJECT),
    text: cutText(safeText([...lines, '', `At ${message.timestamp}.`].join('\n')), MAX_TEXT),
  };
  return JSON.stringify(email);
}

interface Content {
  readonly subject: string;
  readonly lines: readonly string[];
}

function contentOf(message: WebhookMessage): Content {
  if (message.type === 'webhook.test')
    return { subject: `[${message.data.project}] Coxswain: a test`, lines: [message.data.message] };
  const { project, job } = message.data;
  const { news, lines } = newsOf(message);
  return {
    subject: `[${project}] ${job.name}: ${news}`,
    lines: [`Job ${job.name} of project ${project}, namespace ${job.namespace}.`, '', ...lines],
  };
}

function newsOf(message: Exclude<WebhookMessage, { readonly type: 'webhook.test' }>): {
  readonly news: string;
  readonly lines: readonly string[];
} {
  switch (message.type) {
    case 'incident.opened': {
      const { incident } = message.data;
      return { news: incidentSubject(incident), lines: [incident.message] };
    }
    case 'incident.acted': {
      const { incident } = message.data;
      const done = incidentWords(incident.action);
      return { news: `${incidentSubject(incident)}, ${done}`, lines: [incident.message, `What was done: ${done}.`] };
    }
    case 'incident.closed': {
      const { incident } = message.data;
      const outcome = incident.outcome === undefined ? 'over' : incidentWords(incident.outcome);
      return { news: `${incidentSubject(incident)}, ${outcome}`, lines: [incident.message, `Outcome: ${outcome}.`] };
    }
    case 'job.needsPerson': {
      const { condition } = message.data;
      return { news: `needs a person (${condition.reason})`, lines: [condition.message] };
    }
    case 'job.ended': {
      const { state, summary, failure } = message.data;
      const why = failure
        ? [failure.verdict, ...failure.lastLines.map((line) => `  | ${line}`), `What to do: ${failure.advice}`]
        : [];
      return { news: state, lines: [summary, ...why].filter((line) => line !== '') };
    }
  }
}
