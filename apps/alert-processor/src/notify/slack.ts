import { cut, details, headline } from './alert-text.ts';
import type { HttpMessage } from './http-notifier.ts';
import type { Notification } from './notification.ts';

/** Slack cuts a message's text at 40,000 characters and advises 4,000; Mattermost's bound for a post is 16,383, Discord's for a message 2,000. */
const TEXT_UNITS = 600;
/** Of one detail, so that a long one leaves room for the others. */
const DETAIL_UNITS = 900;
const DETAILS_UNITS = 2900;

const COLOURS = { info: '#2f6fde', warning: '#e0a500', error: '#d9541e', critical: '#b3001b' } as const;
const RESOLVED = '#2c9f45';

/** An incoming webhook of Slack, and of what takes the same (Mattermost, Rocket.Chat, Discord's `/slack`): a text, and one attachment with a bar in a colour. */
export function slackMessage(notification: Notification): HttpMessage {
  const { status, severity } = notification;
  const lines = details(notification).map(([name, text]) => `*${name}:* ${escaped(cut(text, DETAIL_UNITS))}`);
  const text = escaped(cut(headline(notification), TEXT_UNITS));
  const attachment = {
    color: status === 'firing' ? COLOURS[severity] : RESOLVED,
    fallback: text,
    text: whole(lines, DETAILS_UNITS),
    mrkdwn_in: ['text'],
  };
  return { body: JSON.stringify({ text, attachments: [attachment] }) };
}

/** As many lines as there is room for: a line that is cut after it was escaped could end in half an escape. */
function whole(lines: readonly string[], units: number): string {
  const kept: string[] = [];
  let length = 0;
  for (const line of lines) {
    length += line.length + 1;
    if (length > units) return [...kept, '…'].join('\n');
    kept.push(line);
  }
  return kept.join('\n');
}

/** Slack's three control characters; and with a break in them the words that wake everybody, which others read as plain text. */
function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/@(?=(?:channel|here|all|everyone)\b)/gi, '@\u200b');
}
