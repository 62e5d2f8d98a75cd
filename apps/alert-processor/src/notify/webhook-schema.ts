import { SEVERITIES } from '../rules/rule.ts';
import { WEBHOOK_VERSION } from './webhook.ts';

export const WEBHOOK_SCHEMA_FILE = 'webhook.schema.json';

const time = (description: string) => ({ type: 'string', format: 'date-time', description });
const timeOrNull = (description: string) => ({ type: ['string', 'null'], format: 'date-time', description });
const text = (description: string) => ({ type: 'string', description });

/** Other fields may come: a receiver passes over what it does not know. */
function object(description: string, properties: Readonly<Record<string, object>>, optional: readonly string[] = []): object {
  return { type: 'object', description, properties, required: Object.keys(properties).filter((name) => !optional.includes(name)) };
}

const TEXTS = { type: 'object', additionalProperties: { type: 'string' } };

/** The JSON Schema of what a webhook is posted. */
export function webhookSchema(): object {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'What a webhook of tailrace is posted',
    ...object(
      'One notification: an alert fires, fires still, or is over. More fields may come within a version.',
      {
        version: { const: WEBHOOK_VERSION, description: 'A change of what a field means is another version.' },
        key: text('The idempotency key: the same however often this notification is sent. Also the header Idempotency-Key.'),
        incident: text('What firing and resolved of one episode have in common.'),
        status: { enum: ['firing', 'resolved'] },
        rule: text('The name of the rule. Those that begin with tailrace. are about tailrace itself.'),
        group: {
          type: 'object',
          additionalProperties: { type: ['string', 'null'] },
          description: 'The fields that the rule groups by, with their values; null: the events have no such field.',
        },
        severity: { enum: SEVERITIES },
        summary: text('One sentence.'),
        labels: { ...TEXTS, description: 'The rule’s labels.' },
        response: object('What whoever is told should do.', { do: text('What to do first.'), do_not: text('What makes it worse.') }),
        runbook: text('The address of a page that tells more.'),
        started_at: time(
          'Start of the first window that fired, the same in every notification of an incident: up to a window before the fault.',
        ),
        decided_at: time('When the firing or its end was decided.'),
        evidence: object('Why.', {
          text: text('In words, like: count 153 > 100 in 1 min.'),
          value: { type: ['number', 'null'], description: 'What was measured; null: there was nothing to measure.' },
          threshold: { type: 'number', description: 'What it was held against.' },
          events: { type: 'integer', minimum: 0, description: 'Events that were counted in the window.' },
          window_start: time('Start of the window, inclusive.'),
          window_end: time('End of the window, exclusive.'),
          complete_up_to: timeOrNull('Up to when every partition was counted; null: one was never heard of.'),
          missing: { type: 'array', items: { type: 'string' }, description: 'A sentence for each thing that was not seen.' },
          broker_time: timeOrNull('When Kafka had the latest event that was counted.'),
          event_time: timeOrNull('The latest event’s own time.'),
        }),
      },
      ['runbook'],
    ),
  };
}
