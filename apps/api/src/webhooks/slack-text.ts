/** What does a channel of Slack read? */
import { incidentSubject, incidentWords, type WebhookMessage } from '@coxswain/api-types';
import { cutText } from '@coxswain/safe-text';

/** Slack cuts longer texts (https://docs.slack.dev/reference/methods/chat.postMessage). */
const MAX_CHARACTERS = 4_000;

/** The body of a message to an incoming webhook of Slack: `{"text": …}` in its mrkdwn. Texts of ranks and pods cannot format, mention people, or hide the target of a link. */
export function slackText(message: WebhookMessage): string {
  return JSON.stringify({ text: cutText(textOf(message), MAX_CHARACTERS) });
}

function textOf(message: WebhookMessage): string {
  if (message.type === 'webhook.test')
    return `*Coxswain*, project ${plain(message.data.project)}: ${message.data.message}`;
  const { project, job } = message.data;
  return `*${plain(project)}/${plain(job.name)}* ${newsOf(message)}`;
}

function newsOf(message: Exclude<WebhookMessage, { readonly type: 'webhook.test' }>): string {
  switch (message.type) {
    case 'incident.opened': {
      const { incident } = message.data;
      return `${plain(incidentSubject(incident))}: ${plain(incident.message)}`;
    }
    case 'incident.acted': {
      const { incident } = message.data;
      return `${plain(incidentSubject(incident))}: ${incidentWords(incident.action)}.`;
    }
    case 'incident.closed': {
      const { incident } = message.data;
      const outcome = incident.outcome === undefined ? 'over' : incidentWords(incident.outcome);
      const redone = incident.redoneSteps === undefined ? '' : `, ${incident.redoneSteps} steps trained again`;
      return `${plain(incidentSubject(incident))}: ${outcome}${redone}.`;
    }
    case 'job.needsPerson': {
      const { condition } = message.data;
      return `needs a person. ${plain(condition.reason)}: ${plain(condition.message)}`;
    }
    case 'job.ended': {
      const { state, summary, failure } = message.data;
      const why = failure ? `${failure.verdict} ${failure.advice}` : summary;
      return `is ${state}. ${plain(why)}`;
    }
  }
}

/** Slack reads `<…>` as links and mentions, and `*`, `_`, `~` and backquotes as formats: a zero-width space after them keeps them text. */
function plain(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/[*_~`]/g, '$&\u200b');
}
